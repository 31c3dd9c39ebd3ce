"""What the commands of a session were and how they ended, read apart from the product.

This is the other side of `leftoff eval truth`: nothing here may use the code that it judges
(`leftoff.shell`, `leftoff.analysis`, the rules). Commands are cut by the standard library's
`shlex`; what cannot be cut simply (here-documents, substitutions) is left out, not guessed."""

import re
import shlex
from collections.abc import Iterator, Sequence

from msgspec import Struct

from leftoff.lazy_re import patterns
from leftoff.model import Message, ToolCall, ToolResult
from leftoff.tables import table

_RE = patterns(table(__file__, "patterns.toml")["truth_commands"])

_TABLE = table(__file__, "truth.toml")
_RUN_OF, _WITH, _SUMMARIES = _TABLE["run_of"], _TABLE["with"], _TABLE["summaries"]
_WRAPPERS, _ALONE, _NO_RUN, _NOTHING = (
    frozenset(_TABLE[name].split()) for name in ("wrappers", "alone", "no_run", "nothing")
)
# They run other tools: any tool's summary line tells how they ended.
_SCRIPT_RUNNERS = ("npm ", "pnpm ", "yarn ", "bun ", "turbo ", "make", "tox", "nox")


class Ran(Struct, frozen=True):
    """A shell command of the agent and how it ended."""

    # message, part: the call.
    message: int
    part: int
    command: str
    # Its simple commands as words, with the operator before each ("" at first); () where it
    # cannot be cut simply.
    segments: tuple[tuple[str, tuple[str, ...]], ...]
    exit_code: int | None  # as recorded, None where nothing tells
    text: str | None  # its output, None if none was recorded
    result: int  # index of the message with the output
    ended: bool  # whether it came to an end, as far as the recording tells


def commands(messages: Sequence[Message], format: str) -> Iterator[Ran]:
    """The shell commands of one session's main thread.

    Exit codes are those that the recorder writes; Claude Code writes `is_error` instead, which
    its shell sets on any exit code but zero."""
    results: dict[str, list[tuple[int, ToolResult]]] = {}
    for message in messages:
        for part in message.parts:
            if type(part) is ToolResult and part.call_id:
                results.setdefault(part.call_id, []).append((message.index, part))
    for message in messages:
        for number, part in enumerate(message.parts):
            if type(part) is not ToolCall or part.kind != "shell":
                continue
            command = _command(part)
            found = segments(command)
            later = (one for one in results.get(part.id, ()) if one[0] >= message.index)
            place, result = next(later, (-1, ToolResult("")))
            code, status = result.exit_code, result.status
            if code is None and format == "claude_code":
                code = {"ok": 0, "error": 1}.get(status)
            text = None if place < 0 else _RE["ansi"].sub("", result.text)
            ended = status in ("ok", "error", "unknown") and not command.rstrip().endswith("&")
            ended = ended and not _RE["stopped"].search((text or "")[:400])
            yield Ran(message.index, number, command, found, code, text, place, ended)


def _command(call: ToolCall) -> str:
    given = call.input
    if isinstance(given, dict):
        given = next((given[k] for k in ("command", "cmd", "script") if k in given), "")
    if isinstance(given, list):
        words = [str(w) for w in given]
        if len(words) == 3 and words[0].endswith("sh") and words[1] in ("-c", "-lc"):
            return words[2]
        return shlex.join(words)
    return given if isinstance(given, str) else ""


def segments(command: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Simple commands without redirections, with the operators before them; () where it cannot
    be divided simply."""
    if not command or any(mark in command for mark in ("<<", "$(", "`", "\\\n")):
        return ()
    lexer = shlex.shlex(command.strip(), posix=True, punctuation_chars="();&|<>\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    found: list[tuple[str, list[str]]] = [("", [])]
    try:
        for word in lexer:
            said = found[-1][1]
            if word and not word.strip("<>&|") and {*word} & {"<", ">"}:
                if said and said[-1] in ("1", "2"):
                    said.pop()
                next(lexer, "")  # where it leads
            elif word and not word.strip("();&|<> \n"):
                found += [(word.strip(" "), [])] if said else []
            else:
                said.append(word)
    except ValueError:
        return ()
    return tuple((operator, tuple(said)) for operator, said in found if said)


def runner(words: Sequence[str]) -> str:
    """The named runner that a simple command starts, "" if none."""
    left = list(words)
    while left:
        head = left[0].rsplit("/", 1)[-1]
        if "=" in head and re.match(r"[A-Za-z_]\w*=", left[0]):
            del left[0]
        elif head == "timeout":
            del left[0]
            while left and (left[0].startswith("-") or re.match(r"\d", left[0])):
                del left[0]
        elif re.fullmatch(r"python[\d.]*", head) and left[1:2] == ["-m"]:
            del left[:2]
        elif head in _RUN_OF and left[1:2] and left[1] in _RUN_OF[head].split():
            del left[:2]
            while left and left[0].startswith("-"):
                del left[0]
        elif head in ("yarn", "pnpm") and left[1:2] and left[1] in _ALONE:
            del left[0]
        elif head in _WRAPPERS:
            del left[0]
            while left and left[0].startswith("-"):
                del left[0]
        else:
            break
    if not left or _NO_RUN & set(left):
        return ""
    head, rest = left[0].rsplit("/", 1)[-1], [w for w in left[1:] if not w.startswith("-")]
    first = rest[0] if rest else ""
    if head in ("npm", "pnpm", "yarn", "bun", "turbo"):
        if first == "run":
            first = rest[1] if rest[1:] else ""
        if head == "bun" and rest[:1] == ["test"]:
            return "bun test"
        return f"{head} {first}" if _RE["scripts"].match(first) else ""
    if head == "prettier":
        return head if {"--check", "-c", "--list-different", "-l"} & set(left) else ""
    if head == "unittest":
        return head
    if head == "node":
        return "node --test" if "--test" in left else ""
    if head == "py.test":
        return "pytest"
    if head in _ALONE:
        return head
    if head in _WITH and first in _WITH[head].split():
        if head == "ruff" and first == "format" and "--check" not in left:
            return ""
        alone = head in ("mvn", "mvnw", "gradle", "gradlew", "make")
        return head.removesuffix("w") if alone else f"{head} {first}"
    return head if head == "make" and not rest else ""


def runners(ran: Ran) -> tuple[str, ...]:
    """The named runners that a command starts, in order."""
    return tuple(name for name in (runner(words) for _, words in ran.segments) if name)


def judges(ran: Ran) -> bool:
    """Whether a named runner started and had something to judge."""
    if not runners(ran) or ran.text is None or not ran.ended:
        return False
    failed_to_start = len(ran.text) < 2000 and _RE["not_started"].search(ran.text)
    if ran.exit_code in (126, 127) or failed_to_start:
        return False
    return not any(map(_RE["no_tests"].search, (ran.command, ran.text[-400:])))


def verdict(ran: Ran) -> str:
    """Passed or failed where that is certain, else "".

    Certain is the exit code where the runner is the last command and only `cd` and the like
    stand before it; else the summary line of a runner that stands alone in its command."""
    named = runners(ran)
    if len(named) != 1 or not ran.ended:
        return ""
    operators = {operator for operator, _ in ran.segments}
    last = runner(ran.segments[-1][1])
    before = all(words[0] in _NOTHING or "=" in words[0] for _, words in ran.segments[:-1])
    if ran.exit_code is not None and last and before and operators <= {"", "&&", ";", "\n"}:
        if ran.exit_code in (124, 126, 127, 130, 137, 143):
            return ""
        return "failed" if ran.exit_code else "passed"
    if not ran.text or "&" in operators:
        return ""
    tools: tuple[str, ...] = (named[0],) if named[0] in _SUMMARIES else ()
    if named[0].startswith(_SCRIPT_RUNNERS):
        tools = tuple(_SUMMARIES)
    for side, word in enumerate(("failed", "passed")):
        for tool in tools:
            if re.search(_SUMMARIES[tool][side], ran.text, re.MULTILINE):
                return word
    return ""


# -- git ---------------------------------------------------------------------------------------


class GitTruth(Struct, frozen=True):
    """What a git command did, by its own output. kind: commit | push | pull_request."""

    kind: str
    message: int
    result: int
    hash: str = ""
    subject: str = ""
    number: int | None = None


def _git(words: Sequence[str]) -> tuple[str, ...]:
    """The words after `git` and its own options."""
    left = list(words)
    if not left or left[0] != "git":
        return ()
    del left[0]
    while left and left[0].startswith("-"):
        del left[: 2 if left[0] in ("-C", "-c") else 1]
    return tuple(left)


def git_kinds(ran: Ran) -> set[str]:
    """The kinds of events that a command may have caused, here-documents included."""
    verbs = {found[1] for found in _RE["git_verb"].finditer(ran.command)}
    kinds = {"commit"} if verbs & {"commit", "cherry-pick", "revert", "merge"} else set()
    if "push" in verbs or _RE["forge_push"].search(ran.command):
        kinds.add("push")
    if _RE["forge"].search(ran.command):
        kinds.add("pull_request")
    return kinds


def later_output(messages: Sequence[Message]) -> Iterator[Ran]:
    """Output that does not stand with its command: of a process that is asked again, of a
    script, or of a call that is not in the recording. What it ran is not known."""
    calls = {p.id: p for m in messages for p in m.parts if type(p) is ToolCall}
    for message in messages:
        for number, part in enumerate(message.parts):
            call = calls.get(part.call_id) if type(part) is ToolResult else None
            if type(part) is ToolResult and (call is None or call.kind in ("poll", "script")):
                # A script prints what its commands printed as strings of JSON.
                text = re.sub(r'"output": ?"|\\n', "\n", _RE["ansi"].sub("", part.text))
                place = message.index
                # Commands stand in a script as its strings.
                ran = re.sub(r"[\"'`]", "\n", str(call.input)) if call is not None else ""
                yield Ran(place, number, ran, (), None, text, place, False)


def git_truth(ran: Ran) -> Iterator[GitTruth]:
    """The commits, pushes and pull requests of a command, as far as its output shows them."""
    if ran.text is None:
        return
    kinds = git_kinds(ran)
    if ran.command.partition(" -- ")[0] == "git commit":
        for found in _RE["aider_line"].finditer(ran.text):
            yield GitTruth("commit", ran.message, ran.result, found["hash"], found["subject"])
    for found in _RE["commit_line"].finditer(ran.text):
        # A script that commits shows the statistics, too; what only reads a log does not.
        if "commit" in kinds or found["changed"]:
            subject = found["subject"].strip()
            yield GitTruth("commit", ran.message, ran.result, found["hash"], subject)
    if "--dry-run" not in ran.command:
        for block in _RE["pushed"].finditer(ran.text):
            if any(_RE["moved"].match(line) for line in block[1].splitlines()):
                yield GitTruth("push", ran.message, ran.result)
    if "pull_request" in kinds:
        shown = _RE["pull_request"].search(ran.text)
        if shown and "already exists" not in ran.text:
            yield GitTruth("pull_request", ran.message, ran.result, "", "", int(shown[1]))


def taken_back(ran: Ran) -> str:
    """The hash of the commit that Aider took back in a command of its own, else ""."""
    found = (
        _RE["taken_back"].match(ran.text or "") if ran.command.startswith("git reset") else None
    )
    return found[1] if found else ""


def undone(ran: Ran) -> tuple[str, ...]:
    """Files that a git command put back, by its words; ("",) for a revert of commits."""
    if ran.exit_code not in (0, None):
        return ()
    found: list[str] = []
    for _, words in ran.segments:
        said: tuple[str, ...] = _git(words)
        if said[:1] == ("revert",) and "--abort" not in said:
            found.append("")
        elif said[:1] == ("restore",) and "--staged" not in said:
            found += [w for w in said[1:] if not w.startswith("-")]
        elif said[:1] == ("checkout",) and "--" in said:
            found += said[said.index("--") + 1 :]
    return tuple(found)
