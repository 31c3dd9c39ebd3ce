"""Compatibility of a saved resume state with the workspace: score, verdict, reasons.

A pure function: the current workspace is an argument. The score is the original design's: the
similarity of the workflow's content, times 0.7 if a tool that was used is not available any
more. Differences of the environment (branch, commits, files, model) only add warnings. The
verdict:

    score below 0.6                                      refuse
    similarity below 0.8, a used tool missing, or a
    warning about the environment                        adapt
    else                                                 same

`force` turns refuse into adapt and changes nothing else."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct, field

from leftoff import lazy_re as re
from leftoff.handover.resume_state.document import ResumeState
from leftoff.handover.resume_state.running_workflow import content_hash
from leftoff.handover.resume_state.templates import (
    ADDED_TEXTS,
    COMPATIBILITY_TEXTS,
    STRATEGY_TEXTS,
)
from leftoff.handover.similarity import Similarity, text_similarity
from leftoff.handover.wording import brief, number, plural
from leftoff.model import parse_time
from leftoff.redaction.redactor import Redactor

Verdict: TypeAlias = Literal["same", "adapt", "refuse"]

# Files that a warning names; the rest is counted. Chosen by hand.
MAX_NAMED_FILES = 5


class Limits(Struct, frozen=True):
    """Thresholds of the verdict. The first four are settings (`settings.Resume`), with the
    original design's values as defaults. `room` was chosen by hand: a warning is given if the
    old context fills more than this fraction of the model's window."""

    similarity_warning: float = 0.8
    similarity_reset: float = 0.5
    minimum_score: float = 0.6
    missing_tool_factor: float = 0.7
    room: float = 0.8


class FileStatus(Struct, frozen=True):
    """The current state of a recorded file. `changed`: whether it changed after the state was
    saved, by its hash, or by its modification time if the state has no hash; None if unknown.
    """

    exists: bool
    changed: bool | None = None


class Workspace(Struct, frozen=True):
    """The current workspace. None means that a value was not determined.

    Attributes:
        root: the project's directory; "" if not determined.
        content: the text of the workflow's file.
        content_path: the path it was read from; "" if the workflow has no file.
        tools: names of the available tools.
        branch: of the repository; "" if no branch is checked out.
        commit: the repository's head.
        ahead, behind: number of commits in the head but not in the recorded commit, and the
            reverse.
        files: the files that the session touched, by recorded path.
        window: context window, in tokens, of the model that will resume the work.
        model: the name of that model."""

    root: str = ""
    content: str | None = None
    content_path: str = ""
    tools: frozenset[str] | None = None
    branch: str | None = None
    commit: str | None = None
    ahead: int | None = None
    behind: int | None = None
    files: dict[str, FileStatus] = field(default_factory=dict)
    window: int | None = None
    model: str = ""


class Compatibility(Struct, frozen=True):
    """The result of `assess`. The first six attributes are the original design's.

    Attributes:
        can_resume: whether the score is high enough or resuming was forced.
        requires_adaptation: whether the verdict is `adapt` or a reset is advised.
        compatibility_score: 0 to 1, four digits.
        warnings: the differences, in sentences.
        adaptations: what to do about them.
        migration_strategies: alternatives if resuming is refused.
        verdict: same | adapt | refuse.
        similarity: of the workflow's content; None if there was nothing to compare.
        reasons: how the verdict was reached, in sentences.
        missing_tools: tools that were used and are not available."""

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
        """Whether the exact similarity might give another verdict."""
        return self.similarity is not None and self.similarity.estimated


def without_state(workflow: str) -> Compatibility:
    """The result for a workflow without a saved state."""
    return Compatibility(
        reasons=(f"nothing is saved of {brief(workflow)}",),
        migration_strategies={"reset_workflow": STRATEGY_TEXTS["reset_workflow"]},
    )


def assess(
    state: ResumeState,
    workspace: Workspace,
    *,
    limits: Limits | None = None,
    force: bool = False,
) -> Compatibility:
    """Whether `state` can be resumed in `workspace`.

    If secrets were redacted from the state's content when it was saved, the current content is
    redacted before the two are compared.

    Args:
        force: resume even if the score is too low."""
    limits = limits or Limits()
    missing, tools_reasons = _compare_tools(state, workspace)
    factor = limits.missing_tool_factor if missing else 1.0
    similarity, reasons = _compare_content(state, workspace, limits, factor)
    alike = 1.0 if similarity is None else similarity.value
    # Floating point: 0.7 x 6/7 must not be below 0.6.
    score = round(alike * factor, 12)
    least = limits.minimum_score
    fits = score >= least
    shown = round(score, 4)
    changed, reset = alike < limits.similarity_warning, alike < limits.similarity_reset
    world = tuple(_environment_warnings(state, workspace, limits))
    texts, advice = COMPATIBILITY_TEXTS, ADDED_TEXTS["adaptations"]
    # Whether it holds, the warning, what to do about it.
    rows = (
        (changed, texts["changed"], advice["content"]),
        (reset, "", texts["reset"]),
        (bool(missing), texts["tools"].format(tools=", ".join(missing)), advice["tools"]),
        (bool(world), "", advice["world"]),
    )
    if fits:
        why = f"at least {least:g}"
    else:
        why = f"below {least:g}" + ("; resumed because it was forced" if force else "")
    verdict: Verdict = "same"
    if not fits and not force:
        verdict = "refuse"
    elif not fits or changed or missing or world:
        verdict = "adapt"
    return Compatibility(
        can_resume=verdict != "refuse",
        requires_adaptation=verdict == "adapt" or reset,
        # Rounding must not move it across the minimum.
        compatibility_score=shown if (shown >= least) == fits else score,
        warnings=(*(text for holds, text, _ in rows if holds and text), *world),
        adaptations=tuple(text for holds, _, text in rows if holds),
        migration_strategies={} if fits else dict(STRATEGY_TEXTS),
        verdict=verdict,
        similarity=similarity,
        reasons=(*reasons, *tools_reasons, f"score {score:.2f}, {why}"),
        missing_tools=missing,
    )


# -- the workflow's content -------------------------------------------------------------------

# Numbers go by first appearance: a secret has another one where a line before it changed.
_NUMBERED_PLACEHOLDER = re.compile(r"\[REDACTED:([a-z0-9-]{1,40}):\d{1,9}\]")


def _compare_content(
    state: ResumeState, workspace: Workspace, limits: Limits, factor: float
) -> tuple[Similarity | None, list[str]]:
    """Similarity of the saved and the current content, None if one is unknown; and reasons."""
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
            return None, ["the workflow's content was not saved, so it cannot be compared"]
        return Similarity(0.0, 0.0), [f"{name} changed, and what it held was not saved"]
    then, now = state.original_workflow_content, workspace.content
    if "[REDACTED:" in then:
        # The numbers of placeholders depend on the other secrets in the same document.
        now = Redactor().text(now)
        then, now = (_NUMBERED_PLACEHOLDER.sub(r"[REDACTED:\1]", text) for text in (then, now))
    found = text_similarity(
        then,
        now,
        (limits.similarity_warning, limits.similarity_reset, limits.minimum_score / factor),
    )
    if then == now:
        secret = "" if workspace.content == now else " but for secrets, which are not saved"
        return found, [f"{name} is unchanged{secret}"]
    if found.exact:
        alike = f"the content is {found.value:.1%} the same"
    else:
        alike = f"the content is between {found.low:.1%} and {found.high:.1%} the same"
    if found.estimated:
        alike += "; the lower figure is taken, because closer would take too long"
    changed = f"{name} changed in {number(found.changed)} of {plural(found.lines, 'line')}"
    return found, [changed, alike]


def _compare_tools(
    state: ResumeState, workspace: Workspace
) -> tuple[tuple[str, ...], list[str]]:
    """Tools that were used and are not available now, in order of first use; and reasons."""
    used = dict.fromkeys(tool.function_name for tool in state.completed_tools)
    if not used:
        return (), []
    if workspace.tools is None:
        return (), ["which tools are available now is not known"]
    missing = tuple(name for name in used if name not in workspace.tools)
    if missing:
        return missing, [f"{len(missing)} of {plural(len(used), 'used tool')} not available"]
    return (), ["every used tool is available"]


# -- the world -------------------------------------------------------------------------------


def _environment_warnings(
    state: ResumeState, workspace: Workspace, limits: Limits
) -> Iterable[str]:
    if workspace.content is None and workspace.content_path:
        yield f"The workflow's file {brief(workspace.content_path, 200)} is missing"
    world = state.world
    if world is None:
        return
    if world.branch and workspace.branch is not None and workspace.branch != world.branch:
        now = brief(workspace.branch, 200) or "no branch"
        yield f"The work was on branch {brief(world.branch, 200)}; now it is {now}"
    yield from _commit_warnings(world.commit, workspace)
    if world.cwd and workspace.root and workspace.root != world.cwd:
        places = f"{brief(world.cwd, 200)}; what is in {brief(workspace.root, 200)}"
        yield f"The work was in {places} was compared"
    known = [(f, workspace.files[f.path]) for f in world.files if f.path in workspace.files]
    left = [f.path for f, _ in known if f.action != "deleted"]
    missing = [f.path for f, now in known if f.action != "deleted" and not now.exists]
    if len(missing) > 1 and len(missing) == len(left):
        yield f"None of the {plural(len(missing), 'file')} that the session left is there"
    elif missing:
        yield f"Files of the session that are missing: {_join_paths(missing)}"
    changed = [f.path for f, now in known if f.path not in missing and now.changed]
    if changed:
        yield f"Files of the session that changed since: {_join_paths(changed)}"
    occupancy, window = world.occupancy, workspace.window
    if occupancy is not None and window is not None and occupancy > window * limits.room:
        model = f" of {brief(workspace.model, 80)}" if workspace.model else ""
        yield (
            f"The session held {number(occupancy)} tokens; "
            f"the window{model} takes {number(window)}"
        )


def _commit_warnings(recorded: str, workspace: Workspace) -> Iterable[str]:
    if not recorded or workspace.commit is None or workspace.commit.startswith(recorded):
        return
    ahead, behind = workspace.ahead, workspace.behind
    if ahead is None or behind is None:
        yield f"The recorded commit {brief(recorded[:12])} is not in this repository"
        return
    counts = (ahead, "newer"), (behind, "missing")
    parts = [f"{plural(count, 'commit')} {word}" for count, word in counts if count]
    if parts:
        yield f"The repository is not at the recorded commit: {', '.join(parts)}"


def _join_paths(paths: list[str]) -> str:
    named = ", ".join(brief(path, 120) for path in paths[:MAX_NAMED_FILES])
    rest = len(paths) - MAX_NAMED_FILES
    return f"{named} and {number(rest)} more" if rest > 0 else named


def modified_after(than: str, seconds: float) -> bool | None:
    """Whether a file's modification time is later than a recorded time; None if the latter is
    not a time."""
    found = parse_time(than)
    # Recorders write times to the second or finer; a second is no change.
    return None if found is None else seconds > found.timestamp() + 1
