"""Lines in tool output by which git and forges say what they made. Part of `Insights`."""

from collections.abc import Iterator

from leftoff import lazy_re as re
from leftoff.extraction.evidence import CUT, Called, Shown
from leftoff.extraction.extractor import View
from leftoff.extraction.rules import Hit
from leftoff.redaction.scanner import safe_quote_end
from leftoff.tables import table

# Code points of a line that are recorded: subjects are rarely a tenth as long.
MAX_LINE = 1000

# Inside JSON a line break is the two characters `\n`.
_HEADER = re.compile(r"(?:^|\\n)(To|From) (\S+?)(?=\s|\\n|$)", re.MULTILINE)
_CREATES = re.compile(
    r"\b(?:pr|mr) create|pull-request|create_\w*(?:pull|merge|pr\b)"
    r"|(?:pull|merge)_?request\w*create|/(?:pulls|merge_requests)\b",
    re.IGNORECASE,
)
# What the reference names: the subject of a commit, what was pushed where.
_SAID = re.patterns(table(__file__, "patterns.toml")["git"])


def git_facts(view: View) -> Iterator[Shown]:
    """The evidence in the outputs of one message. A push line stands after the header
    `To <remote>`, which is recorded before it; below `From <remote>` it is a fetch."""
    for number, hits in view.outputs.items():
        call = view.calls[number]
        text: str = getattr(view.message.parts[number], "text", "")
        for hit in hits:
            if hit.rule.topic != "git":
                continue
            lead = ""
            if hit.rule.value == "git_push":
                header = _header(text, hit)
                if header.startswith("From "):
                    continue
                lead = header
            elif hit.rule.value == "git_pr" and not _may_create(call):
                continue
            end = _end(text, hit)
            quoted = text[hit.start : safe_quote_end(text, hit.start, end)]
            said = _SAID[hit.rule.value].search(quoted) if hit.rule.value in _SAID else None
            yield Shown(
                view.record_ref(number)
                if said is None
                else view.text_ref(number, hit.start + said.start(1), hit.start + said.end(1)),
                call.message,
                call.part,
                hit.rule.value,
                True,
                lead + quoted,
                hit.rule.id,
            )


def _header(text: str, hit: Hit) -> str:
    found = ""
    for match in _HEADER.finditer(text, max(0, hit.start - 4000), hit.start):
        found = f"{match[1]} {match[2]}\n"
    return found


def _may_create(call: Called) -> bool:
    return len(call.text) >= CUT or bool(_CREATES.search(f"{call.name} {call.text}"))


def _end(text: str, hit: Hit) -> int:
    """Where the line ends; in output that is quoted as JSON, at its escaped line end."""
    end = min(hit.end, hit.start + MAX_LINE)
    escaped = text.find("\\n", hit.start, end)
    quoted = hit.start and text[hit.start - 1] in '"n'
    return escaped if escaped >= 0 and quoted else end
