"""The thread of a session: the parent chain of its messages, packed into arrays.

What lives here
---------------
Which message follows which, and what can be derived from that alone: turns, copied history,
branches that were rewound. No texts, no times; of a message only its role, origin, response
id, own id and parent id. A format's reader gives the ids as they stand in its file.

Theory of operation
-------------------
There is one row for each message, in file order; its index is the message number used all over
the package. Recorders also chain messages through records that are no messages (attachments,
progress, system notes); of these only `link_keys` and `link_parents` are stored, so that the
chain does not break. Ids become 64-bit keys (`key64`), so a session of a hundred thousand
messages takes a few megabytes. Ids wait as text until `BATCH` of them can be packed in one
step, since a column of UUIDs converts at once; every read of a column packs what waits.

*Turns*: messages of one API response share a turn. *Copies*: a key that stood earlier in the
same thread (a resumed session repeats its history). *Abandoned*: two typed prompts with the
same parent mean that the person went back and typed another one; all but the last of them, and
all that hangs below them, are abandoned.

Invariants
----------
* Append-only; a row never changes. `rows`, `responses`, `keys` and `parents` have one entry
  for each message, `link_keys` and `link_parents` one for each link.
* Key 0 means "no id": it is never a copy, a parent or a fork. `contains` expects an id.
* Derived facts are computed on demand from the whole thread, never while reading: a later
  record may make an earlier branch abandoned.
* Input is hostile: parents may be missing, come later, or form cycles. `_below` terminates on
  all of them.

Before you edit
---------------
`key64` and the order of `ORIGINS` and `_ROLE` are part of the saved format of a pass (keys and
row bytes are saved as they are): append to `ORIGINS`, never reorder it. `keys64` must give
what `key64` gives for each id. `add` runs once for each message: keep it short. With `before`
set (a resumed pass), only appending, `pack` and `len` are valid."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain, pairwise
from typing import TypeAlias, cast

from leftoff.codec import blake2b
from leftoff.model import Message

ORIGINS = ("prompt", "agent", "tool", "injected", "compaction", "meta", "interruption")
_ORIGIN = {name: number for number, name in enumerate(ORIGINS)}
_ROLE = {"user": 0, "assistant": 1, "system": 2, "tool": 3}
_ROW = {
    (role, origin): r << 4 | o for role, r in _ROLE.items() for origin, o in _ORIGIN.items()
}
_PROMPT = _ORIGIN["prompt"]
_AGENT_SPEAKS = _ROW["assistant", "agent"]
_INPUT = frozenset({_ROW["user", "prompt"], _ROW["user", "injected"]})

# Records whose ids are packed in one step.
BATCH = 4096


def key64(identity: str) -> int:
    """A recorder's id as 64 bits: the random half of a UUID, else a BLAKE2 digest; 0 for ""."""
    if len(identity) == 36 and identity[23] == "-":
        with suppress(ValueError):
            half = int(identity[19:23] + identity[24:], 16)
            if half >= 0:  # `int` takes a sign
                return half
    if not identity:
        return 0
    digest = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")


# A UUID whose key is that of "".
_NO_ID = "00000000-0000-0000-0000-000000000000"


def keys64(identities: list[str]) -> array[int]:
    """`key64` of many ids; a column of plain UUIDs, or of none, is taken in one step."""
    whole = [identity or _NO_ID for identity in identities]
    joined, count = "".join(whole), len(whole)
    if len(joined) == 36 * count and all(len(i) == 36 for i in whole):
        dashes = "-" * count
        if all(joined[place::36] == dashes for place in (8, 13, 18, 23)):
            try:
                halves = array("Q", bytes.fromhex(joined.replace("-", "")))
            except ValueError:
                halves = array("Q")
            if len(halves) == 2 * count:
                halves.byteswap()
                return halves[1::2]
    known = {identity: key64(identity) for identity in set(identities)}  # responses repeat
    return array("Q", map(known.__getitem__, identities))


_OF_MESSAGES = ("responses", "keys", "parents")
_OF_LINKS = ("link_keys", "link_parents")

# A thread as bytes, for saving: its rows, then its columns in the order of `Thread.COLUMNS`.
Packed: TypeAlias = tuple[bytes, bytes, bytes, bytes, bytes, bytes]


class Thread:
    """The packed rows. Append-only.

    Attributes:
        rows: for each message, role and origin in one byte.
        responses: for each message, the key of its API response (0: none).
        keys, parents: for each message, its own and its parent's key (0: none).
        link_keys, link_parents: the same for records that are no messages.
        before: number of messages before the first row that are not in memory."""

    COLUMNS = (*_OF_MESSAGES, *_OF_LINKS)
    responses = property(lambda self: self.column("responses"))
    keys = property(lambda self: self.column("keys"))
    parents = property(lambda self: self.column("parents"))
    link_keys = property(lambda self: self.column("link_keys"))
    link_parents = property(lambda self: self.column("link_parents"))

    __slots__ = ("_links", "_messages", "_packed", "_room", "before", "rows")

    def __init__(self) -> None:
        self.rows = array("B")
        self.before = 0
        # Ids wait as text until there are `BATCH` records: response, own id and parent id of
        # each message, own id and parent id of each link. A recording may have a hundred
        # thousand threads, so that one without rows is to be small.
        self._packed: dict[str, array[int]] = {}
        self._messages: list[str] = []
        self._links: list[str] = []
        self._room = BATCH

    def __len__(self) -> int:
        return self.before + len(self.rows)

    def add(self, message: Message) -> None:
        """Appends a message."""
        self.rows.append(_ROW[message.role, message.origin])
        self._messages += (message.response, message.key, message.parent)
        self._room -= 1
        if not self._room:
            self._pack()

    def link(self, identity: str, parent: str) -> None:
        """Appends a record of the parent chain that is no message."""
        self._links += (identity, parent)
        self._room -= 1
        if not self._room:
            self._pack()

    def _pack(self) -> None:
        if self._room == BATCH:
            return
        for waiting, names in ((self._messages, _OF_MESSAGES), (self._links, _OF_LINKS)):
            if waiting:
                for place, name in enumerate(names):
                    column = self._packed.setdefault(name, array("Q"))
                    column.extend(keys64(waiting[place :: len(names)]))
                waiting.clear()
        self._room = BATCH

    def column(self, name: str) -> array[int]:
        """One of `COLUMNS`."""
        self._pack()
        return self._packed.setdefault(name, array("Q"))

    # -- meaning ---------------------------------------------------------------------------

    def inputs(self) -> list[int]:
        """The messages that the person typed or the recorder injected, without tool results, in
        order."""
        return [index for index, row in enumerate(self.rows) if row in _INPUT]

    def counts(self, without: Iterable[int] = ()) -> dict[str, int]:
        """Number of messages by role, and of agent turns, copies left out."""
        left_out = set(without)
        roles = Counter(row >> 4 for n, row in enumerate(self.rows) if n not in left_out)
        counts = {name: roles[role] for name, role in _ROLE.items()}
        return {**counts, "turns": max(self.turns(), default=-1) + 1}

    def turns(self) -> array[int]:
        """The number of each message's turn, -1 where the agent does not speak; messages of one
        response share a turn."""
        numbers = array("i", [-1]) * len(self.rows)
        by_response: dict[int, int] = {}
        responses = self.responses
        for index, row in enumerate(self.rows):
            # Interruptions, notices and summaries in the agent's place are no turns.
            if row == _AGENT_SPEAKS:
                response = responses[index] or -index - 1  # without one, it is its own
                numbers[index] = by_response.setdefault(response, len(by_response))
        return numbers

    def copies(self) -> set[int]:
        """Messages with the key of an earlier message of the thread: copied history."""
        keys = self.keys
        ordered = pairwise(sorted(keys))
        again = {key for key, following in ordered if key == following and key}
        first: dict[int, int] = {}
        return {
            n for n, key in enumerate(keys) if key in again and first.setdefault(key, n) != n
        }

    def abandoned(self) -> set[int]:
        """Messages on branches that were rewound.

        A branch is abandoned where two typed prompts share a parent: every such sibling but
        the last, with all that follows from it. Parallel tool results and records whose parent
        is not in the recording are never branches."""
        prompts: dict[int, list[int]] = {}
        parents = self.parents
        for index, row in enumerate(self.rows):
            if row & 15 == _PROMPT and parents[index]:
                prompts.setdefault(parents[index], []).append(index)
        forks = {parent: group for parent, group in prompts.items() if len(group) > 1}
        if not forks:
            return set()
        # A parent that is not in the recording says nothing of a rewind.
        known = set(forks).intersection(chain(self.keys, self.link_keys))
        copies = self.copies()
        siblings = ([i for i in forks[parent] if i not in copies] for parent in known)
        roots = set(chain.from_iterable(group[:-1] for group in siblings))
        return self._below(roots) if roots else set()

    def _below(self, roots: set[int]) -> set[int]:
        """The messages at and below `roots` in the parent chain; cycles are allowed."""
        children: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        keys, link_keys = self.keys, self.link_keys
        for index, parent in enumerate(self.parents):
            children[parent].append((index, keys[index]))
        for key, parent in zip(link_keys, self.link_parents, strict=True):
            children[parent].append((-1, key))
        found = set(roots)
        queue = [keys[i] for i in sorted(roots)]
        while queue:
            # Each key is followed once.
            for index, key in children.pop(queue.pop() or -1, ()):
                found.add(index)
                queue.append(key)
        return found - {-1}

    def contains(self, identity: str) -> bool:
        """Whether a record of that id is part of the thread."""
        key = key64(identity)
        return key in self.keys or key in self.link_keys

    # -- saving ----------------------------------------------------------------------------

    def pack(self) -> Packed:
        """The rows as bytes."""
        columns = (self.column(name).tobytes() for name in self.COLUMNS)
        return cast("Packed", (self.rows.tobytes(), *columns))

    @classmethod
    def unpack(cls, packed: Packed) -> Thread:
        """The thread that `pack` saved."""
        thread = cls()
        thread.extend(packed)
        return thread

    def extend(self, packed: Packed) -> None:
        """Appends the rows that another thread packed."""
        for column, data in zip(
            (self.rows, *map(self.column, self.COLUMNS)), packed, strict=True
        ):
            column.frombytes(data)
