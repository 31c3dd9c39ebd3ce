"""The last calls with their outcomes, and the to-do list as it stood last."""

from __future__ import annotations

from itertools import islice

from leftoff.analysis.insights import to_dos
from leftoff.extraction.evidence import Called, Edited, Failed, Ran, Touched
from leftoff.model import Ref
from leftoff.session_view import SessionView
from leftoff.summary import CallOutcome, ToDo

MAX_CALLS = 12
"""The last calls of a session that are listed. Chosen by hand."""

_STATUS = {"ok": "ok", "denied": "denied", "running": "running", "unknown": "unknown"}


def recent_calls(view: SessionView) -> tuple[CallOutcome, ...]:
    """The last calls on the active branch, in order."""
    calls = list(islice(reversed(view.active(Called)), MAX_CALLS))[::-1]
    reasons = {(f.call_message, f.call_part): f.text for f in view.active(Failed)}
    edits = {(e.message, e.part): e for e in view.active(Edited)}
    places = _places(view, calls[0].message if calls else 0)
    found = []
    for call in calls:
        place = call.message, call.part
        outcome = view.outcomes.get(place)
        status = "" if outcome is None else _STATUS.get(outcome.status, "failed")
        if status in {"ok", "unknown"} and outcome is not None and outcome.exit_code:
            status = "failed"
        text, edit = call.text, edits.get(place)
        if edit is not None:
            text = edit.path + (f":{edit.first}-{edit.last}" if edit.first else "")
        ref = view.ref(places.get(place) or Ref(message=call.message, part=call.part))
        found.append(CallOutcome(call.name, text, status, ref, reasons.get(place, "")))
    return tuple(found)


def _places(view: SessionView, first: int) -> dict[tuple[int, int | None], Ref]:
    """Where the calls from message `first` on stand, as far as something was found in them."""
    found: dict[tuple[int, int | None], Ref] = {}
    kinds: tuple[type[Ran | Touched], ...] = (Ran, Touched)
    for kind in kinds:
        for item in reversed(view.active(kind)):
            if item.ref.message < first:
                break
            found.setdefault((item.ref.message, item.ref.part), item.ref)
    return found


def to_do_list(view: SessionView) -> tuple[ToDo, ...]:
    """The to-do list at the end."""
    return tuple(ToDo(text, status, view.ref(ref)) for text, status, ref in to_dos(view))
