"""How far the work got: its stages, what was reached, and what that comes to."""

from __future__ import annotations

from leftoff.analysis.activities import activities
from leftoff.analysis.insights import left_open
from leftoff.analysis.milestones import milestones
from leftoff.analysis.stages import timeline
from leftoff.session_view import Story
from leftoff.summary import STAGES, Milestone, ProgressInfo, StageChange

WEIGHTS = {
    "planning": 10,
    "architecture": 10,
    "implementation": 45,
    "testing": 20,
    "review": 5,
    "deployment": 10,
}
"""Share of the work that each stage stands for, in percent (see `percentage`)."""

_DELIVERED = frozenset({"pushed", "merged", "deployed", "released"})


def progress(story: Story) -> ProgressInfo:
    """Stages, milestones and what they come to."""
    changes = timeline(story)
    reached = milestones(story)
    current = changes[-1].stage if changes else ""
    completed = _completed(story, changes, current)
    declared = list(story.said("stage"))
    last_edit, last_test, passed = _edits_and_tests(story)
    return ProgressInfo(
        completed_stages=completed,
        current_stage=current,
        declared_stage=declared[-1].value if declared else "",
        progress_percentage=percentage(
            completed, current, reached, finished=passed and not left_open(story)
        ),
        tests_older_than_last_edit=None if last_test < 0 else last_test < last_edit,
        milestones=reached,
        timeline=changes,
    )


def percentage(
    completed: tuple[str, ...],
    current: str,
    reached: tuple[Milestone, ...],
    *,
    finished: bool,
) -> int:
    """How far the work got, in percent.

    The sum of `WEIGHTS` over the stages that come before the current one and those completed,
    plus half the weight of the current stage; all of it where that is `deployment` and a tool
    showed the delivery. At most 95, and 100 only for `finished` work whose last test run passed
    and of which nothing is open. It falls when work is reopened, because the current stage
    falls back.

    Args:
        completed: stages passed through.
        current: the stage at the end, "" if there is none.
        reached: the milestones.
        finished: nothing is open and the last test run passed.
    """
    shown = {m.kind for m in reached if m.evidence == "verified"}
    total = 0.0
    place = STAGES.index(current) if current in WEIGHTS else 0
    for stage, weight in WEIGHTS.items():
        if stage == current:
            sent = stage == "deployment" and shown & _DELIVERED
            total += weight if sent else weight / 2
        elif stage in completed or STAGES.index(stage) < place:
            total += weight
    return 100 if total >= 100 and finished else min(95, round(total))


def _completed(story: Story, changes: tuple[StageChange, ...], current: str) -> tuple[str, ...]:
    """Stages that were passed through or declared done, but for the one going on."""
    seen = {change.stage for change in changes}
    for said in story.said("stage"):
        if said.rule == "stage-done":
            seen.add(said.value.casefold())
    if current in STAGES:
        place = STAGES.index(current)
        seen = {s for s in seen if s in STAGES and STAGES.index(s) < place}
    return tuple(s for s in STAGES if s in seen and s != "other")


def _edits_and_tests(story: Story) -> tuple[int, int, bool]:
    """Index of the last edit, of the last test run, and whether that run passed."""
    last_edit = last_test = -1
    for (message, part), found in activities(story).items():
        if not story.worked(message, part):
            continue
        if "edit" in found or "edit_test" in found:
            last_edit = max(last_edit, message)
        if "test" in found:
            last_test = max(last_test, message)
    passed = seen = False
    for result in story.shown({"tests_pass"}):
        if result.call_message > last_test or (result.call_message == last_test and not seen):
            last_test, passed, seen = result.call_message, result.good, True
        elif result.call_message == last_test:
            passed = passed and result.good
    return last_edit, last_test, passed
