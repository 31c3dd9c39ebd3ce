"""Does a store keep the promises of its kind? See `check_store`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from leftoff.errors import Damaged, NotPlainName, TooNew, UnknownName
from leftoff.stores.protocol import KINDS, Keeping, Store
from leftoff.stores.retention import Retention, pin, prune

Tamper: TypeAlias = Callable[[str, str, Callable[[bytes], bytes]], None]

_GOOD_IDS: Final = (
    "a",
    "2026-01-31-007",
    "b0b81e65-570d-4942-ad6e-0c3cf7b0e511",
    "with space",
    "münchen-東京-🙂",
    "a.json",
    "a.json.gz",
    "100%25",
    "x" * 200,
    "it's [a] {b} #1 &=+~!",
    "-rf",
)
_BAD_IDS: Final = (
    "", ".", "..", ".hidden", "../a", "a/b", "/etc/passwd", "a\\b", "a\0b", "a\nb", "a\x1bb",
    "a\x85b", "x" * 201, "é" * 101, "CON", "nul.txt", "COM1", "lpt9.x", "con .x", "a.", "a ",
    "a:b", "what?", "a|b", "\ud800", "AKIAIOSFODNN7EXAMPLE",
)  # fmt: skip
_TWINS: Final = ("Twin", "twin", "caf\u00e9", "cafe\u0301")
_SECRET: Final = "AKIAIOSFODNN7EXAMPLE"  # noqa: S105 - the vendor's published example
_VALUES: Final[dict[str, Any]] = {
    "null": None,
    "truth": [True, False],
    "numbers": [0, -1, 2**53 + 1, 2**64, -(2**70), 0.1, 1e300, -0.0],
    "text": "line\nline\ttab \u2028 \u0000 \u001b[31m 🙂👩‍👩‍👧 é e\u0301",
    "empty": [{}, [], ""],
    "deep": {"a": {"b": [{"c": {"d": [1, [2, [3]]]}}]}},
    "": "an empty key",
    "a key of nobody's": {"kept": "yes"},
}


def check_store(
    make_store: Callable[[], Store],
    *,
    tamper: Tamper | None = None,
    pause: float = 0.01,
) -> None:
    """Whether a store keeps its promises.

    Documents of every kind come back as they were saved, with keys that nobody knows; ids are
    told apart or refused; secrets are replaced; what is missing is None; lists are newest
    first; two writers do not mix; retention spares what is pinned or new; and, where `tamper`
    is given, damage is refused and a newer schema is left alone.

    Args:
        make_store: opens one and the same place each time, which is empty at first.
        tamper: changes the bytes of a kept document: kind, id, and a function from the bytes
            that are there to those that shall be.
        pause: seconds after which the store can tell that something was saved later.

    Raises:
        AssertionError: says which promise is broken.
    """
    store = make_store()
    for kind in KINDS:
        assert store.list(kind) == [], f"{kind}: the place must be empty at first"
    _round_trips(store, make_store)
    _ids(store)
    _redaction(store, tamper)
    _order(store, pause)
    _writers(make_store)
    if isinstance(store, Keeping):
        _retention(store, pause)
    if tamper is not None:
        _damage(store, tamper)


def _round_trips(store: Store, make_store: Callable[[], Store]) -> None:
    for kind in KINDS:
        assert store.load(kind, "none") is None, f"{kind}: what is missing is None"
        assert store.delete(kind, "none") is False, f"{kind}: nothing to delete is False"
        document = {**_VALUES, "kind": kind}
        where = store.save(kind, "one", document, text=f"# A {kind}\n\n🙂 words\n")
        assert isinstance(where, str), "save() must say where"
        assert where, "save() must say where"
        for opened in (store, make_store()):
            kept = opened.load(kind, "one")
            assert kept is not None, f"{kind}: what was saved is not there"
            assert kept.document == document, f"{kind}: {kept.document} is not {document}"
            assert kept.issues == (), f"{kind}: {kept.issues}"
            assert kept.where, "a kept document must say where it is"
            assert kept.text == f"# A {kind}\n\n🙂 words\n", f"{kind}: its markdown differs"
        assert document == {**_VALUES, "kind": kind}, "save() must not change what it is given"
        store.save(kind, "one", {"again": 1})
        kept = store.load(kind, "one")
        assert kept is not None, f"{kind}: what was saved again is not there"
        assert kept.document == {"again": 1}, f"{kind}: a later save must replace all"
        assert kept.text == "", f"{kind}: the markdown of the replaced document is still there"
        (entry,) = store.list(kind)
        assert entry.id == "one", f"{kind}: the list names {entry.id!r}"
        assert entry.size > 0, f"{kind}: the list must know the size"
        assert store.delete(kind, "one") is True, f"{kind}: delete() must say that it did"
        assert store.load(kind, "one") is None, f"{kind}: what was deleted is still there"
        assert store.list(kind) == [], f"{kind}: what was deleted is still listed"
    for call in (
        lambda: store.save("diary", "one", {}),
        lambda: store.load("diary", "one"),
        lambda: store.list("diary"),
        lambda: store.delete("diary", "one"),
    ):
        _raises(UnknownName, call, "a kind that is none")


def _raises(error: type[Exception], call: Callable[[], object], what: str) -> None:
    try:
        call()
    except error:
        return
    raise AssertionError(f"{what} must raise {error.__name__}")


def _ids(store: Store) -> None:
    for number, id_ in enumerate(_GOOD_IDS):
        store.save("task", id_, {"n": number}, text=f"{number}")
    listed = sorted(entry.id for entry in store.list("task"))
    assert listed == sorted(_GOOD_IDS), f"the list names {listed}"
    for number, id_ in enumerate(_GOOD_IDS):
        kept = store.load("task", id_)
        assert kept is not None, f"{id_!r} is not there"
        assert (kept.document, kept.text) == ({"n": number}, f"{number}"), f"{id_!r} differs"
        assert store.delete("task", id_), f"{id_!r} cannot be deleted"
    for id_ in _BAD_IDS:
        for call in (
            lambda id_=id_: store.save("task", id_, {}),
            lambda id_=id_: store.load("task", id_),
            lambda id_=id_: store.delete("task", id_),
        ):
            _raises(NotPlainName, call, f"the id {id_[:50]!r}")
    assert store.list("task") == [], "an id that was refused left something"
    saved = []
    for id_ in _TWINS:
        try:
            store.save("task", id_, {"id": id_})
        except NotPlainName:
            continue
        saved.append(id_)
    for id_ in _TWINS:
        kept = store.load("task", id_)
        want = {"id": id_} if id_ in saved else None
        assert (kept.document if kept else None) == want, f"{id_!r} and its twin are mixed up"
    for id_ in saved:
        store.delete("task", id_)


def _redaction(store: Store, tamper: Tamper | None) -> None:
    document = {"note": f"the key is {_SECRET}", _SECRET: [{"again": _SECRET}]}
    store.save("resume_log", "secret", document, text=f"# Key\n{_SECRET}\n")
    kept = store.load("resume_log", "secret")
    assert kept is not None, "what was saved is not there"
    shown = f"{kept.document} {kept.text}"
    assert _SECRET not in shown, f"a secret is kept: {shown}"
    assert "[REDACTED:" in kept.text, "the markdown must be redacted, not dropped"
    if tamper is not None:
        seen: list[bytes] = []

        def look(data: bytes) -> bytes:
            seen.append(data)
            return data

        tamper("resume_log", "secret", look)
        assert _SECRET.encode() not in seen[0], "a secret stands in the bytes that are kept"
    store.delete("resume_log", "secret")


def _order(store: Store, pause: float) -> None:
    began = time.time()
    for id_ in ("c", "a", "b"):
        store.save("review", id_, {"id": id_})
        time.sleep(pause)
    store.save("review", "c", {"id": "c", "again": True})
    entries = store.list("review")
    assert [e.id for e in entries] == ["c", "b", "a"], f"not newest first: {entries}"
    slack = max(2.0, pause)
    within = all(began - slack <= e.saved <= time.time() + slack for e in entries)
    assert within, f"`saved` is in seconds since 1970: {entries}"
    assert store.list("task") == [], "a document of one kind is listed under another"
    for entry in entries:
        store.delete("review", entry.id)


def _writers(make_store: Callable[[], Store], times: int = 25) -> None:
    """Two writers of one id, and a reader of it."""
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
            kept = store.load("task", "shared")
            if kept is None:
                wrong.append("it is missing while it is written")
                return
            mark = kept.document["who"]
            codes = {issue.code for issue in kept.issues}
            if kept.document != {"who": mark, "words": [mark] * 50}:
                wrong.append(f"half of two documents: {kept.document}")
            if kept.text not in {"", f"{mark}\n" * 50}:
                wrong.append(f"the markdown of another: {mark}: {kept.text[:9]}")
            if codes - {"text_differs"}:
                wrong.append(f"issues while it is written: {kept.issues}")

    def guarded(call: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                call()
            except Exception as error:  # noqa: BLE001 - told by the check, not by the thread
                wrong.append(f"{type(error).__name__}: {error}")

        return run

    writers = [threading.Thread(target=guarded(partial(write, who))) for who in "xy"]
    reader = threading.Thread(target=guarded(read))
    for thread in (*writers, reader):
        thread.start()
    for thread in writers:
        thread.join()
    stopped.set()
    reader.join()
    assert not wrong, f"two writers and a reader: {wrong[0]}"
    kept = make_store().load("task", "shared")
    assert kept is not None, "after two writers nothing is there"
    assert kept.document["who"] in {f"x{times - 1}", f"y{times - 1}"}, "the last save is lost"
    make_store().delete("task", "shared")


def _retention(store: Store, pause: float) -> None:
    for n in range(6):
        store.save("checkpoint", f"c{n}", {"n": n})
        time.sleep(pause)
    assert pin(store, "checkpoint", "c1"), "pin() must say that it did"
    assert not pin(store, "checkpoint", "none"), "there is nothing to pin"
    entries = store.list("checkpoint")
    assert [e.id for e in entries] == [f"c{n}" for n in (5, 4, 3, 2, 1, 0)], (
        "pinning must not change when it was saved"
    )
    assert [e.id for e in entries if e.pinned] == ["c1"], f"pinned: {entries}"
    store.save("checkpoint", "c1", {"n": 1, "again": True})
    kept = store.load("checkpoint", "c1")
    assert kept is not None, "a pinned document is lost"
    assert kept.document == {"n": 1, "again": True}, f"pinned and replaced: {kept.document}"
    now, rule = time.time(), Retention(keep=2, days=1)
    assert not prune(store, "checkpoint", rule, now=now).removed, "what is new must stay"
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
    assert isinstance(store, Keeping)
    assert not store.drop("checkpoint", stale), "what is saved meanwhile must stay"
    assert pin(store, "checkpoint", "c1", pinned=False), "pin() must say that it did"
    prune(store, "checkpoint", Retention(keep=0), now=later)
    assert store.list("checkpoint") == [], "what is no longer pinned may go"


def _damage(store: Store, tamper: Tamper) -> None:
    document = {"words": "as it was saved", "n": 1}
    for what, change in {
        "a changed word": lambda b: b.replace(b"as it was", b"as it Was"),
        "a changed number": lambda b: b.replace(b'"n":1', b'"n":2').replace(
            b'"n": 1', b'"n": 2'
        ),
        "a missing end": lambda b: b[: len(b) // 2],
        "nothing": lambda b: b[:0],
        "noise": lambda b: bytes(range(256)) + b,
        "a changed seal": lambda b: b.replace(b'"id"', b'"di"'),
    }.items():
        store.save("resume_state", "hurt", document)
        tamper("resume_state", "hurt", change)
        _raises(Damaged, lambda: store.load("resume_state", "hurt"), what)
        (entry,) = store.list("resume_state")
        assert entry.id == "hurt", f"{what}: a damaged document must still be listed"
        store.save("resume_state", "hurt", {"n": 2})
        kept = store.load("resume_state", "hurt")
        assert kept is not None, f"{what}: it cannot be saved again"
        assert kept.document == {"n": 2}, f"{what}: it cannot be saved again"
        store.delete("resume_state", "hurt")
    store.save("resume_state", "new", document)
    schema = b'"leftoff.resume_state/'
    tamper("resume_state", "new", lambda b: b.replace(schema + b"1", schema + b"2"))
    seen: list[bytes] = []
    for call in (
        lambda: store.load("resume_state", "new"),
        lambda: store.save("resume_state", "new", {"n": 3}),
    ):
        _raises(TooNew, call, "a newer schema")
    prune(store, "resume_state", Retention(keep=0), now=time.time() + 86_400)

    def look(data: bytes) -> bytes:
        seen.append(data)
        return data

    tamper("resume_state", "new", look)
    assert schema + b"2" in seen[0], "what a newer leftoff wrote must not be touched"
    store.delete("resume_state", "new")
