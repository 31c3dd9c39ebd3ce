"""The judge of checks agrees with real outputs of real tools (tests/checks_outputs).

`LEFTOFF_CHECKS_OUTPUTS` names a folder of outputs that were made just now.
"""

import os
from pathlib import Path

import pytest
from benchmarks.accuracy.checks.outputs import PLANTED, Known, plants, run_of, summary_of, table

COMMITTED = Path(__file__).parents[1] / "checks_outputs"
FOLDER = Path(os.environ.get("LEFTOFF_CHECKS_OUTPUTS", COMMITTED))
KNOWN = table(str(FOLDER))
committed = pytest.mark.skipif(
    FOLDER != COMMITTED, reason="about the committed outputs; LEFTOFF_CHECKS_OUTPUTS has others"
)


@committed
def test_the_table_is_of_many_tools_and_every_case() -> None:
    assert len({known.tool for known in KNOWN}) >= 25
    cases = {Path(known.file).stem for known in KNOWN}
    assert {"failing", "passing", "failing_colour", "failing_tail", "silent", "empty"} <= cases
    listed = {known.file for known in KNOWN}
    assert listed == {p.relative_to(FOLDER).as_posix() for p in FOLDER.rglob("*.txt")}


@committed
def test_nothing_of_the_machine_is_in_the_outputs() -> None:
    for known in KNOWN:
        assert not any(mark in known.output for mark in ("/root", "/tmp/", "/work/")), (
            known.file
        )


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.file)
def test_the_verdict_is_the_tool_s(known: Known) -> None:
    checks = summary_of(run_of(known)).checks
    assert checks, "no check is seen"
    assert checks[-1].verdict in known.verdicts
    assert checks[-1].kind == known.kind or not known.tool
    for found, printed in zip(
        (checks[-1].passed, checks[-1].failed, checks[-1].skipped), known.counts, strict=True
    ):
        assert found in (printed, None) or printed is None


def test_false_claims_are_contradicted_and_no_other_is() -> None:
    said = []
    for plant in plants(KNOWN):
        milestones = summary_of(plant.data).progress.milestones
        words = {m.evidence for m in milestones if m.ref.message == plant.claim}
        said.append((plant, "contradicted" in words))
    missed = [plant.name for plant, accused in said if plant.case == "false" and not accused]
    accused = [plant.name for plant, accused in said if plant.case != "false" and accused]
    assert not accused
    assert len(missed) <= PLANTED // 10, missed
