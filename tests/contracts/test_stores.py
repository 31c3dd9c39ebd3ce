"""Every store keeps the promises of a store, and what breaks one is found out."""

import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from leftoff.errors import UnknownName, UsageError
from leftoff.stores.files import FileStore
from leftoff.stores.naming import LOCATIONS, file_stem
from leftoff.stores.protocol import Entry, Store, StoredDocument, open_store, stores
from leftoff.stores.sqlite import SqliteStore
from leftoff.testing import check_store


def of_files(store: FileStore, ending: str = ".json") -> Callable[..., None]:
    def tamper(kind: str, id: str, change: Callable[[bytes], bytes]) -> None:
        path = store.folder(kind) / f"{file_stem(kind, id)}{ending}"
        path.write_bytes(change(path.read_bytes()))

    return tamper


def test_files(tmp_path: Path) -> None:
    check_store(
        lambda: FileStore(tmp_path / "kept"), tamper=of_files(FileStore(tmp_path / "kept"))
    )


def test_compressed_files(tmp_path: Path) -> None:
    packed = dict.fromkeys(LOCATIONS, 0)
    check_store(lambda: FileStore(tmp_path / "kept", compress=packed))


def test_files_in_places_of_their_own(tmp_path: Path) -> None:
    places = {kind: tmp_path / "own" / kind for kind in LOCATIONS}
    check_store(lambda: FileStore(tmp_path / "kept", places=places, compress={"task": 300}))
    assert not (tmp_path / "kept").exists()


def test_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kept.db"

    def tamper(kind: str, id: str, change: Callable[[bytes], bytes]) -> None:
        with sqlite3.connect(path) as base:
            (data,) = base.execute(
                "SELECT document FROM documents WHERE kind = ? AND id = ?", (kind, id)
            ).fetchone()
            base.execute(
                "UPDATE documents SET document = ? WHERE kind = ? AND id = ?",
                (change(data), kind, id),
            )
        base.close()

    check_store(lambda: SqliteStore(path), tamper=tamper)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_objects() -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs fsspec")
    memory = fsspec.filesystem("memory")
    url = f"memory://store-{time.time_ns()}"

    def tamper(kind: str, id: str, change: Callable[[bytes], bytes]) -> None:
        path = f"{url}/{LOCATIONS[kind].folder}/{file_stem(kind, id)}.json"
        memory.pipe_file(path, change(memory.cat_file(path)))

    check_store(lambda: open_store(url), tamper=tamper)
    assert not memory.exists(url), "what was deleted left something"


# -- stores that break a promise -------------------------------------------------------------


class Forgetful(FileStore):
    """Loses keys that it does not know."""

    def save(self, kind: str, id: str, document: Mapping[str, Any], *, text: str = "") -> str:
        known = {k: v for k, v in document.items() if not k.startswith("a key of")}
        return super().save(kind, id, known, text=text)


class Backwards(FileStore):
    """Lists the oldest first."""

    def list(self, kind: str) -> list[Entry]:
        return super().list(kind)[::-1]


class Trusting(FileStore):
    """Gives out what was damaged."""

    def load(self, kind: str, id: str) -> StoredDocument | None:
        from leftoff.errors import Damaged

        try:
            return super().load(kind, id)
        except Damaged:
            return StoredDocument({}, (), "here")


class Unpinned(FileStore):
    """Retention forgets what is pinned."""

    def pin(self, kind: str, id: str, pinned: bool) -> bool:
        return self.load(kind, id) is not None


@pytest.mark.parametrize(
    "broken,promise",
    [
        (Forgetful, "is not {"),
        (Backwards, "newest first"),
        (Trusting, "must raise Damaged"),
        (Unpinned, "pinned"),
    ],
)
def test_what_breaks_a_promise_is_found_out(
    broken: type[FileStore], promise: str, tmp_path: Path
) -> None:
    tamper = of_files(FileStore(tmp_path))
    with pytest.raises(AssertionError, match=promise):
        check_store(lambda: broken(tmp_path), tamper=tamper)


# -- which store a name opens ----------------------------------------------------------------


def test_names_and_urls_open_their_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert stores.names() == ["files", "sqlite", "redis", "objects"]
    for where in ("kept", tmp_path / "kept", f"file://{tmp_path}/kept", "file:kept"):
        store = open_store(where)
        assert isinstance(store, FileStore)
        assert store.root.absolute() == tmp_path / "kept"
    for url, path in (
        ("sqlite:///a.db", "a.db"),
        (f"sqlite:///{tmp_path}/a.db", f"{tmp_path}/a.db"),
    ):
        base = open_store(url)
        assert isinstance(base, SqliteStore)
        assert str(base.path) == path
    with pytest.raises(UsageError, match="sqlite:///"):
        open_store("sqlite://a.db")


def test_an_unknown_scheme_names_the_nearest(tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="needs fsspec")
    with pytest.raises(UnknownName, match="did you mean 'redis'"):
        open_store("redid://localhost")


def test_a_store_of_another_package_answers_to_its_scheme(tmp_path: Path) -> None:
    def opener(where: str, **options: Any) -> Store:
        return FileStore(tmp_path / where.partition("://")[2])

    stores.register("drawer")(opener)
    try:
        store = open_store("drawer://top")
        assert store.save("task", "t", {}) == str(tmp_path / "top/tasks/t.json")
    finally:
        stores.withdraw("drawer")
