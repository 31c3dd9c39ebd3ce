"""The resume log of seed 000: a document in seven sections for the next session.

It is created from a `ContextSummary`, a session state or a to-do list in the seed's form. The
values of a recorded session are redacted; `to_markdown` and the stores redact the others."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import msgspec
from msgspec import Struct, field

from leftoff.budget.tasks import DEFAULT_BUDGET, ContextMetrics
from leftoff.codec import JsonObject
from leftoff.errors import StateError
from leftoff.handover.resume_log.from_summary import log_fields
from leftoff.handover.resume_log.markdown import TRUNCATED, render_markdown
from leftoff.handover.value import Value, type_name
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary
from leftoff.text.truncation import truncate
from leftoff.tokens import estimate_tokens, max_tokens

# The document kind in stores.
KIND = "resume_log"


class OwnSection(Struct, frozen=True):
    """A section provider's section: markdown, and its token budget."""

    name: str
    budget: int
    content: str


class ResumeLog(Value, frozen=True, kw_only=True):
    """The resume log of a session. docs/handover.md describes each field.

    Attributes:
        mission_summary: the goal; a paragraph or line for each request in force.
        decisions: each with `decision` and `rationale`, and if known `alternative` (the
            rejected option), `status`, `type`, `owner`.
        critical_context: facts needed to continue, by heading.
        metadata: `files_modified`, `agents_used`, `errors`, `session_duration_minutes`, and
            other keys of a session state.
        sections: of section providers."""

    session_id: str
    context_metrics: ContextMetrics
    mission_summary: str = ""
    accomplishments: tuple[str, ...] = ()
    key_findings: tuple[str, ...] = ()
    decisions: tuple[JsonObject, ...] = ()
    next_steps: tuple[str, ...] = ()
    critical_context: JsonObject = field(default_factory=dict)
    metadata: JsonObject = field(default_factory=dict)
    sections: tuple[OwnSection, ...] = ()

    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"sections"})
    TOKEN_BUDGET: ClassVar[dict[str, int]] = {
        "context_metrics": 500,
        "mission_summary": 1000,
        "accomplishments": 2000,
        "key_findings": 2500,
        "decisions": 1500,
        "next_steps": 1500,
        "critical_context": 1000,
    }
    MAX_TOTAL_TOKENS: ClassVar[int] = 10_000

    @classmethod
    def from_summary(cls, summary: ContextSummary, *, session_id: str = "") -> "ResumeLog":
        """The log of a recorded session.

        Args:
            session_id: by default the recorder's, else the file's name."""
        context, models = summary.context, summary.session.models
        used = context.occupancy
        metrics = ContextMetrics.of(
            context.window or DEFAULT_BUDGET,
            summary.stats.estimated_tokens if used is None else used,
            "",
            model=models[-1] if models else "unknown",
            timestamp=summary.session.ended,
        )
        fields_from_summary = log_fields(summary)
        assumptions = {}
        if context.window is None:
            assumptions["total_budget"] = "assumed"
        if used is None:
            assumptions["used_tokens"] = "estimated from the text"
        elif context.occupancy_estimated:
            assumptions["used_tokens"] = "the text after the last call estimated"
        if assumptions:
            fields_from_summary["metadata"]["figures"] = assumptions
        return cls(
            session_id=session_id or summary.session.id or _stem(summary.session.path),
            context_metrics=metrics,
            **fields_from_summary,
        )

    @classmethod
    def from_session_state(
        cls,
        session_id: str,
        state: Mapping[str, object],
        stop_reason: str = "end_turn",
        *,
        timestamp: str = "",
    ) -> "ResumeLog":
        """The log of a session state in the seed's form: the keys of the log's JSON, all
        optional; other keys go to `metadata`.

        Raises:
            StateError: a value has the wrong type; the message names the key."""
        known = {k: v for k, v in state.items() if k in _STATE and v is not None}
        others = {k: v for k, v in state.items() if k not in _STATE}
        given = known.pop("context_metrics", {})
        metrics: Any = given.to_dict() if isinstance(given, ContextMetrics) else given
        metadata: Any = known.pop("metadata", {})
        for name, value in (("metadata", metadata), ("context_metrics", metrics)):
            if not isinstance(value, Mapping):
                wrong = type_name(value)
                raise StateError(f"session state: {name} must be an object, not {wrong}")
        known |= {"session_id": session_id, "metadata": {**metadata, **others}}
        filled = {k: v for k, v in metrics.items() if v is not None and v != ""}
        filled = {"stop_reason": stop_reason, "timestamp": timestamp, **filled}
        filled = {k: v for k, v in filled.items() if v != ""}
        return cls.from_dict({**known, "context_metrics": filled})

    @classmethod
    def from_todo_list(
        cls,
        session_id: str,
        todos: Iterable[Mapping[str, object]],
        context_metrics: ContextMetrics,
    ) -> "ResumeLog":
        """The log of a to-do list: completed items are accomplishments, items in progress or
        pending are next steps.

        Args:
            todos: each with `status`, and its text under `content`, `title` or `text`."""
        done: list[str] = []
        in_progress: list[str] = []
        pending: list[str] = []
        lists = {"completed": done, "done": done, "in_progress": in_progress}
        for todo in todos:
            todo_text = next((todo[k] for k in ("content", "title", "text") if todo.get(k)), "")
            status = str(todo.get("status", "pending"))
            if todo_text and status not in {"cancelled", "deleted"}:
                lists.get(status, pending).append(str(todo_text))
        return cls(
            session_id=session_id,
            context_metrics=context_metrics,
            accomplishments=tuple(done),
            next_steps=(*in_progress, *pending),
            metadata={"todos": len(done) + len(in_progress) + len(pending)},
        )

    # -- JSON ----------------------------------------------------------------------------------

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """The log from what `to_dict` returned, or from any document of the seed's form.

        Raises:
            StateError: it is not such a document; the message names the field."""
        metrics = data.get("context_metrics", {}) if isinstance(data, Mapping) else None
        if not isinstance(data, Mapping) or not isinstance(metrics, Mapping):
            raise StateError("not a resume log: context_metrics is no object")
        counts = {"total_budget": DEFAULT_BUDGET, "used_tokens": 0}
        known = ContextMetrics.from_dict({**counts, **metrics}).to_dict()
        given = {**data, "context_metrics": known}
        # A bare `super()` fails: msgspec creates a new class from this class body.
        return super(ResumeLog, cls).from_dict(given, where or "resume log")  # noqa: UP008

    # -- markdown ------------------------------------------------------------------------------

    def to_markdown(self, budget: int | None = None, *, gate: Redactor | None = None) -> str:
        """The seed's markdown in at most `budget` tokens (10,000 by default), redacted.

        Items are left out whole, the least important first; each section says how many."""
        shown = gate or Redactor()
        return render_markdown(shown.document(self.to_dict()), budget or self.MAX_TOTAL_TOKENS)

    @staticmethod
    def estimate_tokens(text: str) -> int:
        """The estimated number of tokens of a text."""
        return estimate_tokens(text)

    @staticmethod
    def truncate_to_budget(text: str, budget: int) -> str:
        """A text in at most `budget` tokens, cut at a sentence end if possible, and marked."""
        return truncate(text, budget, measure=max_tokens, marker=TRUNCATED)


# What a session state may give; its other keys are metadata.
_FIELDS = frozenset(f.name for f in msgspec.structs.fields(ResumeLog)) - {"extra"}
_STATE = _FIELDS - {"session_id", "sections"}


def _stem(path: str) -> str:
    """A file's name without extensions, as a session id."""
    name = re.split(r"[/\\]", path)[-1]
    stem = re.sub(r"(?:\.(?:jsonl?|traj|md|gz|zst))+$", "", name)
    return re.sub(r"[^\w.-]+", "-", stem).strip("-.")
