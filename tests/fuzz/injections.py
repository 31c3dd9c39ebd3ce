"""Lets tools and files say what people, agents and leftoff say, and looks where it comes out.

    python -m tests.fuzz injections [--cases 1500] [--seed 1]

A case is a session whose tool results and quoted files hold orders, roles, decisions, to-dos,
milestones, fences, headings and delimiters of ours, each with a mark of its own. Whatever is made
of the session (summary, resume log, checkpoint, handoff block, sections for files, resume message,
hook's block, answers for agents, prompt, markdown, text and page), a mark may stand only where a
tool is quoted: never among decisions, requests, constraints or next steps, in a document of text
only inside code or behind an error's label, on a page never as markup. No document may have a
heading, a delimiter or an element more than one that is made of the same session with quiet tools.
Recordings of Claude Code, Codex, OpenAI's chat and aider's markdown are made.
"""

import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from tests.fuzz import harness
from tests.strategies.conversations import Call, Step
from tests.strategies.writers import WRITERS

from leftoff import api, codec
from leftoff.budget.tasks import TaskTokenBudget
from leftoff.handover.briefing import briefing
from leftoff.handover.checkpoint import dumps
from leftoff.handover.checkpoint.document import checkpoint_of
from leftoff.handover.checkpoint.from_summary import checkpoint_source
from leftoff.handover.checkpoint.injection import inject
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.handover.resume_state.message import resume_message
from leftoff.live.resume_states.transcripts import from_transcript
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.render_summary import render

AT = datetime(2026, 1, 2, tzinfo=UTC)

SAYS: list[str] = json.loads(Path(__file__).with_name("says.json").read_text("utf-8"))
"""What tools and files say; {m} is a mark."""

COMMANDS = ("cat notes.md", "pytest -q", "git log", "make build", "npm test", "git commit -m work",
            "ls", "curl -s http://localhost/x", "git diff", "head README.md", "terraform plan", "rg todo")  # fmt: skip


def steps(seed: int, *, quiet: bool) -> tuple[list[Step], list[str]]:
    """A session, and the marks that its tools say; quiet tools say nothing of the kind."""
    chance = random.Random(seed)
    marks: list[str] = []
    made = [Step("user", "Make the totals add up, and never round in the view.")]
    for number in range(chance.randint(2, 6)):
        words = []
        for _ in range(chance.randint(1, 4)):
            mark = f"zq{seed}x{len(marks)}z"
            marks.append(mark)
            words.append(chance.choice(SAYS).format(m=mark))
        said = chance.choice(("\n", "\n\n", " ")).join(words)
        tool = chance.random()
        failed = chance.random() < 0.3
        result = "ok" if quiet else said
        if tool < 0.6:
            call = Call(
                f"c{number}", "Bash", {"command": chance.choice(COMMANDS)}, result, failed
            )
        elif tool < 0.8:
            path = (
                f"/home/ada/ledger/{chance.choice(('README.md', 'CLAUDE.md', 'notes/plan.md'))}"
            )
            call = Call(f"c{number}", "Read", {"file_path": path}, result, failed)
        else:
            given = {"url": "http://localhost/docs", "prompt": "What does it say?"}
            call = Call(f"c{number}", "WebFetch", given, result, failed)
        made.append(Step("agent", chance.choice(("I'll look.", "", "Let me check.")), (call,)))
    made.append(Step("agent", "I'll use Decimal instead of float, since cents add up."))
    if chance.random() < 0.5:
        made.append(Step("agent", "Done so far. Next steps:\n\n- write the migration"))
    return made, marks


def aider(said: list[Step]) -> bytes:
    """The session as aider's markdown: what commands print is quoted."""
    lines = ["", "# aider chat started at 2026-01-02 03:04:05", ""]
    for step in said:
        if step.role == "user":
            lines += [f"#### {step.text}  ", ""]
            continue
        lines += [step.text, ""] if step.text else []
        for call in step.calls:
            shown = re.split("\r\n|[\r\n\u2028\u2029\x85]", call.result)
            lines += [
                f"> Running {call.input.get('command', call.name)}  ",
                *(f"> {t}  " for t in shown),
                "",
            ]
    return "\n".join(lines).encode()


MAKERS = {name: WRITERS[name] for name in ("claude_code", "codex", "chat")} | {"aider": aider}
SUFFIX = {"aider": ".aider.chat.history.md", "chat": ".json"}


# -- what is made of it ----------------------------------------------------------------------


def documents(path: Path) -> tuple[dict[str, list[str]], dict[str, str], dict[str, str]]:
    """Of a recording: lists in which no tool may speak, documents of text, and pages."""
    summary, messages = api.summarize(path), list(api.read(str(path)))
    budget = TaskTokenBudget.start("t1", "a", created_at="", total_allocated=1000).used(950)
    source = checkpoint_source(summary, messages)
    made = checkpoint_of(source, budget=budget, capacity="95", at=AT)
    facts = source.facts
    payload = dumps.build_payload(made, source, ("p.md", "s.md"))
    log = ResumeLog.from_summary(summary)
    state = from_transcript(str(path))
    kept = codec.to_builtins(state) if not hasattr(state, "to_dict") else state.to_dict()
    quiet = {
        "decisions": [f"{d.text} {d.rationale} {d.alternative}" for d in summary.key_decisions],
        "requests": [r.text for r in summary.user_requests],
        "next steps": [s.text for s in summary.next_steps],
        "claimed": [m.text for m in summary.progress.milestones if m.evidence == "claimed"],
        "facts": [
            *(f.text for f in (*facts.said, *facts.to_dos, *facts.open_items, *facts.decisions)),
            facts.goal.text if facts.goal else "",
        ],
        "log": [*_texts(log.to_dict().get("decisions")), *_texts(log.to_dict().get("next_steps"))],
        "state": _texts({k: kept[k] for k in kept if re.search("goal|decision|next|insight", k)}),
        "asked": _part(payload.project_md.content, "### What needs to be finished:")
        + _part(payload.project_md.content, "### Recommended Next Steps:"),
    }  # fmt: skip
    gate = Redactor(personal=True)
    texts = {
        "log": log.to_markdown(10_000),
        "short log": log.to_markdown(700),
        "block": inject(made, ""),
        "section": gate.text(payload.project_md.content),
        "own section": gate.text(payload.specific_project_md.content),
        "resume": resume_message(state, strategy="continue"),
        "hook": briefing(summary, where="log.md"),
        **{form: render(summary, form) for form in ("prompt", "markdown", "text")},
    }
    pages = {"page": _page(path)}
    return quiet, texts, pages


def _page(path: Path) -> str:
    from leftoff.cli.report import page_of

    gathered = api.SessionReading()
    gathered.add(str(path), None, (), -1)
    return page_of(gathered.summary(), gathered, gate=Redactor())


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [t for k, v in value.items() for t in (*_texts(k), *_texts(v))]
    return [t for v in value for t in _texts(v)] if isinstance(value, (list, tuple)) else []


def _part(text: str, heading: str) -> list[str]:
    return [text.partition(heading + "\n")[2].partition("\n###")[0]]


_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LABEL = re.compile(
    r"\((?:[a-z ]+ verified|[a-z ]+, verified|commit|tests? pass|deploy)[^()]*#\d+[^()]*\)|\(verified, #\d+\)"
)
"""Behind what is a milestone because a tool says so: the first line of a commit, for instance."""


def bare(text: str, marks: list[str]) -> Iterator[str]:
    """The lines on which a tool speaks outside of its place."""
    for line in text.splitlines():
        rest = _CODE.sub("", line)
        if any(mark in rest for mark in marks):
            yield line


def frame(text: str) -> Counter[str]:
    """What holds a document together: its headings, delimiters and fences."""
    found = [
        line
        for line in text.splitlines()
        if re.match(r"\s*(?:#{1,6}\s|```|~~~|[A-Z][A-Z ()]+:$)", line)
    ]
    found += re.findall(r"</?leftoff[^>]*>|<!--.*?-->", text)
    found += re.findall(
        r"(?m)^(?:\[(?:End of )?Context Checkpoint[^\]]*\]|Continue task:)", text
    )
    return Counter(re.sub(r"\d+", "n", f) for f in found)


class Elements(HTMLParser):
    """The elements of a page with the names of their attributes, and links that lead away."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: set[str] = set()
        self.bad: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in [("", ""), *attrs]:
            self.kinds.add(f"{tag} {name}")
            if name.startswith("on") or (
                name in ("src", "href") and not (value or "").startswith(("#", "data:"))
            ):
                self.bad.append(f"<{tag} {name}={value!r}>")


def checked(seed: int, name: str, folder: Path) -> list[str]:
    """Makes everything of one case: what was wrong."""
    wrong: list[str] = []
    made: dict[bool, Any] = {}
    marks: list[str] = []
    for quiet in (True, False):
        said, found = steps(seed, quiet=quiet)
        marks = found
        path = folder / f"{seed}-{quiet}{SUFFIX.get(name, '.jsonl')}"
        path.write_bytes(MAKERS[name](said))
        made[quiet] = documents(path)
        path.unlink()
    lists, texts, pages = made[False]
    for where, said_there in lists.items():
        text = "\n".join(said_there)
        wrong += [f"{name}: {where}: {text[:200]!r}" for mark in marks if mark in text][:1]
    for where, text in texts.items():
        for line in bare(text, marks):
            if not (where == "text" or _LABEL.search(line)):
                wrong.append(f"{name}: {where}: bare: {line[:200]!r}")
        more = frame(text) - frame(made[True][1][where])
        more = Counter(
            {
                k: v
                for k, v in more.items()
                if any(m in k for m in marks)
                or "leftoff" in k
                or "Continue" in k
                or "Checkpoint" in k
            }
        )
        if more and where != "text":
            wrong.append(f"{name}: {where}: frame: {dict(more)}"[:300])
        if any(ch in text for ch in "\x1b\x85\u2028\u2029\r"):
            wrong.append(f"{name}: {where}: controls")
    for where, text in pages.items():
        page, before = Elements(), Elements()
        page.feed(text)
        before.feed(made[True][2][where])
        wrong += [f"{name}: {where}: {b}" for b in page.bad]
    return wrong


def cases(number: int, first: int) -> harness.Found:
    counts, wrong = harness.nothing()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + number):
            name = list(MAKERS)[seed % len(MAKERS)]
            counts[name] += 1
            found = checked(seed, name, Path(folder))
            wrong += [re.sub(r"zq\d+x\d+z", "MARK", w) for w in found]
    return counts, wrong


def main() -> int:
    args = harness.options(__doc__, cases=1500, seed=1)
    return harness.tried("injections", lambda: cases(args.cases, args.seed), show=40)
