"""The tables of a batch as analysts read them: Parquet, DuckDB, pandas, polars, URLs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from leftoff.analysis.summary_json import safe_summary
from leftoff.batch.jobs import BatchOptions
from leftoff.batch.outputs import columns_of
from leftoff.batch.pool import InProcess
from leftoff.batch.rows import TABLES
from leftoff.batch.run import Run
from leftoff.batch.summarize_many import summarize_all, to_dataframe
from leftoff.cli.group import main
from leftoff.errors import UnknownName, UsageError
from leftoff.rendering.html.report import report_row
from leftoff.rendering.screen import render_screen


@pytest.fixture
def sessions(root: Path) -> Path:
    return root / "corpora" / "sessions"


def write(sessions: Path, *places: str) -> None:
    doing = Run([sessions], BatchOptions(), InProcess(), ":memory:", {})
    doing.write(list(places))
    doing.close()


def test_parquet_has_one_schema_and_the_rows_of_the_lines(
    sessions: Path, tmp_path: Path
) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    lines, table_file = tmp_path / "o.jsonl", tmp_path / "o.parquet"
    write(sessions, str(lines), str(table_file))
    empty = tmp_path / "e.parquet"
    (tmp_path / "none.jsonl").write_bytes(b"")
    doing = Run([tmp_path / "none.jsonl"], BatchOptions(), InProcess(), ":memory:", {})
    doing.write([str(empty)])
    doing.close()
    for table in TABLES:
        ending = "" if table == "sessions" else f".{table}"
        read = parquet.read_table(tmp_path / f"o{ending}.parquet")
        assert read.schema == parquet.read_schema(tmp_path / f"e{ending}.parquet")
        assert read.column_names == list(columns_of(table))
        rows = read.to_pylist()
        told = [
            json.loads(line)
            for line in (tmp_path / f"o{ending}.jsonl").read_bytes().splitlines()
        ]
        for row in rows:
            for name in ("started", "ended"):
                if row.get(name):
                    row[name] = row[name].isoformat(timespec="microseconds") + "Z"
            if "document" in row:
                row["document"] = json.loads(row["document"] or "null")
        assert rows == told


def test_table_report_and_screen_count_the_same(sessions: Path) -> None:
    """A renamed file counts once; the last test run decides `last_test_passed`."""
    found = list(summarize_all(sessions))
    assert sum(one.row.left_open or 0 for one in found) > 10
    assert sum(one.row.files for one in found) == 16
    for one in found:
        entry = report_row(one.summary)
        screen = render_screen(safe_summary(one.summary), everything=True)
        title = re.search("^Files: (.*)", screen, re.MULTILINE)
        counts = re.findall(
            "([0-9]+) (?:created|moved|modified|changed|deleted)", title[1] if title else ""
        )
        changed = sum(map(int, counts))
        left = screen.partition("\nLeft open\n")[2].partition("\n\n")[0].count("  ○ ")
        assert (one.row.files_changed, one.row.left_open) == (changed, left)
        assert (entry.file_count, entry.open_count) == (changed, left)
        assert one.row.title == entry.title
        tests = [c.verdict for c in one.summary.checks if c.kind == "test"]
        known = [verdict for verdict in tests if verdict != "unknown"]
        assert one.row.last_test_passed == (known[-1] == "passed" if known else None)
        assert (entry.written is None) == (one.row.output_tokens is None)


def test_the_queries_of_the_page_answer(sessions: Path, tmp_path: Path, root: Path) -> None:
    duckdb: Any = pytest.importorskip("duckdb", reason="needs duckdb and pyarrow")
    pytest.importorskip("pyarrow", reason="needs duckdb and pyarrow")
    write(sessions, str(tmp_path / "sessions.parquet"), str(tmp_path / "sessions.jsonl.zst"))
    team = str(tmp_path / "team.parquet")
    assert main(["batch", str(sessions), "--what", "memory", "-o", team, "-q"]) == 0
    page = (root / "docs" / "how-to" / "ask-many-sessions.md").read_text("utf-8")
    queries = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    assert len(queries) >= 5
    db = duckdb.connect()
    answers = {}
    for query in queries:
        here = re.sub("'(sessions|team)[.]", rf"'{tmp_path}/\1.", query)
        answers[query.splitlines()[0]] = db.sql(here).fetchall()
    assert answers["-- tokens by project and week"]
    told = [one for one in summarize_all(sessions) if one.row.started]
    assert sum(row[2] for row in answers["-- tokens by project and week"]) == len(told)
    failed = [one for one in told if one.row.last_test_passed is False]
    assert len(answers["-- sessions whose last tests failed"]) >= len(failed)
    assert "-- which decisions touched auth" in answers


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_have_the_types_of_the_tables(sessions: Path, library: str) -> None:
    pytest.importorskip(library, reason=f"needs {library}")
    found = list(summarize_all(sessions))
    for table in TABLES:
        frame = to_dataframe(found, table, library=library)
        assert list(frame.columns) == [n for n in columns_of(table) if n != "document"]
    frame = to_dataframe(found, library=library)
    assert len(frame) == len(found)
    assert int(frame["messages"].sum()) == sum(one.row.messages or 0 for one in found)
    empty = to_dataframe([], library=library)
    assert list(map(str, empty.dtypes)) == list(map(str, frame.dtypes))
    starts = [one.row.started for one in found]
    assert [s is None for s in starts] == [bool(n) for n in _nulls(frame["started"])]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_of_paths_summaries_and_rows(sessions: Path, library: str) -> None:
    pytest.importorskip(library, reason=f"needs {library}")
    found = [one for one in summarize_all(sessions) if one.ok and not one.row.number]
    summaries = [one.summary for one in found]
    for table in TABLES:
        rows = [one.row for one in found] if table == "sessions" else None
        rows = rows or [row for one in found for row in getattr(one, table)]
        expected = to_dataframe(rows, table, library=library)
        for given in (found, summaries):
            frame = to_dataframe(given, table, library=library)
            # A summary knows no price.
            other = {"cost_usd", "cost_usd_at_most"} if given is summaries else set()
            for name in set(frame.columns) - other:
                assert _texts(frame[name]) == _texts(expected[name]), name
    paths = to_dataframe(sessions, library=library)
    assert len(paths) == len(list(summarize_all(sessions)))
    one = to_dataframe(summaries[0], library=library)
    assert one["path"].to_list() == [summaries[0].session.path]


def _texts(column: Any) -> list[str]:
    return [str(value) for value in column.to_list()]


def _nulls(column: Any) -> Any:
    return column.isna() if hasattr(column, "isna") else column.is_null()


def test_an_unknown_library_or_table_is_named() -> None:
    with pytest.raises(UnknownName, match="arrow"):
        to_dataframe([], library="arrow")
    with pytest.raises(UsageError, match="no table"):
        to_dataframe([], "children")


def test_urls_are_read_and_written(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leftoff.batch.index._MTIME_RESOLUTION", 0)
    fsspec: Any = pytest.importorskip("fsspec", reason="needs fsspec")
    memory = fsspec.filesystem("memory")
    memory.makedirs("/in", exist_ok=True)
    for path in sorted((sessions / "codex").glob("*.jsonl")):
        memory.pipe_file(f"/in/{path.name}", path.read_bytes())
    memory.pipe_file("/in/gone.jsonl", b"")
    doing = Run(["memory://in"], BatchOptions(), InProcess(), str(tmp_path / "index"), {})
    report = doing.write(["memory://out.jsonl"])
    doing.close()
    assert (report.sessions, report.failures) == (2, 1)
    rows = [json.loads(line) for line in memory.cat_file("/out.jsonl").splitlines()]
    assert {row["path"].partition("://")[0] for row in rows} == {"memory"}
    here = {row.row.messages for row in summarize_all(sessions / "codex")}
    assert {row["messages"] for row in rows if row["status"] == "ok"} == here
    doing = Run(["memory://in"], BatchOptions(), InProcess(), str(tmp_path / "index"), {})
    assert doing.write(["memory://out.jsonl"]).read == 0
    doing.close()


def test_entries_of_the_memory_are_a_table(sessions: Path, tmp_path: Path) -> None:
    """The rows that `leftoff search` looks through; other runs leave the table empty."""
    doing = Run([sessions], BatchOptions(what="memory"), InProcess(), ":memory:", {})
    doing.write([str(tmp_path / "o.jsonl")])
    doing.close()
    rows, told = (
        [json.loads(line) for line in (tmp_path / name).read_bytes().splitlines()]
        for name in ("o.entries.jsonl", "o.jsonl")
    )
    keys = {session["key"] for session in told}
    assert {row["key"] for row in rows} <= keys
    assert {"request", "decision", "check", "file", "seen"} <= {row["kind"] for row in rows}
    assert {row["speaker"] for row in rows} == {"person", "agent", "tool"}
    assert any("whole cents" in row["text"] for row in rows)
    numbered = [r for r in rows if r["message"] is not None]
    assert all(r["message_number"] == r["message"] + 1 for r in numbered)
    write(sessions, str(tmp_path / "p.jsonl"))
    assert (tmp_path / "p.entries.jsonl").read_bytes() == b""
