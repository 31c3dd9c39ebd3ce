"""Lines of a handover that tell a successor nothing: the measure "noise".

* moves: where a decision, finding or open point is listed, what the agent did next, without a
  reason ("Let me check the tests.");
* stumps: there, fewer than four words, or words that end in a colon;
* uninformative errors: where failures are listed, only a frame of the message ("Exit code 1");
* machine notices among anybody's words.

The person's words are never noise unless they are a notice. Every text is treated alike,
whatever its headings are called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from leftoff.evaluation.resume_scores import Share

MIN_WORDS = 4
"""Words of a statement. Chosen by hand."""

_HEADING = re.compile(
    r"(?:#+ +(?P<marks>.+)|(?:\d+\. +)?\*\*(?P<bold>[^*]+)\*\*:?"
    r"|(?:\d+\. +)?(?P<plain>[A-Z][^.!?`]{2,60}):)\s*$"
)
_STATED = re.compile(
    r"deci(?:ded|sion)|finding|found out|also said|left open|next steps", re.IGNORECASE
)
_FAILURES = re.compile(r"fail|error|lesson", re.IGNORECASE)
_FRAME = re.compile(
    r"This session is being continued from|</?leftoff|\(left out"
    r"|\(nothing recorded\)|\(none\)|[-*=]{3,}$|<!--"
)
_LABEL = re.compile(r"\s*(?:\([^()]*#\d+[^()]*\)|#\d+(?:, #\d+)*)\.?$")
_WORD = re.compile(r"\w+")

_VERBS = (
    "look|check|read|run|see|view|find|search|verify|examine|inspect|explore|start|begin"
    "|continue|proceed|commit|push|review|investigate|rerun|re-run|confirm|test|try|do|fix"
    "|update|open|get|take|wait|grab|dig|trace|also|now"
)
_MOVE = re.compile(
    r"(?:(?:now|ok(?:ay)?|good|great|perfect|right|alright|next|first|then|so)\b[,.:! ]*)*"
    rf"(?:(?:let me|let's|i(?:'ll| will|'m going to| need to))\s+(?:{_VERBS})\b"
    r"|(?:looking|checking|reading|running|searching|verifying|examining|exploring|starting"
    r"|continuing|committing|pushing|reviewing|investigating|rerunning|confirming|waiting)\b)",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|so that|instead|rather|otherwise|to avoid)\b", re.IGNORECASE
)
_NOTICE = re.compile(
    r"[<‹]/?(?:task-notification|system-reminder|system_notification|ci-monitor-event"
    r"|local-command|command-(?:name|message|args))|^\{\s*[\"']task_id|^Unknown skill:"
    r"|^\[Request interrupted|^Caveat: The messages"
)
_NOTHING = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: code| status)?:? ?-?\d+|output:?|error:?|stderr:?|stdout:?"
    r"|command failed|process exited|failed|traceback.*|[-=*_.\s]*)[.:]?",
    re.IGNORECASE,
)


def noisy_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Every line with content and whether it is noise; headings and our frame are left out."""
    section = ""
    for raw in text.splitlines():
        line = raw.strip()
        heading = _HEADING.match(line) if not line.startswith("- ") else None
        if heading:
            section = next(group for group in heading.groups() if group)
            continue
        words = _LABEL.sub("", re.sub(r"^(?:[-*•]|\d+\.)\s+", "", line)).strip()
        if words and not _FRAME.match(line):
            yield words, _is_noise(words, section)


def _is_noise(line: str, section: str) -> bool:
    if _NOTICE.search(line):
        return True
    if _FAILURES.search(section):
        first = line.split("` (", maxsplit=1)[0].strip("`* ")
        return _NOTHING.fullmatch(first) is not None
    if not _STATED.search(section):
        return False
    if len(_WORD.findall(line)) < MIN_WORDS or line.endswith(":"):
        return True
    return _MOVE.match(line.strip("*")) is not None and not _REASON.search(line)


def noisy_share(text: str) -> Share:
    """The share of a text's lines that are noise."""
    found = [noise for _, noise in noisy_lines(text)]
    return Share(sum(found), len(found))
