"""The resume log of seed 000: what a session leaves to the next one, in seven sections.

`ResumeLog.from_summary` is the main way to one; a session state or a to-do list in the seed's
form will do, too. The values are raw; `to_markdown` and whatever stores a log redact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field

from leftoff.budget.tasks import DEFAULT_BUDGET, DEFAULT_MODEL, ContextMetrics
from leftoff.errors import StateError
from leftoff.handover.packing import TRUNCATED
from leftoff.handover.resume_log.from_summary import parts_of
from leftoff.handover.resume_log.markdown import laid_out
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary
from leftoff.text.truncation import truncate
from leftoff.tokens import estimate_tokens, max_tokens

KIND = "resume_log"
"""The kind under which stores keep it."""


class OwnSection(Struct, frozen=True):
    """A section that a provider made: markdown, and the tokens that it may take."""

    name: str
    budget: int
    content: str


class ResumeLog(Struct, frozen=True, kw_only=True):
    """What the next session should know. Field by field: docs/resume-log.md.

    Attributes:
        mission_summary: what is wanted; a paragraph or line for each request that stands.
        decisions: `decision` and `rationale`, and where known `alternative` (what was not
            taken), `status`, `type`, `owner`.
        critical_context: what has to be known to go on, by heading.
        metadata: `files_modified`, `agents_used`, `errors`, `session_duration_minutes`, and
            whatever else a session state held.
        sections: what section providers made.
        extra: top-level keys of a document that are not ours; they are written back.
    """

    session_id: str
    context_metrics: ContextMetrics
    mission_summary: str = ""
    accomplishments: tuple[str, ...] = ()
    key_findings: tuple[str, ...] = ()
    decisions: tuple[dict[str, Any], ...] = ()
    next_steps: tuple[str, ...] = ()
    critical_context: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    sections: tuple[OwnSection, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)

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
    def from_summary(
        cls,
        summary: ContextSummary,
        *,
        session_id: str = "",
        total_budget: int | None = None,
        stop_reason: str = "",
    ) -> ResumeLog:
        """The log of a recorded session.

        Args:
            session_id: instead of the recorder's own, or the file's name where it has none.
            total_budget: tokens of the window; the recorded or known one by default, else
                200,000.
            stop_reason: why the last response ended, where the caller knows.
        """
        context, models = summary.context, summary.session.models
        used = context.occupancy
        metrics = ContextMetrics.of(
            total_budget or context.window or DEFAULT_BUDGET,
            summary.stats.estimated_tokens if used is None else used,
            stop_reason,
            model=models[-1] if models else "unknown",
            timestamp=summary.session.ended,
        )
        parts = parts_of(summary)
        marks = {}
        if not total_budget and context.window is None:
            marks["total_budget"] = "assumed"
        if used is None:
            marks["used_tokens"] = "estimated from the text"
        if marks:
            parts["metadata"]["figures"] = marks
        return cls(
            session_id=session_id or summary.session.id or _stem(summary.session.path),
            context_metrics=metrics,
            **parts,
        )

    @classmethod
    def from_session_state(
        cls,
        session_id: str,
        state: Mapping[str, Any],
        stop_reason: str = "end_turn",
        *,
        timestamp: str = "",
    ) -> ResumeLog:
        """The log of a session state in the seed's form: the keys of the log's JSON, all of
        them optional; keys that are not the log's go to `metadata`.

        Raises:
            StateError: a value has the wrong type; the message names the key.
        """
        known = {k: v for k, v in state.items() if k in _STATE and v is not None}
        others = {k: v for k, v in state.items() if k not in _STATE}
        metadata = known.pop("metadata", {})
        if not isinstance(metadata, Mapping):
            raise StateError(
                f"session state: metadata must be an object, not {_type(metadata)}"
            )
        given = known.pop("context_metrics", None)
        metrics: Any = given.to_dict() if isinstance(given, ContextMetrics) else (given or {})
        if not isinstance(metrics, Mapping):
            raise StateError(
                f"session state: context_metrics must be an object, not {_type(metrics)}"
            )
        filled = {"total_budget": DEFAULT_BUDGET, "used_tokens": 0, "model": DEFAULT_MODEL}
        told = {k: v for k, v in metrics.items() if v is not None}
        filled = {**filled, "stop_reason": stop_reason, "timestamp": timestamp, **told}
        return cls.from_dict(
            {
                **known,
                "session_id": session_id,
                "context_metrics": {k: v for k, v in filled.items() if v != ""},
                "metadata": {**metadata, **others},
            }
        )

    @classmethod
    def from_todo_list(
        cls,
        session_id: str,
        todos: Iterable[Mapping[str, Any]],
        context_metrics: ContextMetrics,
    ) -> ResumeLog:
        """The log of a to-do list: what is completed is an accomplishment, what is in progress
        or pending a next step.

        Args:
            todos: `status` with the words under `content`, `title` or `text`.
        """
        done: list[str] = []
        doing: list[str] = []
        waiting: list[str] = []
        lists = {"completed": done, "done": done, "in_progress": doing}
        for todo in todos:
            words = next((todo[k] for k in ("content", "title", "text") if todo.get(k)), "")
            status = str(todo.get("status", "pending"))
            if words and status not in {"cancelled", "deleted"}:
                lists.get(status, waiting).append(str(words))
        return cls(
            session_id=session_id,
            context_metrics=context_metrics,
            accomplishments=tuple(done),
            next_steps=(*doing, *waiting),
            metadata={"todos": len(done) + len(doing) + len(waiting)},
        )

    # -- JSON ----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The seed's JSON; `sections` only where there are some."""
        value: dict[str, Any] = msgspec.to_builtins(self)
        extra = value.pop("extra")
        if not self.sections:
            del value["sections"]
        lists = {k: list(v) for k, v in value.items() if isinstance(v, tuple)}
        return {**value, **lists, **extra}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ResumeLog:
        """What `to_dict` gave, or any document of the seed's form.

        Raises:
            StateError: not such a document; the message names the field.
        """
        known = {k: v for k, v in data.items() if k in _FIELDS}
        extra = {k: v for k, v in data.items() if k not in _FIELDS}
        metrics = known.get("context_metrics", {})
        if not isinstance(metrics, Mapping):
            raise StateError("not a resume log: context_metrics is no object")
        counts = {"total_budget": DEFAULT_BUDGET, "used_tokens": 0}
        known["context_metrics"] = ContextMetrics.from_dict({**counts, **metrics}).to_dict()
        try:
            return msgspec.convert({**known, "extra": extra}, cls)
        except msgspec.ValidationError as error:
            raise StateError(f"not a resume log: {error}") from error

    # -- markdown ------------------------------------------------------------------------------

    def to_markdown(self, budget: int | None = None, *, gate: Redactor | None = None) -> str:
        """The seed's document in at most `budget` tokens (10,000 by default), redacted.

        Items are dropped whole, the least important first, and each section says how many.
        """
        shown = gate or Redactor()
        return laid_out(shown.value(self.to_dict()), budget or self.MAX_TOTAL_TOKENS)

    @staticmethod
    def estimate_tokens(text: str) -> int:
        """How many tokens a text probably takes."""
        return estimate_tokens(text)

    @staticmethod
    def truncate_to_budget(text: str, budget: int) -> str:
        """A text in at most `budget` tokens, whole sentences where possible, with a marker."""
        return truncate(text, budget, measure=max_tokens, marker=TRUNCATED)


_FIELDS = frozenset(f.name for f in msgspec.structs.fields(ResumeLog)) - {"extra"}
_STATE = _FIELDS - {"session_id", "sections"}


def _stem(path: str) -> str:
    """A file's name as an id: without its endings, one plain component."""
    name = re.split(r"[/\\]", path)[-1]
    stem = re.sub(r"(?:\.(?:jsonl?|traj|md|gz|zst))+$", "", name)
    return re.sub(r"[^\w.-]+", "-", stem).strip("-.")


def _type(value: object) -> str:
    return type(value).__name__
