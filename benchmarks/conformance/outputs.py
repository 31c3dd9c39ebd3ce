"""Every output of one recording, as bytes that depend on the recording and the code alone.

Time, ids, paths, the version of leftoff and the digest of its rules are fixed. This is the one
file of the package that knows where in leftoff an output is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec.structs import replace

from leftoff.analysis.decisions.explain import explain
from leftoff.analysis.summary_json import seed_shape, to_json
from leftoff.api import SessionReading, gather, messages_at, read
from leftoff.budget.tasks import TaskTokenBudget, limit_of
from leftoff.codec import dumps
from leftoff.errors import LeftoffError
from leftoff.handover.briefing import briefing
from leftoff.handover.checkpoint.document import (
    ContextCheckpoint,
    checkpoint_of,
    path_component,
    validated,
)
from leftoff.handover.checkpoint.dumps import build_payload
from leftoff.handover.checkpoint.file_names import dump_paths, project_name, task_file_name
from leftoff.handover.checkpoint.from_summary import CheckpointSource, checkpoint_source
from leftoff.handover.checkpoint.injection import block
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.handover.resume_state.document import ResumeState
from leftoff.handover.resume_state.message import resume_message
from leftoff.hooks.queue import BRIEFING
from leftoff.hooks.queue import read_briefing as hook_block
from leftoff.incremental.accounts import account_of_reading
from leftoff.incremental.saved_passes import SavedPass
from leftoff.live.checkpoints.orchestrator import nearest
from leftoff.live.checkpoints.recorded import Recorded, recorded
from leftoff.live.resume_states.transcripts import from_transcript
from leftoff.model import Message
from leftoff.redaction.redactor import Redactor
from leftoff.rendering import explanation
from leftoff.rendering.conversation import Conversation, conversation
from leftoff.rendering.html.quotes import cited
from leftoff.rendering.html.session import page
from leftoff.rendering.render_summary import render
from leftoff.settings import Settings
from leftoff.summary import ContextSummary

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FIXED = "0"
"""Stands for leftoff's version and for the digest of its rules."""

LOG = "resume-log.md"
"""The file that the hook's block names."""

_PATH = re.compile(r"(?:[\w.-]*/)+[\w.-]+")


class Outputs:
    """The outputs of the recording `main` in the current folder, each made when asked for.

    Args:
        main: its name, without a folder.
        others: the files of its subagents.
        state: an empty folder, for what the hook's worker keeps.
    """

    def __init__(self, main: str, others: tuple[str, ...], state: Path) -> None:
        self.main, self.others, self.state = main, others, state
        self.settings = Settings()

    # -- what several outputs are made of ------------------------------------------------------

    @cached_property
    def _messages(self) -> list[Message]:
        return list(read(self.main))

    @cached_property
    def _gathered(self) -> SessionReading:
        return gather([self.main])

    @cached_property
    def _summary(self) -> ContextSummary:
        return _fixed(self._gathered.summary())

    @cached_property
    def _recorded(self) -> Recorded:
        found = recorded(self.main)
        return Recorded(_fixed(found.summary), found.messages)

    @cached_property
    def _checkpoint(self) -> ContextCheckpoint:
        found = self._recorded
        session, context = found.summary.session, found.summary.context
        provider = session.models[-1] if session.models else session.format
        total = (
            limit_of(provider, dict(self.settings.token_budget.provider_limits))
            or context.usable_window
            or self.settings.context_management.budget_total
        )
        used = context.occupancy
        budget = TaskTokenBudget.start(
            path_component(session.id or self.main)[:80] or "task",
            provider,
            created_at=session.started,
            total_allocated=total,
        ).used(found.summary.stats.estimated_tokens if used is None else used)
        return checkpoint_of(
            self._source,
            budget=budget,
            capacity=nearest(budget),
            at=NOW,
            history_lines=self.settings.token_budget.context_dump.max_history_lines,
        )

    @cached_property
    def _source(self) -> CheckpointSource:
        return checkpoint_source(self._recorded.summary, self._recorded.messages)

    @cached_property
    def _resume_state(self) -> ResumeState:
        return from_transcript(self.main, hashes=False)

    # -- the outputs ---------------------------------------------------------------------------

    def messages(self) -> Iterator[bytes]:
        """What `read` gives, for the main file and the files of subagents."""
        for message in self._messages:
            yield _encoded(message)
        for other in self.others:
            for message in read(other):
                yield _encoded(message)

    def json(self) -> bytes:
        """`leftoff summarize --json`."""
        return to_json(self._summary, indent=2)

    def seed(self) -> bytes:
        """`leftoff summarize --shape seed001`."""
        return dumps(seed_shape(self._summary), indent=2)

    def text(self) -> str:
        """`leftoff summarize`, without colour."""
        return render(self._summary, "text")

    def markdown(self) -> str:
        """`leftoff summarize -f markdown`."""
        return render(self._summary, "markdown")

    def prompt(self) -> str:
        """`leftoff summarize -f prompt`."""
        return render(self._summary, "prompt")

    def html(self) -> str:
        """`leftoff summarize -f html`, with default settings."""
        watched = self.settings.watched()
        windows = self.settings.windows
        account = account_of_reading(self._gathered, watched, windows=windows).account
        messages = messages_at(self._summary, cited(self._summary, account))
        return page(self._summary, account, messages, thresholds=watched)

    def explain(self) -> str:
        """`leftoff summarize --explain`."""
        found = explain(self._gathered.view())
        return explanation.text(found, width=96, gate=Redactor())

    def export(self) -> str:
        """`leftoff export` of all sessions in the main file."""
        session = self._summary.session
        return "".join(conversation(Conversation(self._messages, session, tools="shown")))

    def log(self) -> str:
        """The resume log as markdown."""
        return ResumeLog.from_summary(self._summary).to_markdown()

    def log_json(self) -> bytes:
        """The resume log as JSON, before redaction."""
        return dumps(ResumeLog.from_summary(self._summary).to_dict())

    def checkpoint(self) -> bytes:
        """The checkpoint as JSON, before redaction."""
        return dumps(self._checkpoint.to_dict())

    def checkpoint_page(self) -> str:
        """The sections of the checkpoint's markdown."""
        about = self._source
        cwd = self._recorded.summary.session.cwd
        own = task_file_name(about.task, self._checkpoint.task_id)
        paths = dump_paths(project_name(cwd), own)
        made = build_payload(self._checkpoint, about, paths)
        gate = Redactor(personal=True)
        pages = (made.project_md, made.specific_project_md)
        return "\n".join(gate.text(f"{p.path}\n{p.section}\n{p.content}") for p in pages)

    def block(self) -> str:
        """The block that stands before the next agent's prompt."""
        return block(validated(msgspec.json.decode(self.checkpoint())))

    def state_json(self) -> bytes:
        """The resume state as JSON, before redaction; nothing of this machine is looked at."""
        return dumps(self._resume_state.to_dict())

    def message(self) -> str:
        """The message that a workflow is taken up with."""
        return resume_message(self._resume_state)

    def hook(self) -> str:
        """The block that a starting session gets, made as the worker of the hooks makes it."""
        folder = self.state / "state" / "session"
        folder.mkdir(parents=True)
        saved = SavedPass(folder)
        with suppress(LeftoffError):  # compressed or one document: read whole
            saved.read_on(self.main)
        summary = _fixed(saved.summary(self.main, exact=False))
        own = [m.text for m in self._messages if m.origin == "compaction" and m.text]
        recorded = Redactor().text(own[-1]) if own else ""
        text = briefing(summary, where=LOG, recorded=recorded)
        (folder / BRIEFING).write_bytes(text.encode("utf-8", "replace"))
        return hook_block(folder)


COLUMNS: dict[str, Callable[[Outputs], bytes | str | Iterator[bytes]]] = {
    "messages": Outputs.messages,
    "json": Outputs.json,
    "seed001": Outputs.seed,
    "text": Outputs.text,
    "markdown": Outputs.markdown,
    "prompt": Outputs.prompt,
    "html": Outputs.html,
    "explain": Outputs.explain,
    "export": Outputs.export,
    "log": Outputs.log,
    "log_json": Outputs.log_json,
    "checkpoint": Outputs.checkpoint,
    "checkpoint_page": Outputs.checkpoint_page,
    "block": Outputs.block,
    "state": Outputs.state_json,
    "resume": Outputs.message,
    "hook": Outputs.hook,
}
"""Every output by the name of its column."""


def format_of(main: str) -> str:
    """The name of the format that a recording is read as, "-" for one that is refused."""
    try:
        return gather([main]).formats[0] or "-"
    except LeftoffError:
        return "-"


def refusal(error: Exception) -> str:
    """What a refusal says, without the folders and files that it names."""
    return f"{type(error).__name__}: {_PATH.sub('PATH', str(error))}"


def _fixed(summary: ContextSummary) -> ContextSummary:
    return replace(summary, leftoff=FIXED, rules=FIXED)


def _encoded(message: Message) -> bytes:
    try:
        return msgspec.msgpack.encode(message)
    except UnicodeEncodeError:  # a lone surrogate
        return repr(message).encode("utf-8", "backslashreplace")
