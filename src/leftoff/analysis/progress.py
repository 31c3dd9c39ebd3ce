"""Progress of a session: its stages, its milestones, and a percentage."""

from __future__ import annotations

from leftoff.analysis.activities import activities
from leftoff.analysis.insights import has_open_work
from leftoff.analysis.milestones import milestones
from leftoff.analysis.stages import timeline
from leftoff.session_view import SessionView
from leftoff.summary import STAGES, Milestone, ProgressInfo, StageChange

WEIGHTS = {
    "planning": 10,
    "architecture": 10,
    "implementation": 45,
    "testing": 20,
    "review": 5,
    "deployment": 10,
}
"""Share of the work of each stage, in percent (see `percentage`). Chosen by hand; not
measured."""

_DELIVERED = frozenset({"pushed", "merged", "deployed", "released"})


def progress(view: SessionView) -> ProgressInfo:
    """Stages, milestones and the percentage of a session."""
    changes = timeline(view)
    reached = milestones(view)
    current = changes[-1].stage if changes else ""
    completed = _completed(view, changes, current)
    declared = list(view.sentences("stage"))
    last_edit, last_test, passed = _edits_and_tests(view)
    return ProgressInfo(
        completed_stages=completed,
        current_stage=current,
        declared_stage=declared[-1].value if declared else "",
        progress_percentage=percentage(
            completed, current, reached, finished=passed and not has_open_work(view)
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
    """The progress in percent.

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


def _completed(
    view: SessionView, changes: tuple[StageChange, ...], current: str
) -> tuple[str, ...]:
    """Stages that were passed through or declared done, without the current one."""
    seen = {change.stage for change in changes}
    for said in view.sentences("stage"):
        if said.rule == "stage-done":
            seen.add(said.value.casefold())
    if current in STAGES:
        place = STAGES.index(current)
        seen = {s for s in seen if s in STAGES and STAGES.index(s) < place}
    return tuple(s for s in STAGES if s in seen and s != "other")


def _edits_and_tests(view: SessionView) -> tuple[int, int, bool]:
    """Index of the last edit, of the last test run, and whether that run passed."""
    last_edit = last_test = -1
    for (message, part), found in activities(view).items():
        if not view.succeeded(message, part):
            continue
        if "edit" in found or "edit_test" in found:
            last_edit = max(last_edit, message)
        if "test" in found:
            last_test = max(last_test, message)
    passed = seen = False
    for result in view.shown({"tests_pass"}):
        if result.call_message > last_test or (result.call_message == last_test and not seen):
            last_test, passed, seen = result.call_message, result.good, True
        elif result.call_message == last_test:
            passed = passed and result.good
    return last_edit, last_test, passed
