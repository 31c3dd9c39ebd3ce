"""Progress of a session: its stages, its milestones, and a percentage."""

from leftoff import lazy_re as re
from leftoff.analysis.activities import activities, edits
from leftoff.analysis.checks import checks
from leftoff.analysis.git import git_events
from leftoff.analysis.insights import next_steps, to_dos
from leftoff.analysis.milestones import milestones
from leftoff.analysis.requests import is_unfinished, user_requests
from leftoff.analysis.stages import timeline
from leftoff.analysis.turns import turn_state
from leftoff.session_view import SessionView
from leftoff.summary import STAGES, Check, ProgressInfo, StageChange

# Words before a stage that make it a condition, a plan or a denial.
_UNSURE = re.compile(
    r"\b(?:once|when|after|until|before|if|unless|as soon as|not|never|isn't|aren't|will be"
    r"|should be)\b"
    r"[^.;:]*$",
    re.IGNORECASE,
)

_DONE_RULES = frozenset({"stage-done", "stage-done-first"})
# A session that ends in one of these has made nothing yet, so that it is not finished.
_EARLY = frozenset({"planning", "architecture"})
_CODE = frozenset({"edit", "edit_test"})


def progress(view: SessionView) -> ProgressInfo:
    """Stages, milestones and the percentage of a session."""
    changes = timeline(view)
    current = changes[-1].stage if changes else ""
    declared = [s for s in view.sentences("stage") if s.rule not in _DONE_RULES]
    runs = checks(view)
    edited = [at for at, did in edits(view).items() if not _CODE.isdisjoint(did)]
    tested = [at for at, did in activities(view).items() if "test" in did]
    judged = [run.ref.message for run in runs if run.kind == "test"]
    last_edit = max((at[0] for at in edited if view.succeeded(at)), default=-1)
    last_test = max([*judged, *(at[0] for at in tested if view.succeeded(at))], default=-1)
    return ProgressInfo(
        completed_stages=_completed(view, changes, current, runs, last_edit),
        current_stage=current,
        declared_stage=declared[-1].value if declared else "",
        progress_percentage=_percentage(view, runs, last_edit, current),
        tests_older_than_last_edit=None if last_test < 0 else last_test < last_edit,
        milestones=milestones(view),
        timeline=changes,
    )


def _percentage(
    view: SessionView, runs: tuple[Check, ...], last_edit: int, current: str
) -> int | None:
    """The percentage by what stands beside it in the summary (see `percentage`)."""
    items = [item.status for item in to_dos(view)]
    failed = any(run.verdict == "failed" for run in last_of_each(runs))
    something_open = (
        turn_state(view).status != "closed"
        or any(is_unfinished(r.status) for r in user_requests(view) if r.kind != "remark")
        or any(step.status != "said" for step in next_steps(view))
    )
    delivered = any(e.ref.message > last_edit for e in git_events(view) if e.shown)
    checked = any(r.verdict == "passed" and r.ref.message > last_edit >= 0 for r in runs)
    return percentage(
        items,
        finished=not (something_open or failed or current in _EARLY),
        shown=delivered or checked or bool(items),
    )


def percentage(items: list[str], *, finished: bool, shown: bool) -> int | None:
    """The progress in percent, None where nothing can be said.

    100 where the work is `finished` and something shows it; else the share of completed items
    of a to-do list that has open ones; else None.

    Args:
        items: the status of each item of the last to-do list.
        finished: the agent ended its turn, nothing is open and no check failed last.
        shown: a commit, push or the like after the last edit, a passed check after it, or a
            completed to-do list."""
    done = sum(status == "completed" for status in items)
    if done < len(items):
        return round(100 * done / len(items))
    return 100 if finished and shown else None


def last_of_each(runs: tuple[Check, ...]) -> list[Check]:
    """The last run of each check: of one kind, tool and scope."""
    return list({(r.kind, r.tool, r.scope): r for r in runs}.values())


def _completed(
    view: SessionView,
    changes: tuple[StageChange, ...],
    current: str,
    runs: tuple[Check, ...],
    last_edit: int,
) -> tuple[str, ...]:
    """Stages said or shown to be finished, and those that were passed through.

    A stage that is entered again after the words is not finished by them."""
    place = STAGES.index(current) if current in STAGES else len(STAGES)
    found = {c.stage for c in changes if STAGES.index(c.stage) < place}
    entered = {change.stage: change.ref.message for change in changes}
    for said in view.sentences("stage"):
        stage = said.value.casefold()
        if said.rule in _DONE_RULES and not _UNSURE.search(said.text[: said.start]):
            if entered.get(stage, -1) <= said.ref.message:
                found.add(stage)
    tests = [run for run in runs if run.kind == "test"]
    if tests and all(r.verdict == "passed" for r in last_of_each(tuple(tests))):
        if tests[-1].ref.message > last_edit >= 0:
            found.add("testing")
    return tuple(s for s in STAGES if s in found and s != "other")
