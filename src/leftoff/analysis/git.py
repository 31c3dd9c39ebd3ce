"""Commits, pushes, pull requests, merges and tags that a session made.

A line of output counts by the command that printed it: `git log` shows commits and makes none,
`git pull` prints the same arrows as a push. Where the output says nothing (quiet commands), an
exit status counts if nothing masks it. The agent's words count only if the command ran and did
not fail, and are marked `shown=False`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.analysis.activities import of_command
from leftoff.analysis.git_commands import GitStep, folder_outside, git_steps
from leftoff.extraction.evidence import Called, Ran, Returned, Shown
from leftoff.model import Ref
from leftoff.session_view import Call, SessionView, once
from leftoff.shell.paths import is_temporary
from leftoff.summary import GitEvent
from leftoff.tables import table

_RE = re.patterns(table(__file__, "patterns.toml")["git"])


# A line of `git log --oneline`, drawn by `--graph` or not, perhaps with branches in brackets.
# Its braces are doubled, since the subject is put in with `format`.
_LOG_LINE = r"(?m)^\W{{0,4}}([0-9a-f]{{7,40}})(?: \([^)\n]*\))? {}"

# Besides `commit`, these end with a commit of the same form in their output.
_COMMITS = frozenset({"commit", "cherry-pick", "revert", "merge", "am", "rebase"})
_MAKING = _COMMITS | {"push", "pr create", "mr create", "pr merge", "mr merge", "pull-request"}
_LINE_OF = {"push": "git_push", "pr create": "git_pr", "mr create": "git_pr"}

# What takes a branch, or the working tree, elsewhere than a commit does.
_MOVES = frozenset("switch checkout pull merge rebase reset cherry-pick revert am".split())

# Programs that commit by themselves.
_COMMITTERS = re.compile(
    r"\b(?:npm|pnpm|yarn|lerna|cargo|cz|make|just) (?:run )?(?:version|release|bump)\b"
    r"|\b(?:standard-version|semantic-release|bump-?my-?version|bump2version|git-cliff)\b"
)

# A command line of these alone prints hashes and subjects of commits that others made.
_LOOKING = frozenset({"look", "search", "inspect_change", "fetch", "read_pull_request"})
_PR_CREATE = frozenset({"pr create", "mr create", "pull-request"})


@once
def git_events(view: SessionView) -> tuple[GitEvent, ...]:
    """The events of a session in order, each once."""
    return tuple(_Judge(view).events())


def last_commit(view: SessionView) -> str:
    """The hash of the last commit, as a tool shows it that made it or pushed its branch, which
    may have been rebased. "" if there is none, or that of the last is not shown."""
    last, branch = "", ""
    for event in git_events(view):
        if event.kind == "commit" and not event.folder:
            last, branch = event.hash, event.branch
        elif event.kind == "push" and not event.folder and branch in {"", event.branch}:
            last = event.hash or last
    return last


def branch_at_end(view: SessionView, recorded: str, *, stated: bool) -> str:
    """The branch that git last said to be on in the folder of the session, when it changed
    branches or made a commit, else the recorded one, which stands alone if the recorder states
    it with every message."""
    root = view.state.header.cwd
    made = [
        (e.ref.message, e.branch)
        for e in ([] if stated else git_events(view))
        if e.kind == "commit" and e.branch and e.shown and not e.folder
    ]
    at, branch = made[-1] if made else (-1, "")
    for shown in () if stated else view.latest(Shown):
        ran = view.commands.get(shown.call)
        if shown.ref.message < at:
            break
        if shown.kind == "git_switch" and ran is not None:
            steps = [s for s in git_steps(ran.command) if s.verb in {"switch", "checkout"}]
            if steps and not any(folder_outside(step, ran.cwd, root) for step in steps):
                return shown.text.split("'")[1]
    return branch or ("" if recorded == "HEAD" else recorded)  # of no branch, or no repository


class _Call(Struct):
    """A call with git or a forge in it: its command lines, their steps, the lines of its output
    that show something, and the call itself, None where it is not known."""

    place: Call
    commands: list[Ran]
    steps: list[GitStep]
    lines: list[Shown]
    made: Called | None

    def of(self, kind: str) -> list[Shown]:
        """The lines that show one kind of event."""
        return [line for line in self.lines if line.kind == kind]


class _Judge:
    def __init__(self, view: SessionView) -> None:
        self.view = view
        self.found: list[tuple[GitEvent, bool]] = []  # with whether it amends the one before
        self.tags: set[Ref] = set()  # pushes of tags
        self.ran: dict[Call, list[Ran]] = {}
        for ran in view.each(Ran, rewound=True):
            if ran.language != "python" and (
                "git" in ran.command or "gh " in ran.command or "glab" in ran.command
            ):
                self.ran.setdefault(ran.call, []).append(ran)
        self.shown: dict[Call, list[Shown]] = {}
        for shown in view.all(Shown):
            if shown.kind.startswith("git_"):
                self.shown.setdefault(shown.call, []).append(shown)

    def events(self) -> list[GitEvent]:
        """All events in the order of what shows them."""
        for place in sorted(self.ran.keys() | self.shown.keys()):
            self._of_call(place)
        self.found.sort(key=lambda found: found[0].ref.message)
        undone = {s.text.split()[1][:7] for s in self.view.all(Shown) if s.kind == "git_undone"}
        found = (e for e in _each_once(self.found) if not e.hash or e.hash[:7] not in undone)
        return self._named([e for e in found if not self._is_deleted(e)])

    def _is_deleted(self, event: GitEvent) -> bool:
        """Whether a later command deleted a tag that was made or pushed."""
        name = event.text.rpartition(" ")[2]
        mark = f"Deleted tag '{name}'" if event.kind == "tag" else f"- [deleted] {name}"
        of_tag = event.kind == "tag" or event.ref in self.tags
        at = event.ref.message, event.ref.start or 0
        return of_tag and any(
            (s.ref.message, s.ref.start or 0) > at and " ".join(s.text.split()) == mark
            for call, lines in self.shown.items()
            if event.kind != "tag" or call != (event.ref.message, event.ref.part)
            for s in lines
            if s.kind == "git_deleted"
        )

    def _named(self, events: list[GitEvent]) -> list[GitEvent]:
        """The events, with the hash that a push shows for the commit before it whose own output
        does not; not where something else may have moved the branch in between."""
        for at, event in enumerate(events):
            before = events[at - 1] if at else None
            if event.kind != "push" or not event.hash or before is None or before.hash:
                continue
            branch, source = before.branch, event.text.split()[0]
            same = branch in {"", event.branch} and source in {"HEAD", event.branch}
            if before.kind != "commit" or before.folder != event.folder or not same:
                continue
            between = [
                ran.command
                for ran in self.view.each(Ran, rewound=True)
                if before.ref.message <= ran.ref.message <= event.ref.message
            ]
            verbs = {step.verb for command in between for step in git_steps(command)}
            if _MOVES.isdisjoint(verbs) and not any(map(_COMMITTERS.search, between)):
                events[at - 1] = replace(before, hash=event.hash)
        return events

    def _add(
        self, kind: str, text: str, ref: Ref, *, amends: bool = False, **known: Any
    ) -> None:
        self.found.append((GitEvent(kind, text, self.view.ref(ref), **known), amends))

    def _of_call(self, place: Call) -> None:
        commands = self.ran.get(place, [])
        steps = [step for ran in commands for step in git_steps(ran.command)]
        lines, made = self.shown.get(place, []), self.view.calls.get(place)
        call = _Call(place, commands, steps, lines, made)
        if lines and made is not None and made.kind in {"poll", "script"} and not steps:
            call.steps = self._awaited(place)
        if lines and not self._only_looked(call):
            self._commits_shown(call)
            self._pushes_shown(call)
            self._merges_shown(call)
            self._requests_shown(call)
        outcome = self.view.outcomes.get(place)
        if outcome is not None and outcome.status in {"ok", "unknown", "running"}:
            self._unshown(call, outcome)

    @staticmethod
    def _only_looked(call: _Call) -> bool:
        """Whether the call only displays something."""
        if any(s.verb in _MAKING or s.has("--push") for s in call.steps):
            return False
        if call.made is None or call.made.kind not in {"shell", "powershell"}:
            return False
        if not call.made.text:
            return False  # the recorder lost the command
        return all(set(of_command(r.command, r.language)) <= _LOOKING for r in call.commands)

    def _awaited(self, place: Call) -> list[GitStep]:
        """The steps of the latest command before a poll that makes something and whose own
        output did not show it: it may still have been running."""
        for earlier in sorted((p for p in self.ran if p < place), reverse=True):
            if place[0] - earlier[0] > _RUNNING:
                break
            steps = [s for ran in self.ran[earlier] for s in git_steps(ran.command)]
            kinds = {line.kind for line in self.shown.get(earlier, ())}
            if any(
                _LINE_OF.get(s.verb, "git_commit") not in kinds and s.verb in _MAKING
                for s in steps
            ):
                return steps
        return []

    # -- what output shows -------------------------------------------------------------------

    def _commits_shown(self, call: _Call) -> None:
        made = [s for s in call.steps if s.program == "git" and s.verb in _COMMITS]
        if not made and not self._by_tool(call.lines[0]):
            return
        amends = any(s.has("--amend") for s in made)
        lines = call.of("git_commit")
        for number, line in enumerate(lines):
            branch = ""
            if match := _RE["named_commit"].match(line.text):
                subject, found = match[2], match[1]
            elif match := _RE["commit"].match(line.text):
                branch = "" if match[1] in {"detached HEAD", "HEAD"} else match[1]
                subject, found = match[3], match[2]
            else:
                continue
            self._add(
                "commit",
                subject.rstrip(),
                line.ref,
                amends=amends,
                hash=found,
                branch=branch,
                folder=self._folder(call, made, number, len(lines)),
            )

    def _folder(self, call: _Call, steps: list[GitStep], number: int, count: int) -> str:
        """Where one of `count` events happened, if outside of the session's folder."""
        one = number if len(steps) == count else -1  # else some step printed no line
        cwd = call.commands[0].cwd if call.commands else ""
        root = self.view.state.header.cwd
        return folder_outside(steps[one], cwd, root) if steps else ""

    def _by_tool(self, line: Shown) -> bool:
        """Whether a tool of its own printed a line: for git, or a call not known, or one whose
        command the recorder lost."""
        call = self.view.calls.get(line.call)
        return call is None or call.kind == "other" or not call.text

    def _pushes_shown(self, call: _Call) -> None:
        pushes = [s for s in call.steps if s.verb in {"push", "subtree"} and s.program == "git"]
        if not pushes and call.steps and all(s.program == "git" for s in call.steps):
            return
        lines = call.of("git_push")
        for number, line in enumerate(lines):
            match = _RE["push"].match(line.text)
            if match is None:
                continue
            remote, source, target = match["remote"], match["source"], match["target"]
            if not remote and (not pushes or target.endswith("/" + source)):
                continue
            if is_temporary(remote or ""):
                continue  # the repository of a test or a demonstration
            if "[new tag]" in line.text:
                self.tags.add(self.view.ref(line.ref))
            self._add(
                "push",
                line.text[match.start("source") : match.end("target")],
                line.ref,
                hash=match["new"] or "",
                branch=target.removeprefix("refs/heads/"),
                remote=remote or _remote(pushes),
                folder=self._folder(call, pushes, number, len(lines)),
            )

    def _merges_shown(self, call: _Call) -> None:
        merges = [s for s in call.steps if s.program == "git" and s.verb == "merge"]
        for line in call.of("git_merge"):
            match = _RE["merged"].match(line.text)
            if match is not None:
                self._add("merge", match[2] or "", line.ref, number=int(match[1]))
            elif merges:
                folder = self._folder(call, merges, -1, 0)
                branch = (merges.pop().operands or ("",))[-1]
                self._add("merge", branch, line.ref, branch=branch, folder=folder)

    def _requests_shown(self, call: _Call) -> None:
        urls = call.of("git_pr")
        creates = [s for s in call.steps if s.verb in _PR_CREATE]
        by_tool = call.made is not None and bool(_RE["pr_tool"].search(call.made.name))
        if not urls or not (creates or by_tool):
            return
        if not all(s.certain or s.counted for s in creates):
            return
        line = urls[-1] if creates else urls[0]
        url = line.text.strip()
        outcome = self.view.outcomes.get(line.call)
        if outcome is not None and outcome.status in {"error", "denied", "timeout"}:
            return
        number = _RE["number"].search(url)
        title = branch = ""
        if creates:
            title = creates[-1].subject
            branch = creates[-1].value("--head", "-H", "--source-branch")
        known = int(number[1]) if number else None
        self._add("pull_request", title, line.ref, number=known, url=url, branch=branch)

    # -- what the exit status or the agent's words show --------------------------------------

    def _unshown(self, call: _Call, outcome: Returned) -> None:
        kinds = {line.kind for line in call.lines}
        # Results that show nothing have no reference of their own.
        ref = call.commands[0].ref if call.commands else Ref(message=outcome.message)
        for step in call.steps:
            where: dict[str, Any] = {"folder": self._folder(call, [step], 0, 1)}
            sure = step.certain and outcome.status == "ok"
            if not step.counted or step.has("--dry-run", "-h", "--help"):
                continue
            if step.has("-n") and step.verb != "commit":
                continue
            if step.program == "git" and step.verb == "commit" and "git_commit" not in kinds:
                self._quiet_commit(call, step, outcome, ref, where)
            elif step.program == "git" and step.verb == "push" and "git_push" not in kinds:
                self._quiet_push(call, step, outcome, ref, where)
            elif step.program == "git" and step.verb == "tag":
                name = _tag_name(step)
                if name and sure:
                    self._add("tag", name, ref, **where)
            elif step.verb in {"pr merge", "mr merge"} and "git_merge" not in kinds:
                number = next((int(w) for w in step.operands if w.isdigit()), None)
                if sure and not step.has("--auto"):
                    self._add("merge", "", ref, number=number)

    def _quiet_commit(
        self, call: _Call, step: GitStep, outcome: Returned, ref: Ref, known: dict[str, Any]
    ) -> None:
        output = outcome.output
        if _RE["refused"].search(output):
            return
        known["amends"] = step.has("--amend")
        subject = re.escape(step.subject)
        if step.value("--fixup") or step.has("--fixup"):
            subject = r"(?:fixup|amend)! .*"
        if subject and output:
            match = re.search(_LOG_LINE.format(f"({subject})"), output)
            if match is not None:
                self._add("commit", match[2].rstrip(), ref, hash=match[1], **known)
                return
        if not step.subject:
            return  # which commit it made is not recorded
        stats = any(s.verb in {"diff", "show", "log", "pull", "merge"} for s in call.steps)
        sure = step.certain and outcome.status == "ok" and step.silent
        if sure or _RE["stat"].search(output) and not stats:
            self._add("commit", step.subject, ref, **known)
        elif self._said("committed", call.place, outcome):
            self._add("commit", step.subject, ref, shown=False, **known)

    def _quiet_push(
        self, call: _Call, step: GitStep, outcome: Returned, ref: Ref, known: dict[str, Any]
    ) -> None:
        if _RE["refused"].search(outcome.output) or "up-to-date" in outcome.output:
            return
        if step.has("--delete", "-d"):
            return
        names = step.operands[1:2]
        branch = names[0].rpartition(":")[2].lstrip("+") if names else ""
        shown = step.certain and outcome.status == "ok" and step.silent
        if shown or self._said("pushed", call.place, outcome):
            remote = _remote([step])
            self._add("push", branch, ref, branch=branch, remote=remote, shown=shown, **known)

    def _said(self, value: str, place: Call, outcome: Returned) -> bool:
        """Whether the agent says soon after a call, whose output is not recorded, that it
        succeeded."""
        if outcome.status == "running" or outcome.output.strip():
            return False
        return any(
            said.value == value and place[0] <= said.ref.message <= place[0] + _SOON
            for said in self.view.sentences("milestone")
        )


# Messages between a command and the poll that shows its end. Chosen by hand; not measured.
_RUNNING = 40

# Messages within which the agent reports what it did. Chosen by hand; not measured.
_SOON = 6


def _each_once(found: Iterable[tuple[GitEvent, bool]]) -> list[GitEvent]:
    """The events without repeats; an amended commit replaces the one before it."""
    events: list[GitEvent] = []
    seen: set[tuple[str, ...]] = set()
    for event, amends in found:
        key = _identity(event)
        if key in seen:
            continue
        seen.add(key)
        if event.kind == "commit" and amends:
            before = next((e for e in reversed(events) if e.kind == "commit"), None)
            if before is not None and before.branch in {"", event.branch}:
                events.remove(before)
        events.append(event)
    return events


def _identity(event: GitEvent) -> tuple[str, ...]:
    if event.hash and event.kind in {"commit", "push"}:
        return event.kind, event.hash[:7], event.branch if event.kind == "push" else ""
    if event.url:
        return event.kind, event.url
    if event.kind == "merge" and event.number:  # what shows it again merges no more
        return event.kind, str(event.number), event.folder
    return event.kind, str(event.ref.message), str(event.ref.part), event.text


def _remote(pushes: list[GitStep]) -> str:
    names = pushes[-1].operands if pushes else ()
    return names[0] if names else ""


def _tag_name(step: GitStep) -> str:
    """The tag that `git tag` makes, "" where it lists or deletes."""
    looks = ("-l", "-d", "-v", "-n", "--list", "--delete", "--verify", "--sort", "--contains")
    words = [  # without the message, which may begin like an option
        word
        for before, word in zip((None, *step.words), step.words, strict=False)
        if before not in {"-m", "-F", "-u", "-am", "-sm"}
    ]
    if any(w is None or w.startswith((*looks, "--points", "--merged")) for w in words):
        return ""
    names = [word for word in words if word and not word.startswith("-")]
    return names[0] if names else ""
