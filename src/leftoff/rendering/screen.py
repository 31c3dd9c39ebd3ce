"""The text form: one screen that a person likes to read."""

from __future__ import annotations

from typing import Any

from leftoff.handover.wording import duration, number, place, plural, unseen
from leftoff.text.sanitize import clean
from leftoff.text.truncation import one_line

_STYLES = {"bold": "1", "dim": "2", "green": "32", "yellow": "33", "red": "31", "cyan": "36"}
_MARKS = {"verified": ("✓", "green"), "claimed": ("·", "dim"), "contradicted": ("✗", "red")}
_ARROWS = {"created": "+", "modified": "~", "deleted": "-"}


class _Screen:
    """Lines with styles, cut to a width."""

    def __init__(self, width: int, *, colour: bool) -> None:
        self.width = max(40, width)
        self.colour = colour
        self.lines: list[str] = []

    def style(self, text: str, name: str) -> str:
        return f"\x1b[{_STYLES[name]}m{text}\x1b[0m" if self.colour and text else text

    def add(self, text: str = "") -> None:
        self.lines.append(text.rstrip())

    def section(self, title: str, note: str = "") -> None:
        if self.lines and self.lines[-1]:
            self.add()
        self.add(self.style(title, "bold") + (self.style(f"  {note}", "dim") if note else ""))

    def item(self, mark: str, text: str, note: str = "", style: str = "cyan") -> None:
        room = self.width - 4 - len(mark) - (len(note) + 2 if note else 0)
        body = one_line(text, max(20, room))
        tail = "  " + self.style(note, "dim") if note else ""
        self.add(f"  {self.style(mark, style)} {body}{tail}")

    def left_out(self, count: int, what: str) -> None:
        if count > 0:
            self.add(self.style(f"    … {count} more {what}", "dim"))


def screen(value: dict[str, Any], *, colour: bool = False, width: int = 96) -> str:
    """The summary (plain, redacted values) as text of at most `width` columns."""
    out = _Screen(width, colour=colour)
    _head(out, value)
    _requests(out, value["user_requests"])
    _decisions(out, value["key_decisions"])
    _progress(out, value["progress"])
    _files(out, value["file_modifications"], unseen(value["unknown_effects"]))
    _open(out, value)
    _foot(out, value)
    return "\n".join(out.lines) + "\n"


def _head(out: _Screen, value: dict[str, Any]) -> None:
    session, stats = value["session"], value["stats"]
    title = session["title"] or (
        value["user_requests"][0]["text"] if value["user_requests"] else session["id"]
    )
    out.add(out.style(one_line(title or "session", out.width), "bold"))
    facts = [session["format"], *session["models"], session["started"][:16].replace("T", " ")]
    facts.append(duration(stats["duration_seconds"]))
    out.add(out.style(" · ".join(clean(f) for f in facts if f), "dim"))
    where = [session["cwd"], session["branch"] and f"on {session['branch']}"]
    if any(where):
        out.add(out.style(one_line("  ".join(w for w in where if w), out.width), "dim"))
    counts = [
        plural(stats["message_count"], "message"),
        plural(stats["turn_count"], "turn"),
        plural(stats["tool_call_count"], "tool call"),
    ]
    if session["children"]:
        counts.append(plural(len(session["children"]), "subagent"))
    out.add(" · ".join(counts))
    _context(out, value["context"])


def _context(out: _Screen, context: dict[str, Any]) -> None:
    parts: list[str] = []
    if context["occupancy"] is not None:
        parts.append(f"{number(context['occupancy'])} tokens in context")
    if context["fraction"] is not None:
        parts.append(f"{context['fraction']:.0%} of {number(context['usable_window'])} usable")
    if context["compactions"]:
        parts.append(plural(len(context["compactions"]), "compaction"))
    spend = context["spend"]
    if spend["output"]:
        parts.append(f"{number(spend['output'])} tokens written")
    if parts:
        out.add(" · ".join(parts))


def _requests(out: _Screen, requests: list[dict[str, Any]]) -> None:
    asked = [r for r in requests if r["kind"] != "approval"]
    if not asked:
        return
    out.section("Asked", f"{len(requests)} in all" if len(requests) > 4 else "")
    shown = asked if len(asked) <= 4 else [asked[0], *asked[-3:]]
    for request in shown:
        mark = "○" if request["status"] == "open" else "✓"
        out.item(mark, request["text"], place(request["ref"]))


def _decisions(out: _Screen, decisions: list[dict[str, Any]]) -> None:
    if not decisions:
        return
    best = sorted(decisions, key=lambda d: (-d["confidence"], d["message_index"]))[:8]
    best.sort(key=lambda d: (d["message_index"], d["ref"]["start"] or 0))
    out.section("Decided", f"{len(decisions)} in all" if len(decisions) > len(best) else "")
    for decision in best:
        note = f"{decision['type']} {decision['confidence']:.0%} {place(decision['ref'])}"
        out.item("▸", decision["text"], note)


def _progress(out: _Screen, progress: dict[str, Any]) -> None:
    if not progress["current_stage"] and not progress["milestones"]:
        return
    note = f"{progress['progress_percentage']}%"
    out.section("Progress", note)
    path = list(dict.fromkeys(change["stage"] for change in progress["timeline"]))
    if path:
        out.add(
            "  " + " → ".join([*path[:-1], path[-1]]) + f"  (now: {path and _now(progress)})"
        )
    for milestone in progress["milestones"][-6:]:
        mark, style = _MARKS[milestone["evidence"]]
        kind = milestone["kind"].replace("_", " ")
        out.item(mark, milestone["text"], f"{kind} {place(milestone['ref'])}", style)
    out.left_out(len(progress["milestones"]) - 6, "milestones before these")
    if progress["tests_older_than_last_edit"]:
        out.add(out.style("  ! files were edited after the last test run", "yellow"))


def _now(progress: dict[str, Any]) -> str:
    return str(progress["declared_stage"] or progress["current_stage"])


def _files(out: _Screen, modifications: list[dict[str, Any]], others: str) -> None:
    changed = [f for f in modifications if f["action"] != "read"]
    read = len(modifications) - len(changed)
    if not modifications and not others:
        return
    counts = [
        f"{sum(f['action'] == action for f in changed)} {action}"
        for action in _ARROWS
        if any(f["action"] == action for f in changed)
    ]
    out.section("Files", ", ".join([*counts, f"{read} read"] if read else counts))
    renamed = {f["renamed_from"]: f["path"] for f in changed if f["renamed_from"]}
    shown = [f for f in changed if f["path"] not in renamed]
    shown.sort(key=lambda f: (-f["touch_count"], f["path"]))
    for file in shown[:12]:
        name = file["path"]
        if file["renamed_from"]:
            name = f"{file['renamed_from']} → {name}"
        note = f"×{file['touch_count']}" if file["touch_count"] > 1 else ""
        if file["certainty"] != "sure":
            note = f"{note} {file['certainty']}".strip()
        if file["branch"]:
            note = f"{note} {file['branch']} branch".strip()
        out.item(_ARROWS[file["action"]], name, note)
    out.left_out(len(shown) - 12, "changed files")
    if others:
        out.item("?", others, style="dim")


def _open(out: _Screen, value: dict[str, Any]) -> None:
    steps = value["next_steps"]
    unfixed = [e for e in value["errors"] if not e["fixed"]][-2:]
    if steps:
        out.section("Left open")
        for step in steps[:6]:
            mark = "◐" if step["status"] == "in_progress" else "○"
            out.item(mark, step["text"], place(step["ref"]))
        out.left_out(len(steps) - 6, "open items")
    if unfixed:
        out.section("Last errors", f"{len(value['errors'])} in all")
        for error in unfixed:
            out.item("!", error["text"], f"{error['tool']} {place(error['ref'])}", "red")


def _foot(out: _Screen, value: dict[str, Any]) -> None:
    notes: list[str] = []
    worse = [i for i in value["issues"] if i["severity"] != "info"]
    notes += [f"{i['count']} × {i['what']}" for i in worse]
    removed = value["stats"]["redactions"]
    if removed:
        notes.append(f"{plural(sum(removed.values()), 'secret')} redacted")
    if notes:
        out.add()
        out.add(out.style(one_line("note: " + "; ".join(notes), out.width), "yellow"))
