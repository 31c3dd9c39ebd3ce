"""How far the work got: stages from what was done, milestones with their evidence."""

from __future__ import annotations

import re

from msgspec import Struct

from leftoff.extraction.evidence import Called, Said, Shown
from leftoff.extraction.paths import is_test
from leftoff.findings import STAGES, Milestone, ProgressInfo, StageChange
from leftoff.judgement.milestones import milestones
from leftoff.judgement.story import Story
from leftoff.model import Ref

LASTS = 3
"""A stage counts from so many agent turns on; a shorter run belongs to the one before."""

WEIGHTS = {
    "planning": 10,
    "architecture": 10,
    "implementation": 45,
    "testing": 20,
    "review": 5,
    "deployment": 10,
}
"""Share of the work that each stage stands for, in percent (see `percentage`)."""

_TESTING = re.compile(
    r"\b(?:pytest|unittest|jest|vitest|mocha|rspec|phpunit|ctest|tox|nox|go test|cargo (?:test|nextest)"
    r"|(?:npm|pnpm|yarn|bun|make|mise|just|task|gradle\w*|\./gradlew|mvn|dotnet|swift|mix|deno)"
    r"(?: run| --\S+)* \S*(?:test|check|spec|e2e)\S*)",
    re.IGNORECASE,
)
_DELIVERING = re.compile(
    r"\bgit (?:-\S+ \S+ )?(?:commit|push|tag|merge|rebase)\b|\bgh (?:pr|release) (?:create|merge|edit)"
    r"|\b(?:npm|cargo|twine|docker|helm|kubectl|terraform) (?:publish|upload|push|apply|deploy)\b"
)
_REVIEWING = re.compile(r"\bgit (?:-\S+ \S+ )?(?:diff|show|log|blame)\b|\bgh pr (?:view|diff|checks)\b")
class _Turn(Struct):
    message: int
    stage: str
    sure: bool


def progress(story: Story) -> ProgressInfo:
    """Stages, milestones and what they come to."""
    turns = _turn_stages(story)
    timeline = _timeline(story, turns)
    reached = milestones(story)
    current = timeline[-1].stage if timeline else ""
    completed = _completed(story, timeline, current)
    declared = [s for s in story.said("stage")]
    last_edit, last_test, passed = _edits_and_tests(story)
    return ProgressInfo(
        completed_stages=completed,
        current_stage=current,
        declared_stage=declared[-1].value if declared else "",
        progress_percentage=percentage(completed, current, reached, passed=passed),
        tests_older_than_last_edit=None if last_test < 0 else last_test < last_edit,
        milestones=reached,
        timeline=timeline,
    )


def percentage(
    completed: tuple[str, ...],
    current: str,
    reached_milestones: tuple[Milestone, ...],
    *,
    passed: bool,
) -> int:
    """Sum of the weights of the stages up to the furthest completed one, plus half the weight
    of the current stage.

    A verified commit, push, merge or deployment completes the stage it belongs to. 100 only if
    everything is completed and the last test run passed; else at most 95. Work that is
    reopened lowers the figure, because the current stage falls back.
    """
    reached = max((STAGES.index(s) for s in completed if s in WEIGHTS), default=-1)
    if current in WEIGHTS:
        reached = min(reached, STAGES.index(current) - 1) if current != "deployment" else reached
    total = float(sum(WEIGHTS[s] for s in STAGES[: reached + 1] if s in WEIGHTS))
    delivered = any(
        m.evidence == "verified" and m.kind in {"pushed", "merged", "deployed", "released"}
        for m in reached_milestones
    )
    if current in WEIGHTS and STAGES.index(current) > reached:
        skipped = [s for s in STAGES[reached + 1 : STAGES.index(current)] if s in WEIGHTS]
        total += sum(WEIGHTS[s] for s in skipped)
        total += WEIGHTS[current] * (1.0 if delivered and current == "deployment" else 0.5)
    if total >= 100 and passed:
        return 100
    return min(95, round(total))


def _turn_stages(story: Story) -> list[_Turn]:
    """What each agent turn was busy with; turns that only look or talk say nothing sure."""
    calls: dict[int, list[Called]] = {}
    for call in story.told(Called):
        turn = story.turns.get(call.message)
        if turn is not None:
            calls.setdefault(turn, []).append(call)
    first: dict[int, int] = {}
    for message, turn in story.turns.items():
        if message not in story.abandoned and message not in story.copies:
            first.setdefault(turn, message)
    turns: list[_Turn] = []
    stage, edited = "planning", False
    for turn, message in sorted(first.items(), key=lambda item: item[1]):
        found = [s for s in map(_stage_of, calls.get(turn, [])) if s]
        strongest = max(found, key=_strength) if found else ""
        edited = edited or strongest == "implementation"
        if strongest in {"", "look"}:
            turns.append(_Turn(message, stage if edited else "planning", False))
        else:
            stage = strongest
            turns.append(_Turn(message, stage, True))
    return turns


def _strength(stage: str) -> int:
    return ("look", "planning", "review", "testing", "implementation", "deployment").index(stage)


def _stage_of(call: Called) -> str:
    """The stage that one call speaks for, "look" or ""."""
    kind, text = call.kind, call.text
    if kind in {"edit", "create", "notebook", "delete", "move", "patch"}:
        return "testing" if is_test(text) else "implementation"
    if kind in {"shell", "powershell", "script"}:
        if _DELIVERING.search(text):
            return "deployment"
        if _TESTING.search(text):
            return "testing"
        if _REVIEWING.search(text):
            return "look"
        return "look"
    if kind in {"read", "search", "list", "fetch"}:
        return "look"
    return "planning" if kind in {"plan", "ask"} else ""


def _timeline(story: Story, turns: list[_Turn]) -> tuple[StageChange, ...]:
    """Change points; runs shorter than `LASTS` turns belong to the stage before them."""
    runs: list[list[_Turn]] = []
    for turn in turns:
        if runs and runs[-1][0].stage == turn.stage:
            runs[-1].append(turn)
        else:
            runs.append([turn])
    kept: list[list[_Turn]] = []
    for number, run in enumerate(runs):
        last = number == len(runs) - 1
        lasting = len(run) >= LASTS or (last and any(t.sure for t in run))
        if kept and (not lasting or kept[-1][0].stage == run[0].stage):
            kept[-1].extend(run)
        else:
            kept.append(list(run))
    return tuple(
        StageChange(run[0].stage, story.ref(Ref(message=run[0].message))) for run in kept
    )


def _completed(
    story: Story, timeline: tuple[StageChange, ...], current: str
) -> tuple[str, ...]:
    """Stages that were passed through or declared done, but for the one going on."""
    seen = {change.stage for change in timeline}
    for said in story.said("stage"):
        if said.rule == "stage-done":
            seen.add(said.value.casefold())
    if current in STAGES:
        place = STAGES.index(current)
        seen = {s for s in seen if s in STAGES and STAGES.index(s) < place}
    return tuple(s for s in STAGES if s in seen and s != "other")


def _edits_and_tests(story: Story) -> tuple[int, int, bool]:
    """Index of the last edit, of the last test run, and whether that run passed."""
    last_edit = -1
    for call in story.told(Called):
        if _stage_of(call) == "implementation" and story.worked(call.message, call.part):
            last_edit = max(last_edit, call.message)
    last_test, passed = -1, False
    for result in story.shown({"tests_pass"}):
        if result.ref.message >= last_test:
            last_test, passed = result.ref.message, result.good
    return last_edit, last_test, passed
