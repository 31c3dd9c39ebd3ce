"""What the next agent has to know, taken from a summary: each fact one inert line."""

from __future__ import annotations

from msgspec import Struct

from leftoff.documents.checkpoint.roles import Role
from leftoff.documents.wording import brief, inline
from leftoff.findings import ContextSummary, FileModification
from leftoff.model import Ref

TITLES = (
    "Asked",
    "Left open",
    "Decided",
    "Files modified",
    "Files deleted",
    "Errors",
    "Progress",
    "Reached",
    "Found out",
)
"""Titles of a checkpoint's summary, the most important first."""


class Facts(Struct, frozen=True):
    """A session in short lines: recorded words made inert, each with its place (`#12`).

    Attributes:
        task: what is to be done, in its owner's words.
        asked: open requests and the constraints that hold.
        files_created, files_modified, files_deleted: paths alone.
        files: the same as lines with what happened to each.
        reached: milestones that a tool's output shows.
        claimed: milestones that are only said.
        errors: failures that nothing has mended since, oldest first.
        touches: how often files were changed; with `reached` it tells whether work got on.
    """

    task: str = ""
    asked: tuple[str, ...] = ()
    left_open: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    files_created: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    files_deleted: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()
    claimed: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    found_out: tuple[str, ...] = ()
    stage: str = ""
    touches: int = 0

    def sections(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Titles with their items, the most important first; empty ones are left out."""
        items = {
            "Asked": self.asked,
            "Left open": self.left_open,
            "Decided": self.decided,
            "Files modified": self.files_modified,
            "Files deleted": self.files_deleted,
            "Errors": self.errors,
            "Progress": (self.stage,) if self.stage else (),
            "Reached": (*self.reached, *(f"{c} (said, not shown)" for c in self.claimed)),
            "Found out": self.found_out,
        }
        return tuple((title, items[title]) for title in TITLES if items[title])

    def text(self) -> str:
        """The facts as titles and items, one on each line."""
        lines: list[str] = []
        for title, items in self.sections():
            lines += [f"{title}:", *(f"- {item}" for item in items)]
        return "\n".join(lines)


def facts_of(summary: ContextSummary, *, goal: str = "", role: Role | None = None) -> Facts:
    """The facts of a recorded session.

    Args:
        goal: the task in its owner's words; the first request that is not done if "".
        role: which files are listed; all if None.
    """
    requests = [r for r in summary.user_requests if r.status != "withdrawn"]
    in_force = [r for r in requests if r.status == "open" or r.kind == "constraint"]
    task = goal or next((r.text for r in requests if r.kind == "task"), "")
    cwd = summary.session.cwd
    changed = [
        f
        for f in summary.file_modifications
        if f.action != "read" and (role is None or role.tracks(relative(f.path, cwd)))
    ]
    progress = summary.progress
    decisions = [d for d in summary.key_decisions if d.status == "made"]
    decisions.sort(key=lambda d: (-d.confidence, d.message_index))
    shown = [m for m in progress.milestones if m.evidence == "verified"]
    said = [m for m in progress.milestones if m.evidence == "claimed"]
    return Facts(
        task=brief(task, 1000),
        asked=tuple(
            _cited(r.text, r.ref, "constraint" if r.kind == "constraint" else "")
            for r in in_force
        ),
        left_open=tuple(_cited(s.text, s.ref, s.status) for s in summary.next_steps),
        decided=tuple(_cited(d.text, d.ref) for d in decisions),
        files_created=_paths(changed, "created", cwd),
        files_modified=_paths(changed, "modified", cwd),
        files_deleted=_paths(changed, "deleted", cwd),
        files=tuple(_file(f, cwd) for f in changed),
        reached=tuple(_cited(m.text, m.ref, m.kind) for m in shown),
        claimed=tuple(_cited(m.text, m.ref, m.kind) for m in said),
        errors=tuple(
            _cited(e.text, e.ref, inline(e.tool)) for e in summary.errors if not e.fixed
        ),
        found_out=tuple(_cited(f.text, f.ref) for f in summary.key_findings),
        stage=_stage(summary),
        touches=sum(f.touch_count for f in changed),
    )


def relative(path: str, cwd: str) -> str:
    """A path as seen from the task's directory; one outside of it stays as it is."""
    root = cwd.replace("\\", "/").rstrip("/")
    plain = path.replace("\\", "/")
    if root and plain.startswith(root + "/"):
        return plain[len(root) + 1 :]
    return plain


def _paths(changed: list[FileModification], action: str, cwd: str) -> tuple[str, ...]:
    found = (inline(relative(f.path, cwd)) for f in changed if f.action == action)
    return tuple(dict.fromkeys(found))


def _file(file: FileModification, cwd: str) -> str:
    path = inline(relative(file.path, cwd))
    moved = f", was {inline(relative(file.renamed_from, cwd))}" if file.renamed_from else ""
    unsure = "" if file.certainty == "sure" else f", {file.certainty}"
    return f"{file.action}: {path}{moved}{unsure}"


def _cited(text: str, ref: Ref, note: str = "") -> str:
    where = f"#{ref.message + 1}"
    return f"{brief(text)} ({note}, {where})" if note else f"{brief(text)} ({where})"


def _stage(summary: ContextSummary) -> str:
    progress = summary.progress
    if not progress.current_stage and not progress.completed_stages:
        return ""
    words = f"{progress.progress_percentage} %, stage {progress.current_stage or 'unknown'}"
    if progress.tests_older_than_last_edit:
        words += "; files were edited after the last test run"
    return words
