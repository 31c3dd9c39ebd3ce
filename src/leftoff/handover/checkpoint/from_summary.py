"""What a checkpoint takes from a recorded session: its `Handover`, and the text of it."""

from __future__ import annotations

from msgspec.structs import replace

from leftoff.handover.checkpoint.roles import Role
from leftoff.handover.facts import Fact, Handover, handover_of, with_goal
from leftoff.handover.lines import MIDDLE, recent_failures, state_lines, texts, words_of
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary, FileModification


def collect_facts(
    summary: ContextSummary, *, goal: str = "", role: Role | None = None
) -> Handover:
    """The handover of a recorded session, redacted, with paths as seen from its directory.

    It is redacted before it is put into words: on one line, without its marks, a key may look
    like any words.

    Args:
        goal: the task in its owner's words; the first that was asked if "".
        role: which files are listed; all if None.
    """
    cwd = summary.session.cwd
    handover = handover_of(summary)
    files = (_in_directory(f, cwd) for f in handover.files)
    listed = tuple(f for f in files if role is None or role.tracks(f.path))
    read = tuple(relative(path, cwd) for path in handover.read)
    facts = with_goal(replace(handover, files=listed, read=read), goal)
    redacted: Handover = Redactor(personal=True).value(facts)
    return redacted


def summary_text(facts: Handover) -> str:
    """The facts as the state in a line or two, then titles and items, one on each line."""
    lines = state_lines(facts.state)
    for title, items in texts(facts):
        lines += [f"{title}:", *(f"- {item}" for item in items)]
    return "\n".join(lines)


def state_text(facts: Handover) -> str:
    """Where the session stands, on one line."""
    return " ".join(state_lines(facts.state)) or "not known"


def blockers(facts: Handover) -> tuple[str, ...]:
    """Failures that nothing mended and checks that failed last, the latest first."""
    failed = [c for c in facts.checks if c.note.startswith("failed")]
    found = sorted((*recent_failures(facts), *failed), key=lambda fact: -fact.message)
    return tuple(words_of(fact, MIDDLE) for fact in found)


def remaining(facts: Handover) -> tuple[str, ...]:
    """What is left to do: the message that an open turn answers, the agent's question, to-dos,
    steps that were left, and what else the person asked and was not seen done."""
    last = facts.last_message
    asked = [last] if last is not None and facts.state.turn in {"open", "interrupted"} else []
    question = [Fact(facts.state.question)] if facts.state.question else []
    open_ = [fact for fact in facts.said if fact.weight == 1.0]
    found = (*asked, *question, *facts.to_dos, *facts.open_items, *open_)
    return tuple(words_of(fact, MIDDLE) for fact in found)


def paths(facts: Handover, action: str) -> tuple[str, ...]:
    """The paths of files by what happened to them."""
    return tuple(dict.fromkeys(f.path for f in facts.files if f.action == action))


def _in_directory(file: FileModification, cwd: str) -> FileModification:
    was = file.renamed_from and relative(file.renamed_from, cwd)
    return replace(file, path=relative(file.path, cwd), renamed_from=was)


def relative(path: str, cwd: str) -> str:
    """A path as seen from the task's directory; one outside of it stays as it is."""
    root = cwd.replace("\\", "/").rstrip("/")
    plain = path.replace("\\", "/")
    if not root or not plain.startswith(root + "/"):
        return path
    if "\\" in path:  # redacted while its backslashes are those of escapes
        inside = Redactor(personal=True).text(path[len(root) + 1 :])
        return inside.replace("\\", "/")
    return plain[len(root) + 1 :]
