"""SWE-agent trajectories, one JSON document each: docs/formats/swe_agent.md.

The agent types one command for each turn: an editor command of its own interface, or bash.
`history` is the conversation as the model saw it, `trajectory` the same steps again."""

import shlex
from collections.abc import Iterable
from functools import partial

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import task_spans
from leftoff.formats.lenient_json import Fields
from leftoff.formats.openai_parts import calls_of, content_text, decode_arguments
from leftoff.formats.reader import Cursor, Format, ItemReader, Sample

_STATE = re.compile(
    r"\(Open file: (?P<open>[^\n]*)\)\n\(Current directory: (?P<cwd>[^\n]*)\)\n"
    r"\s*bash-\$\s*$"
)
# A file is refused: the editor changes the open one.
_EDIT_COMMAND = re.compile(
    r"edit(?:[ \t]+([^\s:]+))??(?:[ \t]+(\d+):(\d+))?[ \t]*\n(.*)", re.DOTALL
)
_NO_OUTPUT = "Your command ran successfully and did not produce any output"
_TIMED_OUT = ("EXECUTION TIMED OUT", "cancelled because it took more than", "TIMED OUT")
_EDITED = ("File updated", "Text replaced", "has been edited", "File created successfully")
_FAILED = (
    "Your proposed edit has introduced",
    "Usage: ",
    "Error: ",
    "No file open",
    "usage: ",
    "/root/commands/",
    "No replacement was performed",
)
_EXIT_ACTION = re.compile(r"exit_\w+$|exit$")

# Editor commands and the arguments that stand on their line, in order.
_COMMAND_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "open": ("path", "line_number"),
    "create": ("filename",),
    "goto": ("line_number",),
    "find_file": ("file_name", "dir"),
    "search_file": ("search_term", "file"),
    "search_dir": ("search_term", "dir"),
    "get_symbols": ("path",),
    "set_cursors": ("start_line", "end_line"),
    "disassemble": ("path",),
    "decompile": ("path",),
}

# Editor commands that act on the open file when they name none.
_IN_OPEN_FILE = frozenset(
    {"edit", "goto", "insert", "scroll_down", "scroll_up", "search_file", "set_cursors"}
)


class SweAgentReader(ItemReader):
    lists = ("history",)

    opened: str = ""
    prompted: bool = False
    submitted: bool = False  # the last call handed in the work

    def head(self, document: Fields) -> Iterable[rec.Record]:
        replay = Fields(decode_arguments(document.get("replay_config")))
        self.model = replay.text("agent.model.name")
        facts = replay.facts(title="agent.name", commit="env.repo.base_commit")
        if facts.title or facts.commit:
            yield facts

    def end(self, document: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        stats = document.at("info.model_stats")
        total = rec.Usage(stats.count("tokens_sent"), stats.count("tokens_received"))
        if total.total:
            yield rec.TokenCount(rec.Usage(), total)
        yield from run_end(document.at("info"), submitted=self.submitted)

    def item(self, item: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        if not item.value:
            yield rec.Unknown("history item")
        elif not item.get("is_demo"):  # another run, shown to the model as an example
            yield self._message(item, cursor)

    def _message(self, item: Fields, cursor: Cursor) -> rec.Record:
        text, role = content_text(item.get("content")), item.text("role")
        if role == "assistant":
            return self._assistant_message(item, text, cursor)
        if role not in {"system", "user", "tool"}:
            return rec.Unknown(f"role {role}")
        state = _STATE.search(text)
        if state is not None:
            opened = state["open"].strip()
            self.opened = "" if opened == "n/a" else opened
            self.cwd = state["cwd"].strip()
        message = partial(cursor.message, cwd=self.cwd)
        if role == "system":
            return message("system", (rec.Text(text),))
        if not self.waiting:
            typed: tuple[rec.Typed, ...] = ()
            if role == "user" and not self.prompted:
                self.prompted = True
                typed = task_spans(_without_state(text, state))
            return message("user", (rec.Text(text),), "", typed)
        given, known = item.get("tool_call_ids"), dict(self.waiting)
        ids = given if isinstance(given, list) else ()
        call = self.answered(next((i for i in known if i in ids), ""))
        name = known[call]
        self.submitted = name == "submit"
        shown = _without_state(text, state)
        return message("tool", (rec.ToolResult(call, shown, _status(name, shown)),))

    def _assistant_message(self, item: Fields, text: str, cursor: Cursor) -> rec.Message:
        self.turns += 1
        self.submitted = False
        action = item.text("action")
        given = calls_of(item.get("tool_calls"))
        self.waiting = []
        ended = bool(_EXIT_ACTION.match(action.strip()))
        thought = item.text("thought")
        # Without calls of its own, the reply's text holds the command a second time.
        shown = thought if thought.strip() and action and not given else text
        parts: list[rec.Part] = [rec.Text(shown)] if shown else []
        parts += map(self._call, given)
        if action.strip() and not given and not ended:
            parts.append(self._command(action))
        return cursor.message(
            "assistant",
            tuple(parts),
            "meta" if ended else "agent",
            response="" if ended else f"r{self.turns}",
            model="" if ended else self.model,
            cwd=self.cwd,
        )

    def _call(self, call: rec.ToolCall) -> rec.ToolCall:
        given = call.input
        if isinstance(given, dict) and call.name in _IN_OPEN_FILE and self.opened:
            if not any(k in given for k in ("path", "filename", "file")):
                given = {"path": self.opened, **given}
        return self.call(call.id, call.name, given)

    def _command(self, action: str) -> rec.ToolCall:
        name = "".join(action.split(None, 1)[:1])
        if name == "edit" and (found := _EDIT_COMMAND.match(action)):
            new = re.sub(r"\n?end_of_edit\s*$", "\n", found[4])
            path = found[1] or self.opened
            given: dict[str, object] = {"path": path, "new_string": new}
            for key, number in (("start", found[2]), ("end", found[3])):
                given[key] = int((number or "0")[:9])  # 0: lines that are not known
            return self.call("", name, given)
        editor = name in _IN_OPEN_FILE or name in _COMMAND_ARGUMENTS
        if name == "submit" or editor and "\n" not in action.strip():
            words = _arguments(action)
            given = dict(zip(_COMMAND_ARGUMENTS.get(name, ()), words, strict=False))
            if name in _IN_OPEN_FILE and self.opened and "file" not in given:
                given["path"] = self.opened
            return self.call("", name, given)
        return self.call("", "bash", {"command": action.strip("\n")})


def run_end(info: Fields, *, submitted: bool) -> tuple[rec.Turn, ...]:
    """How the recorder says the run ended; anything but a plain submission, such as
    "submitted (exit_cost)", cut the agent off. Where it says nothing, the last call does."""
    status = info.text("exit_status") or ("submitted" if submitted else "")
    state = "ended" if status.lower() == "submitted" else "failed"
    return (rec.Turn(state, status),) if status else ()


def _arguments(action: str) -> list[str]:
    try:
        return shlex.split(action)[1:]
    except ValueError:
        return action.split()[1:]


def _without_state(text: str, state: re.Match[str] | None) -> str:
    return text[: state.start()].removesuffix("\n") if state is not None else text


def _status(name: str, text: str) -> str:
    """The status of a call, from its output: the recorder stores no exit code."""
    head = text[:400]
    if any(mark in head for mark in _TIMED_OUT):
        return "timeout"
    if name == "edit" or name == "insert":
        # A refused edit shows the whole file below the reason, so only its head says why.
        if any(mark in text for mark in _EDITED):
            return "ok"
        return "error" if any(mark in head for mark in _FAILED) else "unknown"
    if name in _COMMAND_ARGUMENTS or name in {"scroll_down", "scroll_up"}:
        if head.startswith(("[File: ", "Found ", "No matches found")):
            return "ok"
        return "error" if any(mark in head for mark in (*_FAILED, "not found")) else "unknown"
    if name == "str_replace_editor":
        return "error" if head.lstrip().startswith(("ERROR", *_FAILED)) else "ok"
    if head.startswith(_NO_OUTPUT) or name == "submit":
        return "ok"
    return "unknown"


def _detect(sample: Sample) -> bool:
    keys = sample.keys
    if "history" not in keys or {"trajectory", "info"} <= keys:
        return "history" in keys
    return keys <= {"history", "info", "environment"} and any(
        {"role", "agent", "content"} <= m.keys() for m in sample.listed("history")[:4]
    )


FORMAT = Format("swe_agent", "document", SweAgentReader, _detect)
