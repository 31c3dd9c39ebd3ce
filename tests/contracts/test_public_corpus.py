"""Every real recording that is at hand keeps the promises of the reader.

The files are not ours to copy; the tests skip where the folder is absent.
"""

import csv
from functools import lru_cache
from pathlib import Path

import pytest

from leftoff import ContextSummary, Pass, api
from leftoff.analysis.files.track import Tracker
from leftoff.extraction.evidence import Applied, Asked, Spent, Touched
from leftoff.model import Usage
from leftoff.session_view import SessionView
from leftoff.sources.open import open_lines
from leftoff.summary import Source
from leftoff.testing.checks import check_prefix

FORMATS = ("claude_code", "codex")


def rows(corpus: Path) -> list[dict[str, str]]:
    with (corpus / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        return [r for r in csv.DictReader(file, delimiter="\t") if r["format"] in FORMATS]


@lru_cache(maxsize=256)
def read(path: Path) -> tuple[Pass, ContextSummary]:
    reading = api.open_pass(str(path))
    return reading, reading.conclude([Source(str(path))])


def test_calls_agree_with_the_manifest(public_corpus: Path) -> None:
    for row in rows(public_corpus):
        _, summary = read(public_corpus / row["file"])
        assert summary.stats.tool_call_count == int(row["tool_calls"]), row["file"]


def test_messages_agree_with_the_manifest_but_for_queued_prompts(public_corpus: Path) -> None:
    for row in rows(public_corpus):
        if row["format"] != "claude_code":
            continue
        reading, summary = read(public_corpus / row["file"])
        evidence = [e for r in reading.sessions[-1].values() for e in r.evidence]
        slipped_in = {
            e.ref.message
            for e in evidence
            if isinstance(e, Asked) and e.via in {"queued", "command"}
        }
        more = summary.stats.message_count - int(row["messages"])
        assert 0 <= more <= len(slipped_in), row["file"]


def test_spend_is_the_largest_usage_of_each_response(public_corpus: Path) -> None:
    for row in rows(public_corpus):
        if row["format"] != "claude_code":
            continue
        reading, summary = read(public_corpus / row["file"])
        largest: dict[str, Usage] = {}
        for recording in list(reading.sessions[-1].values())[:1]:
            for e in recording.evidence:
                if (
                    isinstance(e, Spent)
                    and e.usage.total > largest.get(e.response, Usage()).total
                ):
                    largest[e.response] = e.usage
        total = Usage()
        for usage in largest.values():
            total += usage
        spend = summary.context.spend
        if not summary.session.parent_id:
            assert (spend.input, spend.output, spend.cache_read, spend.cache_write) == (
                total.input, total.output, total.cache_read, total.cache_write,
            ), row["file"]  # fmt: skip


def test_occupancy_meets_the_recorders_own_figure(public_corpus: Path) -> None:
    errors: list[float] = []
    for row in rows(public_corpus):
        _, summary = read(public_corpus / row["file"])
        errors += [
            abs(c.occupancy - c.recorded) / c.recorded
            for c in summary.context.compactions
            if c.occupancy and c.recorded
        ]
    errors.sort()
    assert len(errors) >= 30
    assert errors[len(errors) // 2] <= 0.005
    assert errors[int(len(errors) * 0.95)] <= 0.02


@pytest.mark.parametrize("share", [0.1, 0.37, 0.5, 0.81])
def test_a_cut_recording_goes_on_as_if_it_had_not_been_cut(
    public_corpus: Path, share: float
) -> None:
    for row in rows(public_corpus)[::9]:
        with open_lines(str(public_corpus / row["file"])) as stream:
            data = b"".join(stream)
        check_prefix(data, int(len(data) * share))


def test_no_edit_is_lost(public_corpus: Path) -> None:
    """Every edit that succeeded is an event, and in the summary unless it was undone again."""
    edits = lost = 0
    for row in rows(public_corpus):
        reading, _ = read(public_corpus / row["file"])
        for recording in reading.sessions[-1].values():
            view = SessionView(recording)
            events = {
                (e.ref.message, e.path) for e in Tracker(view).all() if e.action != "read"
            }
            moved = {path for a in view.all(Applied) for *_, path in a.files}
            for touch in view.all(Touched):
                message, path = touch.ref.message, touch.path
                if touch.verb == "read" or not path or not view.succeeded(touch.call):
                    continue
                edits += 1
                lost += (message, path) not in events and path not in moved
    assert edits > 1_500
    assert lost == 0
