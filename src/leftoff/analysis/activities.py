"""The activity of each tool call, by its kind, its command, its paths.

Activities: ask, build, commit, delegate, deploy, edit, edit_doc, edit_scratch, edit_test,
fetch, inspect_change, install, issue, lint, look, other, plan, pull_request, push,
read_pull_request, run, run_scratch, search, skill, sync, test, tidy, wait.

An activity is finer than a stage and never depends on other calls: `stages` derives stages from
activities, `progress` looks for edits, test runs and deliveries."""

from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache

from leftoff import lazy_re as re
from leftoff.extraction.evidence import Called, Touched
from leftoff.formats.vocabulary import EDITS
from leftoff.session_view import ByCall, Call, SessionView, call_of, number_of, once
from leftoff.shell.ast import Script
from leftoff.shell.paths import is_test
from leftoff.shell.per_command import per_command
from leftoff.tables import by_word, table

# Activities that change the work itself, scratch files left out.
EDITING = frozenset({"edit", "edit_doc", "edit_test"})

_TABLE = table(__file__, "activities.toml")
_RE = re.patterns(_TABLE["patterns"])
_TASKS = re.patterns(_TABLE["tasks"])
_KINDS, _GIT, _PROGRAMS = (by_word(_TABLE[name]) for name in ("kinds", "git", "programs"))

# Programs that stand beside the one that a command line is about.
IDLE = frozenset(_TABLE["programs"]["idle"].split())


@once
def activities(view: SessionView) -> Mapping[Call, tuple[str, ...]]:
    """The activities of every call on the active branch, by message and part."""
    ran = view.commands
    # A call's edits, not its paths: a long session has thousands of calls and few activities.
    known: dict[tuple[str, ...], tuple[str, ...]] = {(): ()}
    touched: dict[int, tuple[str, ...]] = {}
    for item in view.each(Touched):
        number = number_of(item.call)
        edited = touched.get(number, ())
        if item.verb != "read":
            edited = tuple(sorted({*edited, of_edit(item.path)}))
        touched[number] = known.setdefault(edited, edited)
    found: dict[int, tuple[str, ...]] = {}
    for call in view.each(Called):
        number = number_of(call.call)
        command = ran.get(call_of(number))
        if command is not None:
            did = of_command(command.command, command.language)
        elif touched.get(number):
            did = touched[number]
        elif call.kind in EDITS:  # it may only have shown the file
            did = ("look",) if number in touched else (of_edit(call.text),)
        else:
            other = "issue" if _RE["issue"].search(call.name) else "other"
            did = (_KINDS.get(call.kind) or other,)
        found[number] = known.setdefault(did, did)
    # Held for several judges; as a mapping by call it takes a fifth of the memory.
    if view.state.evidence.large:
        return ByCall([*found.values()], map(call_of, found))
    return {call_of(number): did for number, did in found.items()}


@once
def edits(view: SessionView) -> dict[Call, tuple[str, ...]]:
    """The activities of the calls that changed the work itself, by message and part. A call of
    an editor that only showed a file, or that failed, is none of them."""
    found = {at: did for at, did in activities(view).items() if EDITING & {*did}}
    touched = [(t.call, t.verb != "read") for t in view.each(Touched)]
    left_out = {at for at, _ in touched} - {at for at, changes in touched if changes}
    # A command that failed may have edited before it did.
    left_out |= {
        at
        for at in found
        if not view.succeeded(at) and at in view.outcomes and at not in view.commands
    }
    return {at: did for at, did in found.items() if at not in left_out}


def code_edits(view: SessionView) -> set[int]:
    """The messages of the calls that changed more of the work than documents."""
    found = {at[0] for at in edits(view)}
    changed: dict[int, bool] = {}
    for touched in view.each(Touched):
        at = touched.call[0]
        if at in found and touched.verb != "read":
            document = _RE["document"].search(touched.path) is not None
            changed[at] = changed.get(at, True) and document
    return {at for at in found if not changed.get(at)}


class Done:
    """What was done when: the places (message and part) of each activity, in order."""

    def __init__(self, view: SessionView) -> None:
        self.at: dict[str, list[Call]] = {}
        for place, found in sorted(activities(view).items()):
            for activity in found:
                self.at.setdefault(activity, []).append(place)

    def between(self, start: Call, end: Call) -> set[str]:
        """The activities from a place on, up to another one."""
        return {
            activity
            for activity, places in self.at.items()
            if bisect_left(places, start) < bisect_left(places, end)
        }


def of_edit(path: str) -> str:
    """The kind of edit, by the path: edit, edit_test, edit_doc, edit_scratch or plan."""
    if _RE["plan"].search(path):
        return "plan"
    if _RE["scratch"].search(path):
        return "edit_scratch"
    if _RE["doc"].search(path):
        return "edit_doc"
    return "edit_test" if is_test(path) else "edit"


@lru_cache(maxsize=1024)
def of_command(command: str, language: str = "bash") -> tuple[str, ...]:
    """The activities of a command line, sorted; ("look",) if none is recognised."""
    found: set[str] = set()
    if language == "python":
        found.add("edit" if _RE["cell_edits"].search(command) else "run")
    else:
        found |= {_of_program(name, sub, command) for name, sub in programs_in(command)} - {""}
    # Looking is what the rest of a pipeline does.
    if len(found) > 1:
        found -= {"look", "search"}
    return tuple(sorted(found)) or ("look",)


@per_command
def programs_in(command: str, script: Script) -> tuple[tuple[str, str], ...]:
    """The programs of a command line with their subcommands."""
    return script.programs


def _of_program(name: str, sub: str, command: str) -> str:
    name = name.removesuffix(".exe").removesuffix(".cmd")
    found = _PROGRAMS.get(name, "run")
    if found == "idle":
        return ""
    if found == "git":
        return _GIT.get(sub, "inspect_change")
    if found == "hub":
        return _of_hub(sub, command)
    if found == "task":
        return _of_task(name, sub, command)
    if found == "interpreter":
        if _RE["scratch"].search(sub):
            return "run_scratch"
        if _RE["runs_tests"].search(f"{name} {sub}"):
            return "test"
        return "run" if sub else "run_scratch"
    return "edit" if name == "sed" and _RE["sed_edits"].search(command) else found


def _of_hub(sub: str, command: str) -> str:
    match = _RE["pull_request"].search(command)
    if sub in {"pr", "mr"} and match:
        makes = match[1] in {"create", "merge", "ready", "edit", "close", "reopen"}
        return "pull_request" if makes else "read_pull_request"
    return {"release": "deploy", "issue": "issue"}.get(sub, "read_pull_request")


def _of_task(name: str, sub: str, command: str) -> str:
    """The activity of a task runner, by the words after its name."""
    start = command.find(name)
    words = re.split(r"[\s;&|]+", command[start : start + 160])[1:7]
    plain = [word for word in words if not word.startswith("-") and "/" not in word]
    named = (a for word in plain for a, p in _TASKS.items() if a != "run" and p.search(word))
    if activity := next(named, ""):
        return activity
    if sub in {"run", "exec"} or name in {"make", "just", "task", "mise"}:
        return "build" if name == "make" else "run"
    return next((activity for activity, p in _TASKS.items() if p.search(sub)), "run")
