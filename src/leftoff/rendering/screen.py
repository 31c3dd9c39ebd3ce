"""The text form of a summary, for a terminal: at most one screen."""

from __future__ import annotations

from typing import Any

from leftoff.handover.wording import duration, message_label, number, plural, unnamed_changes
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

    def add_line(self, text: str = "") -> None:
        self.lines.append(text.rstrip())

    def add_section(self, title: str, note: str = "") -> None:
        if self.lines and self.lines[-1]:
            self.add_line()
        self.add_line(
            self.style(title, "bold") + (self.style(f"  {note}", "dim") if note else "")
        )

    def add_item(self, mark: str, text: str, note: str = "", style: str = "cyan") -> None:
        available = self.width - 4 - len(mark) - (len(note) + 2 if note else 0)
        body = one_line(text, max(20, available))
        suffix = "  " + self.style(note, "dim") if note else ""
        self.add_line(f"  {self.style(mark, style)} {body}{suffix}")

    def add_left_out(self, count: int, what: str) -> None:
        if count > 0:
            self.add_line(self.style(f"    … {count} more {what}", "dim"))


def render_screen(value: dict[str, Any], *, colour: bool = False, width: int = 96) -> str:
    """The summary (plain, redacted values) as text of at most `width` columns."""
    out = _Screen(width, colour=colour)
    _add_head(out, value)
    _add_requests(out, value["user_requests"])
    _add_decisions(out, value["key_decisions"])
    _add_progress(out, value["progress"])
    _add_files(out, value["file_modifications"], unnamed_changes(value["unknown_effects"]))
    _add_open_items(out, value)
    _add_notes(out, value)
    return "\n".join(out.lines) + "\n"


def _add_head(out: _Screen, value: dict[str, Any]) -> None:
    session, stats = value["session"], value["stats"]
    title = session["title"] or (
        value["user_requests"][0]["text"] if value["user_requests"] else session["id"]
    )
    out.add_line(out.style(one_line(title or "session", out.width), "bold"))
    session_facts = [
        session["format"],
        *session["models"],
        session["started"][:16].replace("T", " "),
    ]
    session_facts.append(duration(stats["duration_seconds"]))
    out.add_line(out.style(" · ".join(clean(f) for f in session_facts if f), "dim"))
    location = [session["cwd"], session["branch"] and f"on {session['branch']}"]
    if any(location):
        out.add_line(out.style(one_line("  ".join(w for w in location if w), out.width), "dim"))
    counts = [
        plural(stats["message_count"], "message"),
        plural(stats["turn_count"], "turn"),
        plural(stats["tool_call_count"], "tool call"),
    ]
    if session["children"]:
        counts.append(plural(len(session["children"]), "subagent"))
    out.add_line(" · ".join(counts))
    _add_context(out, value["context"])


def _add_context(out: _Screen, context: dict[str, Any]) -> None:
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
        out.add_line(" · ".join(parts))


def _add_requests(out: _Screen, requests: list[dict[str, Any]]) -> None:
    asked = [r for r in requests if r["kind"] != "approval"]
    if not asked:
        return
    out.add_section("Asked", f"{len(requests)} in all" if len(requests) > 4 else "")
    shown = asked if len(asked) <= 4 else [asked[0], *asked[-3:]]
    for request in shown:
        mark = "○" if request["status"] == "open" else "✓"
        out.add_item(mark, request["text"], message_label(request["ref"]))


def _add_decisions(out: _Screen, decisions: list[dict[str, Any]]) -> None:
    if not decisions:
        return
    shown = sorted(decisions, key=lambda d: (-d["confidence"], d["message_index"]))[:8]
    shown.sort(key=lambda d: (d["message_index"], d["ref"]["start"] or 0))
    out.add_section(
        "Decided", f"{len(decisions)} in all" if len(decisions) > len(shown) else ""
    )
    for decision in shown:
        note = (
            f"{decision['type']} {decision['confidence']:.0%} {message_label(decision['ref'])}"
        )
        out.add_item("▸", decision["text"], note)


def _add_progress(out: _Screen, progress: dict[str, Any]) -> None:
    if not progress["current_stage"] and not progress["milestones"]:
        return
    note = f"{progress['progress_percentage']}%"
    out.add_section("Progress", note)
    path = list(dict.fromkeys(change["stage"] for change in progress["timeline"]))
    if path:
        out.add_line(
            "  "
            + " → ".join([*path[:-1], path[-1]])
            + f"  (now: {path and _stage_name(progress)})"
        )
    for milestone in progress["milestones"][-6:]:
        mark, style = _MARKS[milestone["evidence"]]
        kind = milestone["kind"].replace("_", " ")
        out.add_item(
            mark, milestone["text"], f"{kind} {message_label(milestone['ref'])}", style
        )
    out.add_left_out(len(progress["milestones"]) - 6, "milestones before these")
    if progress["tests_older_than_last_edit"]:
        out.add_line(out.style("  ! files were edited after the last test run", "yellow"))


def _stage_name(progress: dict[str, Any]) -> str:
    return str(progress["declared_stage"] or progress["current_stage"])


def _add_files(out: _Screen, modifications: list[dict[str, Any]], unnamed: str) -> None:
    changed = [f for f in modifications if f["action"] != "read"]
    read = len(modifications) - len(changed)
    if not modifications and not unnamed:
        return
    counts = [
        f"{sum(f['action'] == action for f in changed)} {action}"
        for action in _ARROWS
        if any(f["action"] == action for f in changed)
    ]
    out.add_section("Files", ", ".join([*counts, f"{read} read"] if read else counts))
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
        out.add_item(_ARROWS[file["action"]], name, note)
    out.add_left_out(len(shown) - 12, "changed files")
    if unnamed:
        out.add_item("?", unnamed, style="dim")


def _add_open_items(out: _Screen, value: dict[str, Any]) -> None:
    steps = value["next_steps"]
    unfixed = [e for e in value["errors"] if not e["fixed"]][-2:]
    if steps:
        out.add_section("Left open")
        for step in steps[:6]:
            mark = "◐" if step["status"] == "in_progress" else "○"
            out.add_item(mark, step["text"], message_label(step["ref"]))
        out.add_left_out(len(steps) - 6, "open items")
    if unfixed:
        out.add_section("Last errors", f"{len(value['errors'])} in all")
        for error in unfixed:
            out.add_item(
                "!", error["text"], f"{error['tool']} {message_label(error['ref'])}", "red"
            )


def _add_notes(out: _Screen, value: dict[str, Any]) -> None:
    notes: list[str] = []
    problems = [i for i in value["issues"] if i["severity"] != "info"]
    notes += [f"{i['count']} × {i['what']}" for i in problems]
    redactions = value["stats"]["redactions"]
    if redactions:
        notes.append(f"{plural(sum(redactions.values()), 'secret')} redacted")
    if notes:
        out.add_line()
        out.add_line(out.style(one_line("note: " + "; ".join(notes), out.width), "yellow"))
