"""Commits, pushes, pull requests, merges and tags that a session made.

A line of output counts by the command that printed it: `git log` shows commits and makes none,
`git pull` prints the same arrows as a push. Where the output says nothing (quiet commands), an
exit status counts if nothing masks it. The agent's words count only if the command ran and did
not fail, and are marked `shown=False`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.analysis.activities import of_command
from leftoff.extraction.evidence import Called, Ran, Returned, Shown
from leftoff.model import Ref
from leftoff.session_view import SessionView, once
from leftoff.summary import GitEvent
from leftoff.tables import table

if TYPE_CHECKING:
    from leftoff.analysis.git_commands import GitStep

_RE = re.patterns(table(__file__, "patterns.toml")["git"])


_LOG_LINE = r"(?m)^\W{{0,4}}([0-9a-f]{{7,40}})(?: \([^)\n]*\))? {}"

_COMMITS = frozenset({"commit", "cherry-pick", "revert", "merge", "am", "rebase"})
_MAKING = _COMMITS | {"push", "pr create", "mr create", "pr merge", "mr merge", "pull-request"}
_LINE_OF = {"push": "git_push", "pr create": "git_pr", "mr create": "git_pr"}

_LOOKING = frozenset({"look", "search", "inspect_change", "fetch", "read_pull_request"})
_PR_CREATE = frozenset({"pr create", "mr create", "pull-request"})


@once
def git_events(view: SessionView) -> tuple[GitEvent, ...]:
    """The events of a session in order, each once."""
    return tuple(_Judge(view).events())


def last_commit(view: SessionView) -> str:
    """The hash of the last commit that a tool's output shows, "" if there is none."""
    hashes = [e.hash for e in git_events(view) if e.kind == "commit" and e.hash]
    return hashes[-1] if hashes else ""


class _Judge:
    def __init__(self, view: SessionView) -> None:
        self.view = view
        self.ran: dict[tuple[int, int], list[Ran]] = {}
        for ran in view.each(Ran, rewound=True):
            if ran.language != "python" and (
                "git" in ran.command or "gh " in ran.command or "glab" in ran.command
            ):
                self.ran.setdefault((ran.ref.message, ran.part), []).append(ran)
        self.shown: dict[tuple[int, int], list[Shown]] = {}
        for shown in view.all(Shown):
            if shown.kind.startswith("git_"):
                place = (shown.call_message, shown.call_part)
                if place == (-1, -1):
                    place = (shown.ref.message, -1 - (shown.ref.part or 0))
                self.shown.setdefault(place, []).append(shown)

    def events(self) -> list[GitEvent]:
        """All events in the order of what shows them."""
        found: list[tuple[int, int, GitEvent, bool]] = []
        for place in sorted(self.ran.keys() | self.shown.keys()):
            for event, amends in self._of_call(place):
                event = replace(event, ref=self.view.ref(event.ref))
                found.append((event.ref.message, len(found), event, amends))
        found.sort(key=lambda item: item[:2])
        return _each_once((event, amends) for _, _, event, amends in found)

    def _of_call(self, place: tuple[int, int]) -> Iterator[tuple[GitEvent, bool]]:
        from leftoff.analysis.git_commands import git_steps

        commands = self.ran.get(place, [])
        steps = [step for ran in commands for step in git_steps(ran.command)]
        lines = self.shown.get(place, [])
        call = self.view.calls.get(place)
        if lines and call is not None and call.kind in {"poll", "script"} and not steps:
            steps = self._awaited(place)
        if lines and not self._only_looked(place, call, steps):
            yield from self._commits_shown(lines, steps)
            yield from self._pushes_shown(lines, steps)
            yield from self._merges_shown(lines, steps)
            yield from self._requests_shown(lines, steps, call, commands)
        outcome = self.view.outcomes.get(place)
        if steps and outcome is not None and outcome.status in {"ok", "unknown", "running"}:
            yield from self._unshown(place, steps, lines, outcome)

    def _only_looked(
        self, place: tuple[int, int], call: Called | None, steps: list[GitStep]
    ) -> bool:
        """Whether the call only displays something."""
        if any(s.verb in _MAKING or s.has("--push") for s in steps):
            return False
        if call is None or call.kind not in {"shell", "powershell"}:
            return False
        commands = self.ran.get(place, ())
        return all(set(of_command(r.command, r.language)) <= _LOOKING for r in commands)

    def _awaited(self, place: tuple[int, int]) -> list[GitStep]:
        """The steps of the latest command before a poll that makes something and whose own
        output did not show it: it may still have been running."""
        from leftoff.analysis.git_commands import git_steps

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

    def _commits_shown(
        self, lines: list[Shown], steps: list[GitStep]
    ) -> Iterator[tuple[GitEvent, bool]]:
        made = [s for s in steps if s.program == "git" and s.verb in _COMMITS]
        if not made and not (lines and self._by_tool(lines[0])):
            return
        amends = any(s.has("--amend") for s in made)
        for line in lines:
            if line.kind != "git_commit":
                continue
            named = _RE["named_commit"].match(line.text)
            if named is not None:
                yield GitEvent("commit", named[2].rstrip(), line.ref, hash=named[1]), amends
                continue
            match = _RE["commit"].match(line.text)
            if match is None:
                continue
            branch = "" if match[1] in {"detached HEAD", "HEAD"} else match[1]
            subject = match[3].rstrip()
            yield GitEvent("commit", subject, line.ref, hash=match[2], branch=branch), amends

    def _by_tool(self, line: Shown) -> bool:
        """Whether a tool of its own printed a line: for git, or a call not known."""
        call = self.view.calls.get((line.call_message, line.call_part))
        return call is None or call.kind == "other"

    def _pushes_shown(
        self, lines: list[Shown], steps: list[GitStep]
    ) -> Iterator[tuple[GitEvent, bool]]:
        pushes = [s for s in steps if s.verb in {"push", "subtree"} and s.program == "git"]
        for line in lines:
            match = _RE["push"].match(line.text) if line.kind == "git_push" else None
            if match is None:
                continue
            source, target = match["source"], match["target"]
            if not match["remote"] and (not pushes or target.endswith("/" + source)):
                continue
            if match["remote"] and _RE["scratch"].match(match["remote"]):
                continue
            if not pushes and all(s.program == "git" for s in steps) and steps:
                continue
            yield (
                GitEvent(
                    "push",
                    line.text[match.start("source") : match.end("target")],
                    line.ref,
                    hash=match["new"] or "",
                    branch=target.removeprefix("refs/heads/"),
                    remote=match["remote"] or _remote(pushes),
                ),
                False,
            )

    def _merges_shown(
        self, lines: list[Shown], steps: list[GitStep]
    ) -> Iterator[tuple[GitEvent, bool]]:
        merges = [s for s in steps if s.program == "git" and s.verb == "merge"]
        for line in lines:
            if line.kind != "git_merge":
                continue
            match = _RE["merged"].match(line.text)
            if match is not None:
                yield (GitEvent("merge", match[2] or "", line.ref, number=int(match[1])), False)
            elif merges:
                names = merges[-1].operands
                branch = names[-1] if names else ""
                yield GitEvent("merge", branch, line.ref, branch=branch), False
                merges = merges[:-1]

    def _requests_shown(
        self, lines: list[Shown], steps: list[GitStep], call: Called | None, commands: list[Ran]
    ) -> Iterator[tuple[GitEvent, bool]]:
        urls = [line for line in lines if line.kind == "git_pr"]
        creates = [s for s in steps if s.verb in _PR_CREATE]
        by_tool = call is not None and bool(_RE["pr_tool"].search(call.name))
        by_api = any(_posts(ran.command) for ran in commands)
        if not urls or not (creates or by_tool or by_api):
            return
        if not all(s.certain or s.counted for s in creates):
            return
        line = urls[-1] if creates else urls[0]
        url = line.text.strip()
        number = _RE["number"].search(url)
        title = creates[-1].subject if creates else ""
        place = (line.call_message, line.call_part)
        outcome = self.view.outcomes.get(place)
        if outcome is not None and outcome.status in {"error", "denied", "timeout"}:
            return
        yield (
            GitEvent(
                "pull_request",
                title,
                line.ref,
                number=int(number[1]) if number else None,
                url=url,
                branch=creates[-1].value("--head", "-H", "--source-branch") if creates else "",
            ),
            False,
        )

    # -- what the exit status or the agent's words show --------------------------------------

    def _unshown(
        self,
        place: tuple[int, int],
        steps: list[GitStep],
        lines: list[Shown],
        outcome: Returned,
    ) -> Iterator[tuple[GitEvent, bool]]:
        kinds = {line.kind for line in lines}
        ref = self._result_ref(outcome)
        for step in steps:
            if (
                not step.counted
                or step.has("--dry-run", "-h", "--help", "-n")
                and (step.verb != "commit" or not step.has("-n"))
            ):
                continue
            if step.program == "git" and step.verb == "commit" and "git_commit" not in kinds:
                yield from self._quiet_commit(place, step, steps, outcome, ref)
            elif step.program == "git" and step.verb == "push" and "git_push" not in kinds:
                yield from self._quiet_push(place, step, outcome, ref)
            elif step.program == "git" and step.verb == "tag":
                name = _tag_name(step)
                if name and step.certain and outcome.status == "ok":
                    yield GitEvent("tag", name, ref), False
            elif step.verb in {"pr merge", "mr merge"} and "git_merge" not in kinds:
                names = [w for w in step.operands if w.isdigit()]
                if step.certain and outcome.status == "ok" and not step.has("--auto"):
                    number = int(names[0]) if names else None
                    yield GitEvent("merge", "", ref, number=number), False

    def _quiet_commit(
        self,
        place: tuple[int, int],
        step: GitStep,
        steps: list[GitStep],
        outcome: Returned,
        ref: Ref,
    ) -> Iterator[tuple[GitEvent, bool]]:
        output = outcome.output
        if _RE["refused"].search(output):
            return
        amends = step.has("--amend")
        subject = re.escape(step.subject)
        if step.value("--fixup") or step.has("--fixup"):
            subject = r"(?:fixup|amend)! .*"
        if subject and output:
            match = re.search(_LOG_LINE.format(f"({subject})"), output)
            if match is not None:
                yield GitEvent("commit", match[2].rstrip(), ref, hash=match[1]), amends
                return
        if not step.subject:
            return  # which commit it made is not recorded
        stats = any(s.verb in {"diff", "show", "log", "pull", "merge"} for s in steps)
        if _RE["stat"].search(output) and not stats:
            yield GitEvent("commit", step.subject, ref), amends
        elif step.certain and outcome.status == "ok" and step.silent:
            yield GitEvent("commit", step.subject, ref), amends
        elif outcome.status != "running" and not output.strip():
            yield from self._said("committed", place, "commit", step.subject, amends=amends)

    def _quiet_push(
        self, place: tuple[int, int], step: GitStep, outcome: Returned, ref: Ref
    ) -> Iterator[tuple[GitEvent, bool]]:
        if _RE["refused"].search(outcome.output) or "up-to-date" in outcome.output:
            return
        remote, branch = _remote([step]), _branch(step)
        if step.has("--delete", "-d"):
            return
        if step.certain and outcome.status == "ok" and step.silent:
            yield GitEvent("push", branch, ref, branch=branch, remote=remote), False
        elif outcome.status != "running" and not outcome.output.strip():
            for event, _ in self._said("pushed", place, "push", branch):
                yield (
                    GitEvent(
                        "push", branch, event.ref, branch=branch, remote=remote, shown=False
                    ),
                    False,
                )

    def _said(
        self, value: str, place: tuple[int, int], kind: str, text: str, *, amends: bool = False
    ) -> Iterator[tuple[GitEvent, bool]]:
        """The agent says soon after a call, whose output is not recorded, that it succeeded."""
        for said in self.view.sentences("milestone"):
            if said.value == value and place[0] <= said.ref.message <= place[0] + _SOON:
                yield GitEvent(kind, text, self.ran[place][0].ref, shown=False), amends
                return

    def _result_ref(self, outcome: Returned) -> Ref:
        """The call's result, by the place of the call: results that show nothing have no
        reference of their own."""
        for ran in self.ran.get((outcome.call_message, outcome.call_part), ()):
            return ran.ref
        return Ref(message=outcome.message)


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
        if key:
            seen.add(key)
        if event.kind == "commit" and amends:
            for at in range(len(events) - 1, -1, -1):
                if events[at].kind == "commit":
                    if not events[at].branch or events[at].branch == event.branch:
                        del events[at]
                    break
        events.append(event)
    return events


def _identity(event: GitEvent) -> tuple[str, ...]:
    if event.kind == "commit" and event.hash:
        return "commit", event.hash[:7]
    if event.kind == "push" and event.hash:
        return "push", event.hash[:7], event.branch
    if event.kind == "pull_request" and event.url:
        return "pull_request", event.url
    return event.kind, str(event.ref.message), str(event.ref.part), event.text, event.url


def _posts(command: str) -> bool:
    """Whether a command line creates a pull request by the forge's API."""
    return bool(
        re.search(r"/(?:pulls|merge_requests)(?=[\"'\s]|$)", command)
        and _RE["post"].search(command)
    )


def _remote(pushes: list[GitStep]) -> str:
    names = pushes[-1].operands if pushes else ()
    return names[0] if names else ""


def _branch(step: GitStep) -> str:
    names = step.operands
    return names[1].rpartition(":")[2].lstrip("+") if len(names) > 1 else ""


def _tag_name(step: GitStep) -> str:
    """The tag that `git tag` makes, "" where it lists or deletes."""
    if step.has("-l", "--list", "-d", "--delete", "-v", "--verify"):
        return ""
    if any(
        w is None or w.startswith(("--sort", "--contains", "--points", "--merged", "-n"))
        for w in step.words
    ):
        return ""
    names = [
        word
        for before, word in zip((None, *step.words), step.words, strict=False)
        if word and not word.startswith("-") and before not in {"-m", "-F", "-u", "-am", "-sm"}
    ]
    return names[0] if names else ""
