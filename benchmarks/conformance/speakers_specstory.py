"""Who said what in a SpecStory file, by header lines and the recorder's own blocks.

SpecStory: **when is a header line a quotation?** A header line (`_**User (time)**_`,
`_**Agent (model time)**_`, `_**Assistant**_`, with ` - sidechain` or `(sidechain)`) begins a
turn unless one of these holds; code fences have no say.

1. The line before it is not blank. (The recorder always leaves one blank line.)
2. It stands in a `<tool-use …>` block of an agent's turn that is closed later, before another
   such block is opened. (A block that is never closed holds nothing.)
3. Its time lies before the session began: before the time of the file's first header and that
   of its `<!-- … Session … (time) -->` line. Times that merely run backwards do not count,
   since turns of subagents and of parallel calls do that.
4. It follows a header that rule 3 made a quotation, no turn has begun since, and its spelling
   (with or without seconds, `model x`, `mode y`) is that of no turn so far: one recorder writes
   one spelling, the pasted file has that of another version.

What this cannot tell: a pasted transcript without times, or of the same session.

Within an agent's turn, a **step** stands between two rules. It is a tool's if it is nothing but
"Read file: x", an attached rule file, fences called `diff`, a `bash` fence with or without its
output, or a sentence of the client about a call that failed.

After "Resumed from a ... session via SpecStory." a turn that ends in a `text` fence and has but
a line, and a command or a fence, before it, is a tool's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from benchmarks.conformance.speakers_turns import (
    AGENT,
    NOTICE,
    PERSON,
    REASONING,
    TOOL,
    Account,
    Line,
    asks,
    typed,
    words,
)

_HEADER = re.compile(r"_\*\*(User|Agent|Assistant)( - sidechain)?((?: \(.*\))?)\*\*_[ \t]*\r?$")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ _]\d\d[:-]\d\d(?:[:-]\d\d)?")
_SESSION = re.compile(r"<!-- .+ Session \S+ \((.*)\) -->")
_MARKUP = re.compile(
    r"</?(?:details|summary|tool-use|think)\b[^>]*>|Tool use: \*\*|Thought Process|^---\s*$"
)


def unmarked(line: str) -> str:
    """A line without the recorder's own tags and headings."""
    return _MARKUP.sub(" ", line)


def _clock(text: str) -> str:
    """A time down to the minute, or ""."""
    found = _TIME.search(text)
    return re.sub(r"\D", "", found[0])[:12] if found else ""


def _spelling(header: str) -> str:
    """What a version of the recorder writes into its headers, without names and numbers."""
    inside = header.partition(" (")[2]
    return "".join(
        mark
        for mark, there in (
            ("seconds", re.search(r"\d\d:\d\d:\d\d", inside)),
            ("minutes", re.search(r"\d\d:\d\d", inside)),
            ("model", "model " in inside),
            ("mode", "mode " in inside),
        )
        if there
    )


def headers(lines: list[str]) -> list[int]:
    """Where the turns begin: indices of the header lines that are no quotations."""
    found: list[int] = []
    began = next((_clock(m[1]) for m in map(_SESSION.match, lines[:12]) if m), "")
    spellings: set[str] = set()
    block = quoting = False
    for number, line in enumerate(lines):
        header = _HEADER.match(line)
        if header is None:
            who = lines[found[-1]] if found else ""
            if line.startswith("<tool-use ") and not who.startswith("_**User"):
                block = "</tool-use>" not in line
            elif line.rstrip().endswith("</tool-use>"):
                block = False
            continue
        time, spelling = _clock(header[3]), header[1] + _spelling(header[3])
        if number and lines[number - 1].strip():
            continue
        if block and _closes_first(lines, number):
            continue
        if time and not found:
            began = min(began or time, time)
        if time and began and time < began or quoting and spelling not in spellings:
            quoting = True
            continue
        quoting = block = False
        spellings.add(spelling)
        found.append(number)
    return found


def _closes_first(lines: list[str], number: int) -> bool:
    """Whether the block that is open at a line is closed before another one is opened."""
    for line in lines[number:]:
        if line.startswith("<tool-use "):
            return False
        if line.rstrip().endswith("</tool-use>"):
            return True
    return False


def specstory(text: str) -> Account:
    """Header lines and, inside an agent's turn, the recorder's own blocks."""
    made = Account("specstory")
    lines = text.split("\n")
    starts = [*headers(lines), len(lines)]
    resumed = False
    for start, end in pairwise(starts):
        header, body = lines[start], lines[start + 1 : end]
        if not header.startswith("_**User") and not _ASKED.search(header):
            said = list(_answered(body))
            if resumed and _flat(body):
                said = [(number, TOOL, piece) for number, piece in enumerate(body)]
            resumed = resumed or any(map(_RESUMED.match, body[:3]))
            if "<synthetic>" in header:
                said = [(number, NOTICE, piece) for number, _, piece in said]
            owners = {owner for _, owner, piece in said if words(piece)}
            only = next((x for x in (NOTICE, TOOL) if owners == {x}), "")
            speaker = f"{AGENT}|{only}" if only else AGENT
        elif "sidechain" in header:
            speaker, said = NOTICE, [(number, NOTICE, x) for number, x in enumerate(body)]
        else:
            said = [piece for piece in typed(body) if words(piece[2])]
            speaker = asks("\n".join(body)) if said else f"{PERSON}|{NOTICE}"
            said = [] if "|" in speaker else said
        made.turns.append((start + 1, speaker))
        for number, owner, piece in said:
            piece = unmarked(piece)
            if words(piece):
                made.lines.append(Line(start + 1, start + 2 + number, owner, piece))
    return made


_RULE = re.compile(r"---\s*$|_(?:\*|\\\*){4}_\s*$")
_FAILED = re.compile(
    r"Cancelled$|Error calling tool '|Tool call timed out|Path does not exist|File not found"
    r"|Path is a directory|Could not (?:find file|access path|resolve URI)|Fetch timed out"
    r"|Error fetching URL|The string to replace was not found|String to replace not found"
    r"|Tool \S+ not found|Incorrect tool arguments|rg: .*IO error"
    r"|(?:The m|M)odel (?:performed no|made no changes|provided|supplied)"
)
_ASKED = re.compile(r" - sidechain \(\d{4}-")
"""A subagent's header with a time and no model: what it is asked."""
_RESUMED = re.compile(r"Resumed from a .* session via SpecStory")
_LIMIT = "Copilot has been working on this problem for a while."


def _tools(body: list[str]) -> set[int]:
    """Lines of the steps that are tool uses, and of failures above an empty block."""
    found: set[int] = set()
    start = 0
    for end in [*(n for n, x in enumerate(body) if _RULE.match(x)), len(body)]:
        step = [n for n in range(start, end) if body[n].strip()]
        start = end + 1
        text = [body[n].rstrip() for n in step]
        if not text:
            continue
        fences = [k for k, x in enumerate(text) if x.startswith("```")]
        outside = [
            k
            for k, x in enumerate(text)
            if not x.startswith("```") and sum(f < k for f in fences) % 2 == 0
        ]
        kinds = {text[k].strip("`") for k in fences}
        if (
            text[0].startswith("Read file: ")
            and len(text) == 1
            or text[0].strip("`") == "diff"
            and kinds == {"diff", ""}
            and not outside
            or text[0] == "```bash"
            and text[-1] == "```"
            and text[fences[1] + 1 : fences[1] + 2] in ([], ["```"])
            or text[0].startswith("### Rule: ")
            and any(x.startswith("```") for x in text[1:4])
            or _FAILED.match(text[0])
            and all(x.startswith("- ") for x in text[1:])
        ):
            found.update(step)
    for number, line in enumerate(body):
        if _FAILED.match(line) and not found.issuperset({number}):
            after = next((x for x in body[number + 1 :] if x.strip()), "")
            if after.startswith("<tool-use "):
                found.add(number)
    return found


def _flat(body: list[str]) -> bool:
    """Whether a turn is a tool use without its markup."""
    text = [x for x in body if x.strip() and x.strip() != "---"]
    if "```text" not in text or text[-1] != "```":
        return False
    head = text[: text.index("```text")]
    if head and head[0].startswith(" "):
        return len(head) == 1
    if head and not head[0].startswith("`"):
        return len(head) > 1 and head[1].startswith("`") and head[-1].endswith("`")
    return not head or head[0].startswith("```") and head[-1] == "```"


def _answered(body: list[str]) -> Iterator[tuple[int, str, str]]:
    """The pieces of an agent's turn: words, `<think>`, tool uses, `<details>` of older ones,
    fences called "thinking", and the older "Tool use: **Name**" with its result's fence."""
    owner, until = AGENT, ""
    fenced = inside = tasks = False
    tools = _tools(body)
    for number, line in enumerate(body):
        bare = line.strip()
        if not until:
            tasks = bare == "**Agent task list:**" or tasks and bare.startswith("- [")
            if tasks or number in tools:
                yield number, TOOL, line
                continue
            if _LIMIT in line:
                before, _, line = line.partition(_LIMIT)
                yield number, AGENT, before
                yield number, NOTICE, _LIMIT + line
                continue
            if line.startswith("<tool-use "):
                owner, until = TOOL, "</tool-use>"
            elif "<think>" in line:
                before, _, line = line.partition("<think>")
                yield number, AGENT, before
                owner, until = REASONING, "</think>"
            elif bare.startswith("```thinking"):
                owner, until, fenced = REASONING, "```", False
                continue
            elif re.match(r"\s*<details>", line):
                owner, until = TOOL, "</details>"
            elif re.match(r"Tool use: \*\*", line) or (
                re.match(r"(?:Result|Error):\s*$", line)
                and any(x.startswith("```") for x in body[number + 1 : number + 3])
            ):
                owner, until, fenced, inside = TOOL, "\n", False, False
        if until == "\n":  # An older tool use: to a rule outside its fences and details.
            if re.match(r"</?details>", bare):
                inside, fenced = bare[1] == "d", False
            fenced ^= bare.startswith("```")
            if bare == "---" and not fenced and not inside:
                owner, until = AGENT, ""
            yield number, owner, line
        elif until == "```":
            yield number, owner, line
            # A fence inside is followed by its text, the recorder's own one by a blank line.
            if bare == "```" and fenced:
                fenced = False
            elif bare == "```" and not "".join(body[number + 1 : number + 2]).strip():
                until = ""
            else:
                fenced = fenced or bare.startswith("```")
        elif until and until in line and (until != "</tool-use>" or bare.endswith(until)):
            before, _, after = line.rpartition(until)
            yield number, owner, before
            owner, until = AGENT, ""
            yield number, owner, after
        else:
            yield number, owner if until else AGENT, line
