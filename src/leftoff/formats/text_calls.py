"""Calls and results in the text of messages, as models without tool calls write them.

The syntax is OpenHands's, which many data sets use: `<function=name>` with `<parameter=name>`
in the reply, and the result in the next user message after "EXECUTION RESULT of [name]:" or
"OBSERVATION:"."""

from collections.abc import Callable

from leftoff import lazy_re as re
from leftoff.model import Part, Text, ToolCall, ToolResult

_FUNCTION = re.compile(
    r"^[ \t]*<function=([\w.:-]{1,200})>(.*?)(?:</function>|\Z)", re.DOTALL | re.MULTILINE
)
_PARAMETER = re.compile(r"<parameter=([^>\n]{1,200})>(.*?)(?:</parameter>|\Z)", re.DOTALL)
_RESULT_HEADER = re.compile(
    r"(?:(EXECUTION RESULT) of \[[^\]\n]{0,200}\]|OBSERVATION):[ \t]*\n?"
)
_EXIT_CODE = re.compile(
    r"\[(?:The command|Command) (?:finished|completed) with exit code (-?\d+)"
)
_NO_NEW_OUTPUT = "[The command has no new output after"
_FAILED_ACTION = "[Error occurred in processing last action]"


def calls_in(text: str, make: Callable[[str, object], ToolCall]) -> list[Part]:
    """The text and calls of a reply in order.

    Args:
        make: makes a call from its name and arguments, with an id of the reader's."""
    parts: list[Part] = []
    position = 0
    for found in _FUNCTION.finditer(text):
        if words := text[position : found.start()].strip():
            parts.append(Text(words))
        # One line end after the opening and before the closing mark of a value is layout.
        values = {
            p[1]: p[2].removeprefix("\n").removesuffix("\n")
            for p in _PARAMETER.finditer(found[2])
        }
        parts.append(make(found[1], values))
        position = found.end()
    if rest := text[position:].strip():
        parts.append(Text(rest))
    return parts


def has_calls(text: str) -> bool:
    """Whether a reply holds calls in its text."""
    return "<function=" in text and _FUNCTION.search(text) is not None


def is_result(text: str) -> bool:
    """Whether a user message is the result of a call in the text before it."""
    return _RESULT_HEADER.match(text) is not None or _FAILED_ACTION in text[-200:]


def result_of(call_id: str, text: str) -> ToolResult:
    """The result of a call, without its header.

    With OpenHands's header the status is "ok" unless the text shows an error; without it the
    status is "unknown" unless a line names the exit code."""
    announced = _RESULT_HEADER.match(text)
    if announced is not None:
        text = text[announced.end() :]
    tail = text[-600:]
    # The last such line is the recorder's own; earlier ones are output.
    exits = _EXIT_CODE.findall(tail)
    code = int(exits[-1][:9]) if exits else None
    status = "ok" if announced is not None and announced[1] else "unknown"
    # OpenHands's terminal waits for a command only so long; then it may still run.
    if code == -1 or _NO_NEW_OUTPUT in tail:
        return ToolResult(call_id, text, "timeout" if "timed out" in tail else "running")
    failed = announced is not None and text.lstrip()[:6].upper() == "ERROR:"
    if code is not None:
        status = "error" if code else "ok"
    elif failed or _FAILED_ACTION in text[-200:]:
        status = "error"
    return ToolResult(call_id, text, status, code)
