"""The contract test of stores: `check_store`."""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, TypeAlias

from leftoff.errors import Damaged, NotPlainName, TooNew, UnknownName
from leftoff.stores.protocol import KINDS, PrunableStore, Store, StoredDocument
from leftoff.stores.retention import Retention, pin, prune

Tamper: TypeAlias = Callable[[str, str, Callable[[bytes], bytes]], None]

# Ids of the clients, and names that file systems, URLs or shells treat in a way of their own.
_GOOD_IDS: Final = (
    "a",
    "2026-01-31-007",
    "b0b81e65-570d-4942-ad6e-0c3cf7b0e511",
    "with space",
    "a.json",
    "münchen-東京-🙂",
    "a.json.gz",
    "100%25",
    "x" * 200,
    "it's [a] {b} #1 &=+~!",
    "-rf",
)
# Ways out of a folder, names that Windows reserves, what no list could show, and a secret.
_BAD_IDS: Final = (
    "",
    ".",
    "..",
    ".hidden",
    "../a",
    "a/b",
    "/etc/passwd",
    "a\\b",
    "a\0b",
    "a\nb",
    "a\x1bb",
    "a\x85b",
    "x" * 201,
    "é" * 101,
    "CON",
    "nul.txt",
    "COM1",
    "lpt9.x",
    "con .x",
    "a.",
    "a ",
    "a:b",
    "what?",
    "a|b",
    "\ud800",
    "AKIAIOSFODNN7EXAMPLE",
)
# Names that are one file where case or the form of letters does not count.
_TWINS: Final = ("Twin", "twin", "caf\u00e9", "cafe\u0301")
_SECRET: Final = "AKIAIOSFODNN7EXAMPLE"  # noqa: S105 - the vendor's published example
# What JSON holds and languages read differently.
_VALUES: Final[dict[str, object]] = {
    "null": None,
    "truth": [True, False],
    "numbers": [0, -1, 2**53 + 1, 2**64, -(2**70), 0.1, 1e300, -0.0],
    "text": "line\nline\ttab \u2028 \u0000 \u001b[31m 🙂👩‍👩‍👧 é e\u0301",
    "empty": [{}, [], ""],
    "deep": {"a": {"b": [{"c": {"d": [1, [2, [3]]]}}]}},
    "": "an empty key",
    "a key of another program": {"a": "b"},
}


def check_store(
    make_store: Callable[[], Store], *, tamper: Tamper | None = None, pause: float = 0.01
) -> None:
    """Checks the contract of a store.

    Documents of every kind are loaded as they were saved, with unknown keys; ids are
    distinguished or refused; secrets are replaced; a missing document is None; lists are newest
    first; two writers do not mix their documents; retention spares pinned and new documents;
    and, if `tamper` is given, damage is refused and a newer schema is not changed.

    Args:
        make_store: opens the same storage each time; it is empty at first.
        tamper: changes the bytes of a saved document: kind, id, and a function from the present
            bytes to the new ones.
        pause: seconds between two saves after which their times of saving differ.

    Raises:
        AssertionError: names the broken promise."""
    store = make_store()
    _check_empty(store, KINDS, "the place must be empty at first")
    _check_round_trips(store, make_store)
    _check_ids(store)
    _check_redaction(store, tamper)
    _check_order(store, pause)
    _check_writers(make_store)
    # A store of another kind may leave retention to its operator.
    if isinstance(store, PrunableStore):
        _check_retention(store, pause)
    if tamper is not None:
        _check_damage(store, tamper)


def _check_round_trips(store: Store, make_store: Callable[[], Store]) -> None:
    for kind in KINDS:
        assert store.load(kind, "none") is None, f"{kind}: what is missing is None"
        assert store.delete(kind, "none") is False, f"{kind}: nothing to delete is False"
        document = {**_VALUES, "kind": kind}
        where = store.save(kind, "one", document, text=f"# A {kind}\n\n🙂 words\n")
        assert where and isinstance(where, str), "save() must say where"  # noqa: PT018
        for opened in (store, make_store()):
            loaded = _loaded(opened, kind, "one")
            assert loaded.document == document, f"{kind}: {loaded.document} is not {document}"
            assert loaded.issues == (), f"{kind}: {loaded.issues}"
            assert loaded.where, "a saved document must say where it is"
            assert loaded.text == f"# A {kind}\n\n🙂 words\n", f"{kind}: its markdown differs"
        assert document == {**_VALUES, "kind": kind}, "save() must not change what it is given"
        # Without a text: that of the replaced document must not survive it.
        store.save(kind, "one", {"again": 1})
        loaded = _loaded(store, kind, "one", "what was saved again is not there")
        assert loaded.document == {"again": 1}, f"{kind}: a later save must replace all"
        assert not loaded.text, f"{kind}: the markdown of the replaced document is still there"
        (entry,) = store.list(kind)
        assert entry.id == "one", f"{kind}: the list names {entry.id!r}"
        assert entry.size > 0, f"{kind}: the list must know the size"
        assert store.delete(kind, "one") is True, f"{kind}: delete() must say that it did"
        assert store.load(kind, "one") is None, f"{kind}: what was deleted is still there"
        _check_empty(store, (kind,), "what was deleted is still listed")
    _check_refused(store, UnknownName, "diary", "one", "a kind that is none")
    _check_raises(UnknownName, lambda: store.list("diary"), "a kind that is none")


def _loaded(
    store: Store, kind: str, id: str, otherwise: str = "what was saved is not there"
) -> StoredDocument:
    found = store.load(kind, id)
    assert found is not None, f"{kind}: {otherwise}"
    return found


def _check_empty(store: Store, kinds: Iterable[str], otherwise: str) -> None:
    for kind in kinds:
        assert store.list(kind) == [], f"{kind}: {otherwise}"


def _check_raises(error: type[Exception], call: Callable[[], object], what: str) -> None:
    try:
        call()
    except error:
        return
    raise AssertionError(f"{what} must raise {error.__name__}")


def _check_refused(store: Store, error: type[Exception], kind: str, id: str, what: str) -> None:
    _check_raises(error, lambda: store.save(kind, id, {}), what)
    _check_raises(error, lambda: store.load(kind, id), what)
    _check_raises(error, lambda: store.delete(kind, id), what)


def _check_ids(store: Store) -> None:
    for number, id_ in enumerate(_GOOD_IDS):
        store.save("task", id_, {"n": number}, text=f"{number}")
    listed = sorted(entry.id for entry in store.list("task"))
    assert listed == sorted(_GOOD_IDS), f"the list names {listed}"
    for number, id_ in enumerate(_GOOD_IDS):
        loaded = _loaded(store, "task", id_, f"{id_!r} is not there")
        same = (loaded.document, loaded.text) == ({"n": number}, f"{number}")
        assert same, f"{id_!r} differs"
        assert store.delete("task", id_), f"{id_!r} cannot be deleted"
    for id_ in _BAD_IDS:
        _check_refused(store, NotPlainName, "task", id_, f"the id {id_[:50]!r}")
    _check_empty(store, ("task",), "an id that was refused left something")
    saved = {}
    for id_ in _TWINS:
        with suppress(NotPlainName):
            store.save("task", id_, {"id": id_})
            saved[id_] = {"id": id_}
    for id_ in _TWINS:
        twin = store.load("task", id_)
        same = (twin.document if twin else None) == saved.get(id_)
        assert same, f"{id_!r} and its twin are mixed up"
    for id_ in saved:
        store.delete("task", id_)


def _check_redaction(store: Store, tamper: Tamper | None) -> None:
    document = {"note": f"the key is {_SECRET}", _SECRET: [{"again": _SECRET}]}
    store.save("resume_log", "secret", document, text=f"# Key\n{_SECRET}\n")
    loaded = _loaded(store, "resume_log", "secret")
    shown = f"{loaded.document} {loaded.text}"
    assert _SECRET not in shown, f"a secret is saved: {shown}"
    assert "[REDACTED:" in loaded.text, "the markdown must be redacted, not dropped"
    if tamper is not None:
        seen = _bytes_of(tamper, "resume_log", "secret")
        assert _SECRET.encode() not in seen, "a secret stands in the saved bytes"
    store.delete("resume_log", "secret")


def _check_order(store: Store, pause: float) -> None:
    began = time.time()
    for id_ in ("c", "a", "b"):
        store.save("review", id_, {"id": id_})
        time.sleep(pause)
    store.save("review", "c", {"id": "c", "again": True})
    entries = store.list("review")
    assert [e.id for e in entries] == ["c", "b", "a"], f"not newest first: {entries}"
    # FAT has times of two seconds.
    slack = max(2.0, pause)
    within = all(began - slack <= e.saved <= time.time() + slack for e in entries)
    assert within, f"`saved` is in seconds since 1970: {entries}"
    _check_empty(store, ("task",), "a document of one kind is listed under another")
    for entry in entries:
        store.delete("review", entry.id)


def _check_writers(make_store: Callable[[], Store], times: int = 25) -> None:
    stopped = threading.Event()
    wrong: list[str] = []
    make_store().save("task", "shared", {"who": "-", "words": ["-"] * 50}, text="-\n" * 50)

    def write(who: str) -> None:
        store = make_store()
        for n in range(times):
            mark = f"{who}{n}"
            document = {"who": mark, "words": [mark] * 50}
            store.save("task", "shared", document, text=f"{mark}\n" * 50)

    def read() -> None:
        store = make_store()
        while not stopped.is_set():
            loaded = store.load("task", "shared")
            if loaded is None:
                wrong.append("it is missing while it is written")
                return
            mark = loaded.document["who"]
            # Between two files of one document a reader may see a newer text, and says so.
            codes = {issue.code for issue in loaded.issues}
            if loaded.document != {"who": mark, "words": [mark] * 50}:
                wrong.append(f"half of two documents: {loaded.document}")
            if loaded.text not in {"", f"{mark}\n" * 50}:
                wrong.append(f"the markdown of another: {mark}: {loaded.text[:9]}")
            if codes - {"text_differs"}:
                wrong.append(f"issues while it is written: {loaded.issues}")

    def guarded(call: Callable[..., None], *given: str) -> None:
        try:
            call(*given)
        except Exception as error:  # noqa: BLE001 - the check reports it, not the thread
            wrong.append(f"{type(error).__name__}: {error}")

    writers = [threading.Thread(target=guarded, args=(write, who)) for who in "xy"]
    reader = threading.Thread(target=guarded, args=(read,))
    for thread in (*writers, reader):
        thread.start()
    for thread in writers:
        thread.join()
    stopped.set()
    reader.join()
    assert not wrong, f"two writers and a reader: {wrong[0]}"
    loaded = _loaded(make_store(), "task", "shared", "after two writers nothing is there")
    assert loaded.document["who"] in {f"x{times - 1}", f"y{times - 1}"}, "the last save is lost"
    make_store().delete("task", "shared")


def _check_retention(store: Store, pause: float) -> None:
    for n in range(6):
        store.save("checkpoint", f"c{n}", {"n": n})
        time.sleep(pause)
    assert pin(store, "checkpoint", "c1"), "pin() must say that it did"
    assert not pin(store, "checkpoint", "none"), "there is nothing to pin"
    entries = store.list("checkpoint")
    newest = [f"c{n}" for n in (5, 4, 3, 2, 1, 0)]
    assert [e.id for e in entries] == newest, "pinning must not change when it was saved"
    assert [e.id for e in entries if e.pinned] == ["c1"], f"pinned: {entries}"
    store.save("checkpoint", "c1", {"n": 1, "again": True})
    loaded = _loaded(store, "checkpoint", "c1", "a pinned document is lost")
    assert loaded.document == {"n": 1, "again": True}, f"pinned and replaced: {loaded.document}"
    now, rule = time.time(), Retention(keep=2, days=1)
    assert not prune(store, "checkpoint", rule, now=now).removed, "what is new must stay"
    # The clock is an argument, so no test waits for three days.
    later = now + 3 * 86_400
    would = prune(store, "checkpoint", rule, now=later, dry_run=True)
    assert len(store.list("checkpoint")) == 6, "a dry run must remove nothing"
    done = prune(store, "checkpoint", rule, now=later)
    assert done == would, "a dry run must tell what would be removed"
    assert {e.id for e in done.removed} == {"c0", "c2", "c3", "c4"}, f"removed {done.removed}"
    left = {e.id for e in store.list("checkpoint")}
    assert left == {"c1", "c5"}, f"retention leaves {left}"
    (stale,) = [e for e in store.list("checkpoint") if e.id == "c5"]
    time.sleep(pause)
    store.save("checkpoint", "c5", {"n": 5, "again": True})
    assert isinstance(store, PrunableStore)
    assert not store.drop("checkpoint", stale), "what is saved meanwhile must stay"
    assert pin(store, "checkpoint", "c1", pinned=False), "pin() must say that it did"
    prune(store, "checkpoint", Retention(keep=0), now=later)
    _check_empty(store, ("checkpoint",), "what is no longer pinned may go")


def _check_damage(store: Store, tamper: Tamper) -> None:
    document = {"words": "as it was saved", "n": 1}
    for what, change in {
        "a changed word": lambda b: b.replace(b"as it was", b"as it Was"),
        "a changed number": lambda b: b.replace(b'"n":1', b'"n":2').replace(b": 1", b": 2"),
        "a missing end": lambda b: b[: len(b) // 2],
        "nothing": lambda b: b[:0],
        "noise": lambda b: bytes(range(256)) + b,
        "a changed seal": lambda b: b.replace(b'"id"', b'"di"'),
    }.items():
        store.save("resume_state", "hurt", document)
        tamper("resume_state", "hurt", change)
        _check_raises(Damaged, lambda: store.load("resume_state", "hurt"), what)
        (entry,) = store.list("resume_state")
        assert entry.id == "hurt", f"{what}: a damaged document must still be listed"
        store.save("resume_state", "hurt", {"n": 2})
        loaded = _loaded(store, "resume_state", "hurt", f"{what}: it cannot be saved again")
        assert loaded.document == {"n": 2}, f"{what}: it cannot be saved again"
        store.delete("resume_state", "hurt")
    store.save("resume_state", "new", document)
    schema = b'"leftoff.resume_state/'
    tamper("resume_state", "new", lambda b: b.replace(schema + b"1", schema + b"2"))
    what = "a newer schema"
    _check_raises(TooNew, lambda: store.load("resume_state", "new"), what)
    _check_raises(TooNew, lambda: store.save("resume_state", "new", {"n": 3}), what)
    prune(store, "resume_state", Retention(keep=0), now=time.time() + 86_400)
    seen = _bytes_of(tamper, "resume_state", "new")
    assert schema + b"2" in seen, "what a newer leftoff wrote must not be touched"
    store.delete("resume_state", "new")


def _bytes_of(tamper: Tamper, kind: str, id: str) -> bytes:
    seen: list[bytes] = []

    def capture(data: bytes) -> bytes:
        seen.append(data)
        return data

    tamper(kind, id, capture)
    return seen[0]
