"""Tracks files over a session: what each call did to which file, in order."""

import fnmatch
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.analysis.files.net_changes import UNDO, FileEvent, UnknownChange, display_names
from leftoff.analysis.files.powershell import apply_powershell
from leftoff.extraction.evidence import (
    Applied,
    Asked,
    Called,
    Edited,
    Ran,
    Returned,
    Shown,
    Stood,
    Touched,
)
from leftoff.extraction.files import text_after
from leftoff.model import Ref
from leftoff.session_view import Call, SessionView
from leftoff.shell import Outcome, analyze, command_facts, observe, resolve
from leftoff.shell.embedded.python import plain_python
from leftoff.shell.filesystem import FileEffect, FileState
from leftoff.shell.listings import Observation
from leftoff.shell.operations import looks_like_directory
from leftoff.shell.paths import absolute, home_of, parent_of
from leftoff.shell.per_command import read_all
from leftoff.shell.powershell import named_writes, only_looks
from leftoff.shell.programs.git import summary_lines
from leftoff.summary import ACTIONS

# They are written and read like files, and are none.
_PSEUDO_FILES = ("/dev/", "/proc/", "/sys/")
_STATUS = {"ok": "ok", "error": "failed", "timeout": "failed"}
_POWERSHELL = re.compile(
    r"\b(?:(?:Remove|Move|Copy|New)-Item|del|erase|(?:Get|Set|Add)-Content|Out-File|Tee-Object)\b",
    re.IGNORECASE,
)
# What an agent's own editor says in a notebook cell's output where it changed nothing.
_REFUSED = "introduced new syntax error"


def _place(act: Touched | Ran | Applied) -> Call:
    return (act.ref.message, 0) if isinstance(act, Applied) else act.call


class _CallSite(Struct, frozen=True):
    """The call behind an event: its reference, tool, directory, and whether it was rewound."""

    ref: Ref
    tool: str
    cwd: str
    abandoned: bool


# Commands that bring in commits and list the files of these.
_BRING_IN = frozenset({("git", "merge"), ("git", "pull"), ("git", "rebase")})
_BROUGHT = frozenset({"created", "modified"})
_WRITES = frozenset(ACTIONS) - {"read"}
# Listings of what is on the disk; `git ls-files` names removed files, too.
_LISTS_DISK = frozenset({"ls", "find", "fd"})

# A command line that prints all that differs from the last commit, and nothing else.
_WHOLE_STATUS = re.compile(
    r"\s*(?:cd [^\s;&|]+ && )?git (?:-C \S+ )?status"
    r"(?: (?:-s|-b|-sb|--short|--branch|--porcelain))*"
    r"\s*(?:2>&1|2>/dev/null)?\s*"
)

# What git is asked for that commits nothing and changes no file.
_INDEX_ONLY = frozenset(
    "status diff log show add branch remote fetch rev-parse ls-files".split()
)

# Calls of a tool without any result that show that its results are not recorded. Chosen by
# hand; not measured: a call that is open or was interrupted stands alone or beside one other.
SEVERAL = 3


class Tracker:
    """Replays the calls of a session over a model of its files. Calls that failed, were denied
    or have no result did nothing.

    Attributes:
        events: what the calls so far did to files.
        unseen: programs so far that may have changed files which are not known.
        known: what is known of files at this point.
        has_results: the recorder writes results of calls.
        silent: tools whose results it leaves out all the same.
        home, root: the person's and the session's directory; `drive`: one of the files, where
            the latter is not known.
        changed: files changed so far; `committed`: those of them committed since.
        loose: of each path the numbers of the events that changed it since the last commit.
        stashed: of each path the events that a stash took, with their numbers.
        touched: paths of all events so far.
        scripts: calls that ran a script of several commands and tool calls.
        edits: how many edits of file tools a file has that were not taken back.
        swaps: of each file what its edits since the last commit put in place of what.
        ahead: other judges will ask about the same commands.
        silent_commands: the recorder writes no result of a command that prints nothing.
        untracked: files may have been removed from the index alone.
        differing: files of the last commit that git last listed as changed.
        turns: messages in which the person spoke, or a commit was shown."""

    def __init__(
        self, view: SessionView, *, ahead: bool = False, silent: bool = False, home: str = ""
    ) -> None:
        self.view = view
        self.home = home
        self.ahead = ahead
        self.silent_commands = silent
        self.known = FileState()
        self.events: list[FileEvent] = []
        self.unseen: list[UnknownChange] = []
        # That a call still runs is no result.
        self.has_results = any(o.status != "running" for o in view.outcomes.values())
        self.silent = self._silent_tools() if self.has_results else frozenset()
        self.root = absolute(view.state.header.cwd, "")
        paths = () if self.root else (t.path for t in view.each(Touched, rewound=True))
        self.drive = next((path[:3] for path in paths if path[1:2] == ":"), "")
        self.changed: set[str] = set()
        self.committed: set[str] = set()
        self.loose: dict[str, list[int]] = {}
        self.stashed: dict[str, list[tuple[int, FileEvent]]] = {}
        self.touched: set[str] = set()
        self.scripts: set[Call] = set()
        self.edits: Counter[str] = Counter()
        self.swaps: dict[str, list[tuple[int, ...]]] = {}
        self.texts = {(e.call, e.path): e.texts for e in view.each(Edited) if e.texts}
        self.untracked = False
        self.differing: set[str] = set()
        moved_on: list[Asked | Shown] = [*view.all(Asked), *view.shown({"git_commit"})]
        self.turns = sorted(one.ref.message for one in moved_on)

    def all(self) -> list[FileEvent]:
        """The events of the whole session."""
        view = self.view
        applied: dict[Call, list[Applied]] = {}
        for one in view.all(Applied):
            applied.setdefault(one.call, []).append(one)
        # What the recorder states of a call replaces what the call asked for.
        alone = dict(applied)
        for asked in self._file_calls() if alone else ():
            alone.pop(asked.call, None)
        stated = sorted(chain.from_iterable(alone.values()), key=_place)
        tools: dict[Call, str] = {}
        for made in view.each(Called, rewound=True):
            if made.kind == "script":
                self.scripts.add(made.call)
            if made.call in alone:
                tools[made.call] = made.name
        replaced: set[Call] = set()
        looks = list(reversed(view.all(Stood)))
        for act in self._file_calls(stated):
            # The recorder checks files while a call runs, before the call writes anything.
            came = view.outcomes.get(_place(act))
            until = came.message if came is not None else view.message_of(act) + 1
            while looks and looks[-1].ref.message < until:
                self.record_presence(looks.pop())
            if isinstance(act, Applied):
                self.apply_recorded(act, tools.get(act.call, ""))
                continue
            call = act.call
            changes = applied.get(call) if call[0] >= 0 else None
            if isinstance(act, Ran):
                self.apply_command(act, view.outcomes.get(call), changes or ())
            if changes is not None:
                if call not in replaced:
                    replaced.add(call)
                    for one in changes:
                        self.apply_recorded(one, act.tool)
                continue
            if isinstance(act, Touched):
                self.apply_file_call(act, view.outcomes.get(call))
        while looks:
            self.record_presence(looks.pop())
        # Viewers list folders, too; that a path is one may show only later.
        kind = self.known.kind
        self.events = [
            e for e in self.events if e.action != "read" or kind(e.path) != "directory"
        ]
        return self.events

    def _file_calls(self, stated: Iterable[Applied] = ()) -> Iterator[Touched | Ran | Applied]:
        """The calls of file tools and the commands, with what is stated of others, in order."""
        touched: Iterator[Touched | Ran | Applied] = self.view.each(Touched, rewound=True)
        return merge(touched, self.view.each(Ran, rewound=True), stated, key=_place)

    def _silent_tools(self) -> frozenset[str]:
        """The file tools of which several calls were made and none came back, or all of them if
        that holds for all together.

        Some recorders write the results of other tools only, and of these the failures:
        SpecStory does so of Cursor's edits."""
        asked: Counter[str] = Counter()
        answered: set[str] = set()
        for act in self.view.each(Touched, rewound=True):
            outcome = self.view.outcomes.get(act.call)
            asked[act.tool] += 1
            if outcome is not None and outcome.status in {"ok", "unknown"}:
                answered.add(act.tool)
        none_answers = not answered and asked.total() >= SEVERAL
        return frozenset(
            tool
            for tool, n in asked.items()
            if none_answers or n >= SEVERAL and tool not in answered
        )

    # -- one call ----------------------------------------------------------------------------

    def call_site(self, ref: Ref, tool: str, cwd: str = "") -> _CallSite:
        """The site of the call at a reference."""
        abandoned = ref.message in self.view.abandoned
        return _CallSite(self.view.ref(ref), tool, cwd, abandoned)

    def add_event(
        self,
        call: _CallSite,
        path: str,
        action: str,
        certainty: str,
        *,
        source: str = "",
        tool: str = "",
        lines: int = -1,
    ) -> None:
        """Adds an event. What a rewound conversation did is likely at most, since the client
        may have restored the files as well."""
        if path.startswith(_PSEUDO_FILES):
            return
        self.touched.add(path)
        if action in _WRITES:
            self.loose.setdefault(path, []).append(len(self.events))
        self.events.append(
            FileEvent(
                path,
                action,
                "likely" if call.abandoned and certainty == "sure" else certainty,
                tool or call.tool,
                call.ref,
                source,
                "abandoned" if call.abandoned else "",
                bool(self.unseen),
                lines,
            )
        )

    def record_presence(self, look: Stood) -> None:
        """The recorder checked whether files exist. A file that no call removed may have been
        removed by a change of branches or by the person."""
        call = self.call_site(look.ref, "")
        for given, there in look.files:
            path = self.resolve_path(absolute(given, self.root))
            (self.known.put if there else self.known.remove)(path)
            if path in self.changed:
                self.add_event(call, path, "found" if there else "missed", "sure")

    def record_listing(self, act: Ran, cwd: str, seen: Iterable[Observation]) -> None:
        """A command that only looks listed files: those removed before are there again, and
        those that git misses are removed, by something that is not recorded, such as a command
        of the person's."""
        listed: dict[str, set[str]] = {"file": set(), "absent": set()}
        for one in seen:
            if one.fact in listed and (one.source in _LISTS_DISK or one.fact == "absent"):
                listed[one.fact].add(self.resolve_path(absolute(one.path, cwd)))
        call = self.call_site(act.ref, act.tool, cwd)
        shown = sorted(listed["file"] & self.changed)
        for path in [p for p in shown if self.known.kind(p) == "absent"]:
            self.known.put(path)
            self.add_event(call, path, "back", "likely")
        for path in [] if self.untracked else sorted(listed["absent"] & self.changed):
            if self.known.kind(path) == "file":
                self.record_change(path, "deleted")
                self.add_event(call, path, "deleted", "likely", tool="git")

    def record_status(self, cwd: str, seen: Iterable[Observation]) -> None:
        """Git listed all that differs from the last commit. Files that it listed before and no
        longer lists are again as they were, where no more than still differ do so: else it is
        likely that the person committed them."""
        listed = {self.resolve_path(absolute(one.path, cwd)): one.differs for one in seen}
        back = (self.differing & self.changed).difference(listed)
        if len(back) <= len(self.differing.intersection(listed)):
            for path in back:
                self.discard(path)
        self.differing = {path for path, differs in listed.items() if differs}

    def resolve_path(self, path: str) -> str:
        """A relative path as absolute, where the session's directory is known."""
        if path[:2] == "~/" and self.home:
            return self.home + path[1:]
        if path and path[0] not in "/~" and path[1:2] != ":" and self.root:
            return absolute(path, self.root)
        # Git Bash and WSL spell drives as folders of the root.
        return absolute(path, self.drive) if self.drive and path[:1] == "/" else path

    def apply_file_call(self, act: Touched, outcome: Returned | None) -> None:
        """Applies a call of a file tool."""
        lost = outcome is None and self.has_results and act.tool not in self.silent
        if outcome is not None and outcome.status not in {"ok", "unknown"}:
            return
        path = self.resolve_path(act.path) or self._only(
            act.text if act.verb == "delete" else ""
        )
        call = self.call_site(act.ref, act.tool)
        if not path:
            did = "deleted" if act.verb == "delete" else "modified"
            self.unseen.append(UnknownChange(act.tool, did, call.ref))
            return
        if lost:  # whether it was carried out is not recorded
            if act.verb in {"edit", "write", "create"}:
                action = "modified" if act.verb == "edit" else "created"
                self.add_event(call, path, action, "unknown")
            return
        known, verb = self.known, act.verb
        self.edits[path] += -1 if verb == "undo" else verb != "read"
        sure = "sure" if outcome is not None else "likely"
        before = known.kind(path)
        if verb == "read":
            if before != "directory":
                if before != "unknown" or not looks_like_directory(path):
                    known.put(path)
                self.add_event(call, path, "read", sure)
            return
        if verb == "delete":
            self.record_change(path, "deleted")
            self.add_event(call, path, "deleted", sure)
            return
        if verb == "move":
            target = self.resolve_path(act.target)
            self.record_move(call, path, target, sure)
            return
        action, certainty = "modified", sure
        created = outcome.created if outcome is not None else None
        # OpenHands says of files that its tool did not write before that they were not there.
        if verb == "create" or created and before != "file":
            action = "created"
        elif verb == "write" and created is None:
            if before == "unknown":
                # Never read or listed before: most writes of a whole file create it.
                action, certainty = "created", "likely"
            else:
                action = "modified" if before == "file" else "created"
        self.record_change(path, action)
        texts = self.known.contents
        if (text := text_after(texts.get(path), act, path)) is not None:
            texts[path] = text
        else:
            texts.pop(path, None)
        if verb == "undo" and not self.edits[path] and self.discard(path):
            return
        self.add_event(call, path, action, certainty, tool=UNDO if verb == "undo" else "")
        if self._is_back(path, self.texts.get((act.call, act.path), ())):
            self.discard(path)

    def _is_back(self, path: str, texts: tuple[int, ...]) -> bool:
        """Whether an edit takes back the only ones that a file had since the last commit."""
        swaps = self.swaps.setdefault(path, [])
        swaps.append(texts)
        pairs = zip(swaps, reversed(swaps), strict=True)
        back = all(len(a) == 2 and a == b[::-1] for a, b in pairs)
        return back and len(swaps) == len(self.loose.get(path, ()))

    def _only(self, name: str) -> str:
        """The one file of the session so far with a name; "" for none or several."""
        found = [p for p in self.touched if name and f"/{p}".endswith(f"/{name}")]
        return found[0] if len(found) == 1 and self.known.kind(found[0]) != "absent" else ""

    def record_move(self, call: _CallSite, path: str, target: str, certainty: str) -> None:
        """A file was renamed."""
        if not target:
            return
        self.known.contents.pop(path, None)
        self.record_change(path, "deleted")
        self.record_change(target, "created")
        self.add_event(call, path, "deleted", certainty)
        self.add_event(call, target, "created", certainty, source=path)

    def record_change(self, path: str, action: str) -> None:
        """A file was created, modified or deleted outside of a shell."""
        (self.known.remove if action == "deleted" else self.known.put)(path)
        self.known.changed.setdefault(path, action)  # type: ignore[arg-type]
        self.changed.add(path)

    def apply_recorded(self, act: Applied, tool: str) -> None:
        """Applies the changes that the recorder itself states."""
        if not act.succeeded:
            return
        call = self.call_site(act.ref, tool)
        for given, action, former in act.files:
            path, former = (self.resolve_path(absolute(p, "")) for p in (given, former))
            self.known.contents.pop(path, None)
            if former and former != path:
                self.record_move(call, former, path, "sure")
                continue
            if action == "created" and self.known.kind(path) == "file":
                action = "modified"  # "Add File" in a patch replaces what is there
            self.record_change(path, action)
            self.add_event(call, path, action, "sure", lines=dict(act.deleted).get(given, -1))

    # -- commands ----------------------------------------------------------------------------

    def apply_command(
        self, act: Ran, outcome: Returned | None, changes: Iterable[Applied]
    ) -> None:
        """Applies a command line, by its syntax and its result."""
        command = act.command
        status = outcome.status if outcome is not None else "unknown"
        denied = status == "denied" or (
            outcome is None and self.has_results and not self._went_on(act)
        )
        if act.language == "python":
            if outcome is not None and _REFUSED in outcome.output:
                return
            from shlex import quote  # few sessions have a notebook

            command = f"python3 -c {quote(plain_python(command))}"
        elif act.language != "bash":
            if not denied:
                apply_powershell(self, act, outcome)
                if not only_looks(named_writes(command)[1]):
                    place = self.view.ref(act.ref)
                    self.unseen.append(UnknownChange(act.language, "unknown", place))
            return
        exit_code = outcome.exit_code if outcome is not None else None
        if status == "ok" and act.call in self.scripts:
            # The script finished; its commands may have failed.
            status, exit_code = "unknown", None
        result = Outcome(
            status=_STATUS.get(status, "unknown"),  # type: ignore[arg-type]
            exit_code=exit_code,
            output=outcome.output or None if outcome is not None else None,
            interrupted=status in {"interrupted", "timeout"},
            denied=denied,
            background=act.background or status == "running",
        )
        cwd = act.cwd or self.root
        script = analyze(command, cwd=cwd or None, home=home_of(cwd) or self.home or None)
        if self.ahead:
            read_all(act.command)
        seen = None
        if script.quiet and result.output and result.succeeded() is not False and not denied:
            seen = observe(script, outcome=result)
            self.record_listing(act, cwd, seen)
            if _WHOLE_STATUS.fullmatch(command) and "truncated" not in result.output:
                self.record_status(cwd, seen)
        if any(name == "git" and did not in _INDEX_ONLY for name, did in script.programs):
            self.differing.clear()
        effects = resolve(script, outcome=result, known=self.known, seen=seen)
        if "--cached" in command and ("git", "rm") in script.programs:
            self.untracked = True
        if _POWERSHELL.search(command) and not denied:
            apply_powershell(self, act, outcome)
        if effects:
            named = {self.resolve_path(path) for one in changes for path, _, _ in one.files}
            call = self.call_site(act.ref, act.tool, cwd)
            brings_in = not _BRING_IN.isdisjoint(command_facts(script))
            unseen: dict[tuple[str, str], None] = {}
            # Effects on a whole directory precede those on files created in it afterwards.
            for effect in sorted(effects, key=lambda e: not (e.path or "").endswith("/")):
                if brings_in and effect.tool == "git" and effect.action in _BROUGHT:
                    continue  # work of others, or what was committed before
                if effect.path and not effect.pattern and effect.action in ACTIONS:
                    self.apply_effect(call, effect, named)
                elif effect.action != "read":
                    did = effect.action
                    if effect.pattern and not fnmatch.filter(self.touched, effect.path or "*"):
                        did = "unknown"  # none of the files that are known
                    unseen.setdefault((effect.tool, did))
            shown = display_names(command, [tool for tool, _ in unseen])
            self.unseen += [
                UnknownChange(shown[tool], action, call.ref) for tool, action in unseen
            ]
        commits = ("git", "commit") in script.programs
        if commits and not denied and result.succeeded() is not False:
            self.committed |= self.changed
            for path in self.changed:
                self.loose.pop(path, None)
                self.swaps.pop(path, None)
            # With these words the summary may be that of an earlier commit.
            if "--amend" not in command and "--summary" not in command:
                self.record_commit(self.call_site(act.ref, act.tool, cwd), result.output or "")

    def _went_on(self, act: Ran) -> bool:
        """Whether the agent did, after a command that printed nothing."""
        after = act.ref.message + 1
        at = bisect_left(self.turns, after)
        said = at < len(self.turns) and self.turns[at] == after
        return self.silent_commands and after < len(self.view.thread) and not said

    def record_commit(self, call: _CallSite, output: str) -> None:
        """A commit names the files that it made and removed: what a program made before the
        session wrote it is new, and what was read or written is removed."""
        for what, name, former in summary_lines(output.splitlines()):
            if what == "created" and (path := self._of_repository(name, call.cwd)):
                if path in self.changed:
                    self.add_event(call, path, "new", "sure")
            elif what in {"deleted", "renamed"} and not self.untracked:
                path = self._of_repository(former or name, call.cwd)
                if path and self.known.kind(path) == "file":
                    self.record_change(path, "deleted")
                    self.add_event(call, path, "deleted", "sure", tool="git")

    def _of_repository(self, name: str, cwd: str) -> str:
        """The path of an event that a name stands for which git prints: from the root of a
        repository that holds a folder; "" for none."""
        folder = self.resolve_path(absolute(cwd or self.root, self.root))
        while folder and f"{folder.rstrip('/')}/{name}" not in self.touched:
            above = parent_of(folder)
            folder = above if above != folder and above != "." else ""
        return f"{folder.rstrip('/')}/{name}" if folder else ""

    def apply_effect(self, call: _CallSite, effect: FileEffect, named: set[str]) -> None:
        """Applies one effect of a command; `named`: files whose changes the recorder states."""
        if effect.action == "read" and not effect.named:
            return  # found by recursion or a pattern, or run: the agent did not look at it
        path, source = (
            self._absolute(p or "", call) for p in (effect.path, effect.renamed_from)
        )
        if path in named:
            return
        certainty = effect.certainty
        if effect.action == "deleted" and effect.tool != "git" and self._may_be_own(path):
            certainty = "unknown"
        if effect.action != "read":
            if effect.restored and certainty != "unknown":
                if self.discard(path, stash=effect.stash == "push"):
                    return
            if effect.stash == "pop" and certainty != "unknown":
                for at, event in self.stashed.pop(path, ()):
                    self.events[at] = event
                    self.loose.setdefault(path, []).append(at)
                return
            if effect.restored and path not in self.changed:
                return  # what it takes back is no change that is known
            if certainty != "unknown":
                self.changed.add(path)
        self.add_event(call, path, effect.action, certainty, source=source, tool=effect.tool)

    def discard(self, path: str, *, stash: bool = False) -> bool:
        """A file is again as in the last commit: what was done to it since is discarded, or may
        come back from a stash. False for one that is not known to be in a commit."""
        if path not in self.committed:
            if path not in self.changed or self.known.changed.get(path) == "created":
                return False
        taken = self.loose.pop(path, ())
        if stash:
            self.stashed[path] = [(at, self.events[at]) for at in taken]
        self.swaps.pop(path, None)
        for at in taken:
            self.events[at] = replace(self.events[at], action="discarded")
        return True

    def _absolute(self, path: str, call: _CallSite) -> str:
        """A path of an effect; "/" at its end stays."""
        plain = path[:1] == "/" and path[:9] != "/private/"
        if not path or plain and (call.cwd or self.drive)[1:2] != ":":
            return path
        return self.resolve_path(absolute(path, call.cwd)) + "/" * path.endswith("/")

    def _may_be_own(self, path: str) -> bool:
        """Whether a removed path may be what a program of this session made: such programs ran,
        and no call named the path, or one below it, before."""
        if "/__pycache__" in path:
            return True  # any run of Python makes them
        if not self.unseen or path in self.touched:
            return False
        return path[-1:] != "/" or not any(one.startswith(path) for one in self.touched)
