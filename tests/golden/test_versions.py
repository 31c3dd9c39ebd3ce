"""What earlier releases wrote is read, and what later ones will write is refused untouched.

`versions/N` holds a document of each kind as the release with schema N wrote it, of one of our own
sessions. They are never written again: a new schema gets a folder of its own beside them.
"""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leftoff import api, codec, settings
from leftoff.analysis.summary_json import from_json
from leftoff.batch.index import Index
from leftoff.errors import FormatError, StateError, TooNew
from leftoff.handover.checkpoint.document import validated
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.handover.resume_state.document import ResumeState
from leftoff.handover.review import Review
from leftoff.live.checkpoints import plans
from leftoff.live.last_summarized import exchange_position
from leftoff.live.session import SessionManager
from leftoff.stores.envelope import KEY, VERSIONS, checksum
from leftoff.stores.files import FileStore
from leftoff.stores.naming import LOCATIONS, file_stem
from leftoff.stores.protocol import KINDS
from leftoff.stores.retention import Retention, prune

HERE = Path(__file__).resolve().parent / "versions"
SHAPES = sorted(path for path in HERE.iterdir() if path.is_dir())
LATER = {"of_the_future": {"deep": [1, {"b": None}], "text": "kept"}}

LOADERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "resume_log": lambda d: ResumeLog.from_dict(d).to_dict(),
    "checkpoint": lambda d: validated(d).to_dict(),
    "resume_state": lambda d: ResumeState.from_dict(d).to_dict(),
    "review": lambda d: Review.from_dict(d).to_dict(),
    "task": lambda d: codec.parse_strict(codec.dumps(plans.document(*plans.read(d)))),
}


def kept(folder: Path, kind: str, root: Path) -> tuple[FileStore, Path]:
    """A store that holds the document of a version."""
    store = FileStore(root)
    place = root / LOCATIONS[kind].folder / f"{file_stem(kind, kind)}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / f"{kind}.json", place)
    text = folder / f"{kind}.md"
    if text.exists():
        shutil.copyfile(text, place.with_suffix(".md"))
    return store, place


def newer(path: Path, kind: str) -> bytes:
    """Makes a document one of the schema after the last, with a field that nobody knows."""
    value = codec.parse_strict(path.read_bytes())
    value[KEY] |= {"schema": f"leftoff.{kind}/{VERSIONS[kind] + 1}", "sealed_by": "later"}
    value[KEY].pop("checksum")
    value[KEY]["checksum"] = checksum(codec.canonical(value))
    path.write_bytes(codec.dumps(value, indent=2))
    return path.read_bytes()


def test_every_version_has_every_kind() -> None:
    assert [int(folder.name) for folder in SHAPES] == list(range(1, max(VERSIONS.values()) + 1))
    for folder in SHAPES:
        assert {path.stem for path in folder.glob("*.json")} >= set(KINDS)


@pytest.mark.parametrize("folder", SHAPES, ids=lambda path: path.name)
@pytest.mark.parametrize("kind", KINDS)
def test_a_document_of_an_earlier_version_is_read(
    folder: Path, kind: str, tmp_path: Path
) -> None:
    store, _ = kept(folder, kind, tmp_path)
    found = store.load(kind, kind)
    assert found is not None
    assert found.issues == ()
    assert bool(found.text) == (folder / f"{kind}.md").exists()
    assert LOADERS[kind](found.document) == found.document


@pytest.mark.parametrize("kind", KINDS)
def test_fields_that_nobody_knows_survive_a_rewrite(kind: str, tmp_path: Path) -> None:
    store, _ = kept(SHAPES[-1], kind, tmp_path)
    found = store.load(kind, kind)
    assert found is not None
    store.save(kind, kind, {**found.document, **LATER})
    again = store.load(kind, kind)
    assert again is not None
    made = LOADERS[kind](again.document)
    assert {name: made[name] for name in LATER} == LATER
    store.save(kind, kind, made)
    assert (last := store.load(kind, kind))
    assert last.document == {**found.document, **LATER}


@pytest.mark.parametrize("kind", KINDS)
def test_a_newer_document_is_refused_and_stays(kind: str, tmp_path: Path) -> None:
    store, path = kept(SHAPES[-1], kind, tmp_path)
    data = newer(path, kind)
    with pytest.raises(TooNew, match="newer leftoff"):
        store.load(kind, kind)
    with pytest.raises(TooNew):
        store.save(kind, kind, {"a": 1})
    assert [(e.id, e.readable) for e in store.list(kind)] == [(kind, False)]
    done = prune(store, kind, Retention(keep=0, days=0), now=4e9)
    assert list(done.removed) == []
    assert path.read_bytes() == data


def test_a_saved_session_is_read_and_a_newer_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    shutil.copyfile(SHAPES[0] / "session.json", path)
    manager = SessionManager(path)
    assert manager.session_id == "s1"
    assert manager.get_context_metrics()["percentage_used"] == 86.0
    budget = manager.task("t1").token_budget
    assert budget is not None
    assert budget.tokens_consumed == 21_000
    value = codec.parse_strict(path.read_bytes())
    path.write_bytes(codec.dumps({**value, "schema": "leftoff.session/99"}))
    data = path.read_bytes()
    with pytest.raises(StateError, match="session/99"):
        SessionManager(path)
    assert path.read_bytes() == data


def test_a_summary_is_read_and_a_newer_one_refused(root: Path) -> None:
    data = (SHAPES[0] / "summary.json").read_bytes()
    assert from_json(data).key_decisions
    later = data.replace(b"leftoff.summary/1", b"leftoff.summary/2")
    with pytest.raises(TooNew, match="summary/2"):
        from_json(later)
    with pytest.raises(TooNew):  # also where its fields are others
        from_json(b'{"schema": "leftoff.summary/2", "all": "new"}')
    with pytest.raises(StateError, match="not a leftoff summary"):
        from_json(b'{"schema": "other"}')


def test_a_dump_is_read_and_a_newer_one_refused(tmp_path: Path) -> None:
    data = (SHAPES[0] / "dump.jsonl").read_bytes()
    path = tmp_path / "dump.jsonl"
    path.write_bytes(data)
    summary = api.summarize(path)
    assert summary.session.format == "leftoff"
    assert summary.stats.lines.unknown == 0
    path.write_bytes(data.replace(b"session/1", b"session/2", 1))
    with pytest.raises(FormatError, match="newer leftoff"):
        api.summarize(path)


def test_an_index_of_a_batch_is_opened_and_a_newer_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.index"
    with sqlite3.connect(path) as base:
        base.executescript((SHAPES[0] / "index.sql").read_text("utf-8"))
    base.close()
    index = Index(str(path), "other rules", 0)
    assert index.about("schema") == "1"
    index.close()
    with sqlite3.connect(path) as base:
        base.execute("UPDATE about SET value = '2' WHERE name = 'schema'")
    base.close()
    data = path.read_bytes()
    with pytest.raises(StateError, match="schema 2"):
        Index(str(path), "", 0)
    assert path.read_bytes() == data


def test_what_was_asked_for_last_is_remembered(tmp_path: Path, root: Path) -> None:
    path = tmp_path / "state" / "asked.json"
    path.parent.mkdir()
    shutil.copyfile(SHAPES[0] / "asked.json", path)
    summary = api.summarize(root / "corpora/sessions/claude_code/prorate.jsonl")
    before = exchange_position(path, summary)
    assert before is not None
    assert (before.line, before.messages) == (59, 47)


def test_settings_are_read(tmp_path: Path) -> None:
    shutil.copyfile(SHAPES[0] / "leftoff.toml", tmp_path / "leftoff.toml")
    found = settings.load(project=tmp_path).settings
    assert found.preset == "handoff"
    assert found.context_management.resume_logs.max_tokens == 8000
    assert found.resume.enable_compression is True


def test_a_kept_pass_of_another_release_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    from leftoff.incremental import saved_passes

    session = tmp_path / "session.jsonl"
    line = (root / "corpora/sessions/claude_code/prorate.jsonl").read_bytes()
    session.write_bytes(line * 4)
    kept_pass = saved_passes.SavedPass(tmp_path / "kept")
    kept_pass.read_on(str(session))
    assert kept_pass.whole(str(session)) is not None
    monkeypatch.setattr(saved_passes, "__version__", "99.0")
    assert kept_pass.whole(str(session)) is None
    assert kept_pass.read_on(str(session)) == session.stat().st_size
