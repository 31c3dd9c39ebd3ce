"""The explanation of a summary as text or JSON: which rules matched, feature weights, and the
candidates that were rejected."""

from collections.abc import Iterable

from leftoff import codec
from leftoff.analysis.decisions.explain import Explanation
from leftoff.analysis.summary_json import numbered
from leftoff.handover.wording import message_label, plural
from leftoff.redaction.redactor import Redactor
from leftoff.text.truncation import one_line

_INDENT = " " * 6


def plain(explanation: Explanation, gate: Redactor | None = None) -> codec.JsonObject:
    """The explanation as plain JSON values, redacted."""
    return dict(numbered((gate or Redactor()).value(codec.to_builtins(explanation))))


def text(explanation: Explanation, *, width: int = 96, gate: Redactor | None = None) -> str:
    """The explanation as text, redacted. Only quoted text is truncated to `width` columns."""
    value = plain(explanation, gate)
    columns = max(40, width)
    lines: list[str] = []
    for name, describe in (
        ("Decisions", _decision),
        ("Milestones", _milestone),
        ("Stages", _stage),
    ):
        least = f", reported from {value['threshold']:.2f} on" if name == "Decisions" else ""
        for title, reported in ((f"{name}{least}", True), (f"{name} left out", False)):
            items = [i for i in value[name.lower()] if i["reported"] == reported]
            if items or reported:
                lines += ["", f"{title}: {len(items)}"]
            lines += [line for item in items for line in describe(item, columns)]
    return "\n".join(lines[1:]) + "\n"


def _quoted(item: codec.JsonObject, head: str, width: int) -> str:
    return f"  {head}  {one_line(item['text'], max(20, width - len(head) - 4))}"


def _decision(item: codec.JsonObject, width: int) -> Iterable[str]:
    owner = "" if item["owner"] == "agent" else f" {item['owner']}"
    head = f"{message_label(item['ref'])}  {item['confidence']:.2f} {item['type']}{owner}"
    yield _quoted(item, head, width)
    if item["log_odds"] is not None:
        parts = " ".join(f"{p['feature']} {p['points']:+.2f}" for p in item["parts"])
        yield f"{_INDENT}sentence {item['log_odds']:+.2f} = {parts}"
        yield (
            f"{_INDENT}message {item['together']:+.2f} with "
            f"{plural(item['sentences'], 'sentence')} weighed, number {item['place']} of "
            f"{plural(item['messages'], 'message')}"
        )
    else:
        yield f"{_INDENT}fired: {item['rule']}"
    # What is missing is the answer that a reader of a rejected candidate looks for.
    needed = "" if item["reported"] else f"; {item['needed']:.2f} is needed"
    if needed and item["confidence"] >= item["needed"]:
        needed = f"; its message is not likely enough ({item['message_confidence']:.2f})"
    yield f"{_INDENT}confidence: {item['how']}{needed}"


def _milestone(item: codec.JsonObject, width: int) -> Iterable[str]:
    evidence = f" {item['evidence']}" if item["evidence"] else ""
    yield _quoted(item, f"{message_label(item['ref'])}  {item['kind']}{evidence}", width)
    fired = f"fired: {item['rule']}; " if item["rule"] else ""
    yield f"{_INDENT}{fired}{item['why']}"
    if item["shown_at"] is not None:
        shown = one_line(item["shown"], max(20, width - 16))
        yield f"{_INDENT}result {message_label(item['shown_at'])}: {shown}"


def _stage(item: codec.JsonObject, width: int) -> Iterable[str]:
    turns = plural(item["turns"], "turn")
    yield f"  {message_label(item['ref'])}  {item['stage']}  {turns}: {item['why']}"
    did = ", ".join(f"{name} {count}" for name, count in item["did"].items())
    asked = ", ".join(item["asked"])
    if asked or did:
        yield f"{_INDENT}asked: {asked or 'nothing recognised'}; did: {did or 'nothing'}"
