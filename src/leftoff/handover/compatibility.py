"""Does a saved state still fit: score, verdict, reasons. Pure: the world comes in as a value.

The score is the original design's: similarity of the workflow's content, times 0.7 if a tool
that was used is not there any more. The world (branch, commits, files, model) warns and never
changes it. The verdict is one table:

    score below 0.6                                      refuse
    similarity below 0.8, a used tool missing, or the
    world warns                                          adapt
    else                                                 same

`force` turns refuse into adapt; nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct, field

from leftoff.handover.resume_state.document import ResumeState
from leftoff.handover.resume_state.running_workflow import content_hash
from leftoff.handover.resume_state.templates import COMPATIBILITY, OURS, STRATEGIES, moment
from leftoff.handover.similarity import Similarity, measure
from leftoff.handover.wording import brief, number, plural
from leftoff.redaction.redactor import Redactor

__all__ = [
    "Compatibility",
    "FileNow",
    "Limits",
    "Similarity",
    "Workspace",
    "assess",
    "measure",
    "without_state",
]

Verdict: TypeAlias = Literal["same", "adapt", "refuse"]

NAMED = 5
"""How many files a warning names before it counts the rest."""


class Limits(Struct, frozen=True):
    """Where the verdicts begin, and what a missing tool costs.

    Attributes:
        similar: below this similarity the content has changed significantly.
        alike: below this similarity resetting is advised.
        fits: below this score nothing is resumed.
        missing_tool: what the score is multiplied with if a used tool is not available.
        room: share of the model's window from which on the old context is too large for it.
    """

    similar: float = 0.8
    alike: float = 0.5
    fits: float = 0.6
    missing_tool: float = 0.7
    room: float = 0.8


class FileNow(Struct, frozen=True):
    """A file as it is now.

    Attributes:
        exists: it is there.
        changed: it was changed after the state was saved: its bytes are others, or, where the
            state does not know them, its time of change is later. None: not known.
    """

    exists: bool
    changed: bool | None = None


class Workspace(Struct, frozen=True):
    """The world as it is now, as far as somebody looked. None: not known.

    Attributes:
        root: the project's folder; "" if nobody looked.
        content: the workflow's file, raw.
        content_path: where it was looked for; "" if the workflow has no file.
        tools: names of the tools that there are.
        branch: of the repository; "" where no branch is checked out.
        commit: the repository's head.
        ahead, behind: commits that the head has and the recorded one lacks, and the reverse.
        files: the files that the work touched, by path as recorded.
        window: tokens that the model takes that will go on.
        model: its name.
    """

    root: str = ""
    content: str | None = None
    content_path: str = ""
    tools: frozenset[str] | None = None
    branch: str | None = None
    commit: str | None = None
    ahead: int | None = None
    behind: int | None = None
    files: dict[str, FileNow] = field(default_factory=dict)
    window: int | None = None
    model: str = ""


class Compatibility(Struct, frozen=True):
    """Whether a saved state fits, and why. The first six are the original design's.

    Attributes:
        can_resume: the score is high enough, or it was forced.
        requires_adaptation: the verdict is `adapt`, or resetting is advised.
        compatibility_score: 0 to 1, four digits.
        warnings: what is different, in the design's words or ours.
        adaptations: what to do about it.
        migration_strategies: ways to go on where resuming is refused.
        verdict: same | adapt | refuse.
        similarity: of the workflow's content; None where there was nothing to compare.
        reasons: how the verdict came about, in words.
        missing_tools: tools that were used and are not available.
    """

    can_resume: bool = False
    requires_adaptation: bool = False
    compatibility_score: float = 0.0
    warnings: tuple[str, ...] = ()
    adaptations: tuple[str, ...] = ()
    migration_strategies: dict[str, str] = field(default_factory=dict)
    verdict: Verdict = "refuse"
    similarity: Similarity | None = None
    reasons: tuple[str, ...] = ()
    missing_tools: tuple[str, ...] = ()

    @property
    def estimated(self) -> bool:
        """Whether the score is an estimate that another figure might have decided."""
        return self.similarity is not None and self.similarity.estimated


def without_state(workflow: str) -> Compatibility:
    """What is said of a workflow of which nothing is saved."""
    return Compatibility(
        reasons=(f"nothing is saved of {brief(workflow)}",),
        migration_strategies={"reset_workflow": STRATEGIES["reset_workflow"]},
    )


def assess(
    state: ResumeState,
    workspace: Workspace,
    *,
    limits: Limits | None = None,
    force: bool = False,
) -> Compatibility:
    """Whether `state` can be resumed in `workspace`.

    Where the state's content lost secrets when it was saved, the content now is redacted before
    the two are compared.

    Args:
        force: resume although the score is too low.
    """
    limits = limits or Limits()
    missing = _missing_tools(state, workspace)
    factor = limits.missing_tool if missing else 1.0
    similarity, said = _content(state, workspace, limits, factor)
    alike = 1.0 if similarity is None else similarity.value
    # Rounded beyond what a similarity can differ by, so that 0.7 x 6/7 is 0.6.
    score = round(alike * factor, 12)
    warnings: list[str] = []
    adaptations: list[str] = []
    reasons = [*said, *_tools_told(state, workspace, missing)]
    if alike < limits.similar:
        warnings.append(COMPATIBILITY["changed"])
        adaptations.append(OURS["adaptations"]["content"])
    if alike < limits.alike:
        adaptations.append(COMPATIBILITY["reset"])
    if missing:
        warnings.append(COMPATIBILITY["tools"].format(tools=", ".join(missing)))
        adaptations.append(OURS["adaptations"]["tools"])
    world = tuple(_world(state, workspace, limits))
    if world:
        adaptations.append(OURS["adaptations"]["world"])
    fits = score >= limits.fits
    verdict: Verdict = "same"
    if not fits and not force:
        verdict = "refuse"
    elif not fits or alike < limits.similar or missing or world:
        verdict = "adapt"
    reasons.append(_score_told(score, limits, fits=fits, force=force))
    return Compatibility(
        can_resume=verdict != "refuse",
        requires_adaptation=verdict == "adapt" or alike < limits.alike,
        compatibility_score=_rounded(score, limits.fits),
        warnings=(*warnings, *world),
        adaptations=tuple(adaptations),
        migration_strategies={} if fits else dict(STRATEGIES),
        verdict=verdict,
        similarity=similarity,
        reasons=tuple(reasons),
        missing_tools=missing,
    )


def _rounded(score: float, fits: float) -> float:
    """Four digits that stand on the same side of the limit as the score."""
    shown = round(score, 4)
    return shown if (shown >= fits) == (score >= fits) else score


def _score_told(score: float, limits: Limits, *, fits: bool, force: bool) -> str:
    if fits:
        return f"score {score:.2f}, at least {limits.fits:g}"
    forced = "; resumed because it was forced" if force else ""
    return f"score {score:.2f}, below {limits.fits:g}{forced}"


# -- the workflow's content -------------------------------------------------------------------

_NUMBERED = re.compile(r"\[REDACTED:([a-z0-9-]{1,40}):\d{1,9}\]")


def _content(
    state: ResumeState, workspace: Workspace, limits: Limits, factor: float
) -> tuple[Similarity | None, list[str]]:
    """Similarity of the workflow's file then and now, None if one is not known; and reasons."""
    name = brief(workspace.content_path or state.workflow_file_path or "the workflow", 200)
    if workspace.content is None:
        if not (workspace.content_path or state.workflow_file_path):
            return None, ["the workflow has no file, so there is no content to compare"]
        return None, [f"{name} is not there, so its content cannot be compared"]
    if content_hash(workspace.content) == state.original_workflow_hash.casefold():
        return Similarity(1.0, 1.0), [f"{name} is unchanged"]
    if not state.original_workflow_content:
        if not workspace.content:
            return Similarity(1.0, 1.0), [f"{name} is empty, as it was"]
        if not state.original_workflow_hash:
            return None, ["the workflow's content was not kept, so it cannot be compared"]
        return Similarity(0.0, 0.0), [f"{name} changed, and what it held was not kept"]
    then, now = state.original_workflow_content, workspace.content
    if "[REDACTED:" in then:
        # Numbers of placeholders depend on what else stands in a document.
        now = Redactor().text(now)
        then, now = (_NUMBERED.sub(r"[REDACTED:\1]", text) for text in (then, now))
    found = measure(then, now, (limits.similar, limits.alike, limits.fits / factor))
    if then == now:
        secret = "" if workspace.content == now else " but for secrets, which are not kept"
        return found, [f"{name} is unchanged{secret}"]
    return found, [
        f"{name} changed in {number(found.changed)} of {plural(found.lines, 'line')}",
        _similarity_told(found),
    ]


def _similarity_told(found: Similarity) -> str:
    if found.exact:
        return f"the content is {found.value:.1%} the same"
    bounds = f"the content is between {found.low:.1%} and {found.high:.1%} the same"
    if found.estimated:
        return f"{bounds}; the lower figure is taken, because closer would take too long"
    return bounds


# -- tools -----------------------------------------------------------------------------------


def _missing_tools(state: ResumeState, workspace: Workspace) -> tuple[str, ...]:
    """Tools that were used and are not available now, each once, in order of first use."""
    if workspace.tools is None:
        return ()
    used = dict.fromkeys(tool.function_name for tool in state.completed_tools)
    return tuple(name for name in used if name not in workspace.tools)


def _tools_told(
    state: ResumeState, workspace: Workspace, missing: tuple[str, ...]
) -> list[str]:
    used = len({tool.function_name for tool in state.completed_tools})
    if not used:
        return []
    if workspace.tools is None:
        return ["which tools are available now is not known"]
    if missing:
        return [f"{len(missing)} of {plural(used, 'used tool')} not available"]
    return ["every used tool is available"]


# -- the world -------------------------------------------------------------------------------


def _world(state: ResumeState, workspace: Workspace, limits: Limits) -> Iterable[str]:
    """What is different around the workflow, in words."""
    if workspace.content is None and workspace.content_path:
        yield f"The workflow's file {brief(workspace.content_path, 200)} is missing"
    world = state.world
    if world is None:
        return
    if world.branch and workspace.branch is not None and workspace.branch != world.branch:
        now = brief(workspace.branch, 200) or "no branch"
        yield f"The work was on branch {brief(world.branch, 200)}; now it is {now}"
    yield from _commits(world.commit, workspace)
    if world.cwd and workspace.root and workspace.root != world.cwd:
        here = f"{brief(world.cwd, 200)}; what is in {brief(workspace.root, 200)}"
        yield f"The work was in {here} was compared"
    gone = [f.path for f in world.files if _gone(f.path, f.action, workspace)]
    left = [f for f in world.files if f.action != "deleted" and f.path in workspace.files]
    if len(gone) > 1 and len(gone) == len(left):
        yield f"None of the {plural(len(gone), 'file')} that the session left is there"
    elif gone:
        yield f"Files of the session that are missing: {_listed(gone)}"
    changed = [
        f.path
        for f in world.files
        if f.path not in gone and (seen := workspace.files.get(f.path)) and seen.changed
    ]
    if changed:
        yield f"Files of the session that changed since: {_listed(changed)}"
    held, window = world.occupancy, workspace.window
    if held is not None and window is not None and held > window * limits.room:
        model = f" of {brief(workspace.model, 80)}" if workspace.model else ""
        yield (
            f"The session held {number(held)} tokens; the window{model} takes {number(window)}"
        )


def _gone(path: str, action: str, workspace: Workspace) -> bool:
    now = workspace.files.get(path)
    return now is not None and not now.exists and action != "deleted"


def _commits(recorded: str, workspace: Workspace) -> Iterable[str]:
    if not recorded or workspace.commit is None or workspace.commit.startswith(recorded):
        return
    ahead, behind = workspace.ahead, workspace.behind
    if ahead is None or behind is None:
        yield f"The recorded commit {brief(recorded[:12])} is not in this repository"
        return
    parts = []
    if ahead:
        parts.append(f"{plural(ahead, 'commit')} newer")
    if behind:
        parts.append(f"{plural(behind, 'commit')} missing")
    if parts:
        yield f"The repository is not at the recorded commit: {', '.join(parts)}"


def _listed(paths: list[str]) -> str:
    named = ", ".join(brief(path, 120) for path in paths[:NAMED])
    rest = len(paths) - NAMED
    return f"{named} and {number(rest)} more" if rest > 0 else named


def later(than: str, seconds: float) -> bool | None:
    """Whether a file's time of change is later than a recorded time; None if that is none."""
    found = moment(than)
    # Recorders write times to the second or finer; a second is no change.
    return None if found is None else seconds > found.timestamp() + 1
