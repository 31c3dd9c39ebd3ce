"""The parts of a Gemini `Content` (role and parts), as several recorders write them."""

from typing import TypeAlias

from leftoff import lazy_re as re
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import Fields, dict_of, dicts_of, json_text, text_of
from leftoff.formats.reader import ItemReader
from leftoff.formats.vocabulary import kind_of
from leftoff.model import Media, Part, Reasoning, Text, ToolCall, ToolResult, Typed, Usage

_EXIT_CODE = re.compile(r"^Exit Code: (\d+)", re.MULTILINE)
# What newer versions write of a command that has ended: its exit code only if it is not 0.
_ENDED = re.compile(
    r"\AOutput: (?![\s\S]*\n(?:Signal|Error): )[\s\S]*\nProcess Group PGID: \d+\s*\Z"
)
_FILES_FROM = "--- Content from referenced files ---"
_FILES_TO = "--- End of content ---"
# How a call ended, in the words of the clients; "cancelled" is told apart by `result_of`.
STATUS = {"success": "ok", "error": "error", "cancelled": "cancelled"}
# Fields of a part that say something of what else is in it.
_BESIDE = frozenset({"thought", "thoughtSignature", "videoMetadata"})
# How the summary of a compressed conversation begins.
SNAPSHOT = "<state_snapshot>"

# The parts of a content, and the spans that a person typed.
Content: TypeAlias = tuple[tuple[Part, ...], tuple[Typed, ...]]


class GeminiPartsReader(ItemReader):
    def content(self, parts: object, *, person: bool = False) -> Content:
        """The parts in our types; `person`: a person may have typed their text."""
        if isinstance(parts, (str, dict)):
            parts = [{"text": parts} if isinstance(parts, str) else parts]
        found: list[Part] = []
        typed: tuple[Typed, ...] = ()
        inserted = False  # between the marks of files that the recorder put in
        for given in parts if isinstance(parts, list) else ():
            part = Fields({"text": given} if isinstance(given, str) else given)
            if isinstance(text := part.get("text"), str):
                # The API flags thoughts and leaves them among the words.
                if part.get("thought"):
                    found.append(Reasoning(text))
                    continue
                inserted = inserted or text.lstrip().startswith(_FILES_FROM)
                if person and not inserted:
                    typed += typed_spans(len(found), text)
                inserted = inserted and _FILES_TO not in text
                found.append(Text(text))
            elif "functionCall" in part.value:
                found.append(self.function_call(part.at("functionCall")))
            elif "functionResponse" in part.value:
                found.append(self.function_response(part.at("functionResponse")))
            elif {"inlineData", "fileData"} & part.value.keys():
                found.append(Media(part.text("inlineData.mimeType", "fileData.mimeType")))
            elif "executableCode" in part.value:  # the API itself runs it
                found.append(self.call("", "code_execution", part.get("executableCode")))
            elif "codeExecutionResult" in part.value:
                output = part.at("codeExecutionResult")
                status = "ok" if output.get("outcome") == "OUTCOME_OK" else "error"
                call = self.answered("", "code_execution")
                found.append(ToolResult(call, output.text("output"), status))
            elif others := sorted(part.value.keys() - _BESIDE):
                found.append(Media(others[0]))
        return tuple(found), typed

    def function_call(self, call: Fields) -> ToolCall:
        """One `functionCall`."""
        return self.call(call.identity("id"), call.text("name"), call.get("args"))

    def function_response(self, response: Fields) -> ToolResult:
        """One `functionResponse`, matched by id, else with the oldest open call of its name."""
        name, call = response.text("name"), response.identity("id")
        call = self.answered(call, name) if call or name else ""
        text, failed = response_text(response.get("response"))
        status = ("error" if failed else "ok") if response.get("response") else "unknown"
        return result_of(call, name, text, status)


def response_text(response: object) -> tuple[str, bool]:
    """The text of a function's response, and whether it is an error."""
    if isinstance(response, str):
        return response, False
    given = dict_of(response)
    if error := given.get("error"):
        return json_text(dict_of(error).get("message") or error), True
    for key in ("output", "content", "result"):
        if key in given:
            value = given[key]
            if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
                return "\n".join(text_of(v.get("text")) for v in value), False
            return json_text(value), False
    return (json_text(given) if given else ""), False


def response_texts(parts: object) -> tuple[str, bool]:
    """The text of all function responses in a list of parts, and whether one is an error."""
    if isinstance(parts, str):
        return parts, False
    texts: list[str] = []
    failed = False
    for part in dicts_of([parts] if isinstance(parts, dict) else parts):
        response = part.get("functionResponse")
        if isinstance(response, dict):
            text, wrong = response_text(response.get("response"))
            failed = failed or wrong
            texts.append(text)
        elif isinstance(words := part.get("text"), str):
            texts.append(words)
    return "\n".join(texts), failed


def usage_of(value: object, names: str) -> Usage | None:
    """A response's tokens under the names of input, output, cache, thoughts and tool input; the
    input includes what came from the cache, the output lacks the thoughts."""
    if not isinstance(value, dict):
        return None
    given, output, cached, thoughts, tool = map(Fields(value).count, names.split())
    return Usage(max(0, given - cached) + tool, output + thoughts, cached, 0, thoughts)


def result_of(
    call: str, name: str, text: str, status: str, detail: dict[str, object] | None = None
) -> ToolResult:
    """A result; denial, interruption and the exit code are read from its text."""
    code: int | None = None
    if status in {"error", "cancelled"}:
        if "Operation Cancelled" in text[:200] or status == "cancelled":
            refused = "denied" in text[:400] or "did not allow" in text[:400]
            status = "denied" if refused else "interrupted"
    elif kind_of(name) == "shell":
        exits = _EXIT_CODE.findall(text[-600:])
        if exits and len(exits[-1]) < 10:
            code = int(exits[-1])
            status = "error" if code else status
        elif status == "ok" and not exits and _ENDED.match(text):
            code = 0
    return ToolResult(call, text, status, code, detail)
