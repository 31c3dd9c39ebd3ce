"""The types of a `ContextSummary`; attribute names are the keys of its JSON.

Data only: `analysis.assemble` computes the values. The docstrings of the Structs are output,
too: `leftoff schema summary` prints them as descriptions."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType, field

from leftoff.model import Issue, Ref, Shown, Usage, parse_time

DECISION_TYPES = ("implementation", "architecture", "approach", "fix", "other")
STAGES = (
    *("planning", "architecture", "implementation", "testing", "review", "deployment"),
    "other",
)
MILESTONE_KINDS = (
    *("tests_pass", "build_passes", "lint_passes", "typecheck_passes", "committed"),
    *("pushed", "merged", "pr_opened", "review_passed", "deployed", "released"),
    *("bug_fixed", "feature_done", "task_done"),
)
REQUEST_KINDS = (
    *("task", "plan", "constraint", "correction", "choice"),
    *("approval", "question", "remark", "command"),
)
ACTIONS = ("created", "modified", "deleted", "read")


class Source(Shown, frozen=True):
    """One file, or member of a container, that the session was read from."""

    path: str
    member: str = ""


class SessionInfo(Shown, frozen=True):
    """Which session this is. Times as recorded, ISO 8601, "" where the recorder gives none."""

    id: str = ""
    format: str = ""
    path: str = ""
    cwd: str = ""
    branch: str = ""
    models: tuple[str, ...] = ()
    agent_version: str = ""
    started: str = ""
    ended: str = ""
    title: str = ""
    parent_id: str = ""
    sources: tuple[Source, ...] = ()
    children: tuple[Child, ...] = ()
    subagents: int | UnsetType = UNSET  # that were started, where more than in `children`

    @property
    def started_at(self) -> datetime | None:
        """`started` as a datetime with its zone; None where there is none."""
        return parse_time(self.started)

    @property
    def ended_at(self) -> datetime | None:
        """`ended` as a datetime with its zone; None where there is none."""
        return parse_time(self.ended)


class Child(Shown, frozen=True):
    """A subagent's session within this one, in short; `summarize(..., agent=id)` gives all.

    Attributes:
        request: what it was asked.
        result: its last words.
        changed: files that it created, modified or deleted; they count for the parent too."""

    id: str
    request: str = ""
    result: str = ""
    message_count: int = 0
    tool_call_count: int = 0
    models: tuple[str, ...] = ()
    spend: Usage = Usage()
    decisions: tuple[KeyDecision, ...] = ()
    changed: tuple[str, ...] = ()
    sources: tuple[int, ...] = ()


class LineCounts(Shown, frozen=True):
    """Every physical line (or element of a document) ends in one of the last four."""

    total: int = 0
    parsed: int = 0
    unknown: int = 0
    repaired: int = 0
    skipped: int = 0


class Stats(Shown, frozen=True):
    """Counts of the main thread; copies of earlier history are not counted again.

    Attributes:
        turn_count: distinct API responses of the agent.
        estimated_tokens: size of the conversation: what the calls recorded before each
            compaction and at the end, else an estimate from the text.
        duration_seconds: from the first to the last recorded time; None without times.
        redactions: secrets replaced in this output, by kind (filled by the gate)."""

    message_count: int = 0
    turn_count: int = 0
    tool_call_count: int = 0
    estimated_tokens: int = 0
    user_message_count: int = 0
    assistant_message_count: int = 0
    error_count: int = 0
    duration_seconds: int | None = None
    lines: LineCounts = LineCounts()
    redactions: dict[str, int] = field(default_factory=dict)


class KeyDecision(Shown, frozen=True):
    """A commitment to one way where another was open.

    Attributes:
        confidence: probability that a careful reader would call it a key decision, 0 to 1.
        owner: agent | user.
        rationale, alternative: the words that give a reason or name what was not taken.
        status: made | reversed | superseded; `replaced_by` is the index of the decision that
            took its place.
        rule: ids of the rules that fired.
        judged_by: the second reader that chose it; absent where none did."""

    text: str
    type: str
    confidence: float
    message_index: int
    ref: Ref
    owner: str = "agent"
    rationale: str = ""
    alternative: str = ""
    status: str = "made"
    replaced_by: int | None = None
    rule: str = ""
    # Without a second reader not a byte of the JSON is to differ.
    judged_by: str | UnsetType = UNSET


class Check(Shown, frozen=True):
    """One run of a command that checks the work: tests, a build, a linter, a type checker.

    Attributes:
        kind: test | build | lint | typecheck | format | other.
        tool: the program that judged, e.g. "pytest", "tsc"; "" if only the command is known.
        command: the command line of the call that ran it.
        scope: what it ran on, as the command names it; "" for everything.
        verdict: passed | failed | unknown.
        basis: what the verdict rests on: output | recorder | exit_code; "" if unknown, and
            not_run if the program was not found.
        passed, failed, skipped: counts as printed, None where none is printed.
        failing: names of what failed, at most 20.
        line, tail: the line of the output that tells most; its last ones, 400 code points.
        edited_since: a file on which it may depend was edited after it.
        edited_elsewhere: all of these lie outside of the paths or the folder that it names.
        mended: its program was run later to mend what it had found, and succeeded.
        folder: where it ran, if outside of the session's folder and of those above it.
        ref, result: the call; its output, None if it was not recorded."""

    kind: str
    tool: str
    command: str
    verdict: str
    ref: Ref
    scope: str = ""
    basis: str = ""
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    failing: tuple[str, ...] = ()
    line: str = ""
    tail: str = ""
    edited_since: bool = False
    edited_elsewhere: bool = False
    result: Ref | None = None
    mended: bool = False
    folder: str = ""


class GitEvent(Shown, frozen=True):
    """Something that git or a forge did, as its output or the recorder states it.

    Attributes:
        kind: commit | push | pull_request | merge | tag.
        text: the subject of a commit, the title of a pull request, the name of a tag.
        hash: of the commit, as printed.
        branch: the branch it was made on, pushed to or merged from.
        remote: where it was pushed, as printed.
        folder: where it was made, if outside of the session's folder and of those above it.
        number, url: of a pull request.
        ref: the output that shows it, or the call where `shown` is false.
        shown: a tool's output shows it; else the agent says so and the call succeeded."""

    kind: str
    text: str
    ref: Ref
    hash: str = ""
    branch: str = ""
    remote: str = ""
    number: int | None = None
    url: str = ""
    shown: bool = True
    folder: str = ""


class TurnState(Shown, frozen=True):
    """Whose turn it is at the end of the recording.

    Attributes:
        status: open (the agent was at work) | closed (its turn ended) | interrupted | "".
        since, ref: time (ISO 8601, "" if not recorded) and place of the last event.
        question: what the agent asked the person last, "" if it asked nothing.
        failed: why the agent could not go on, e.g. a limit or an error of the provider.
        ended: the recorder's word for the end of the run, e.g. submitted."""

    status: str = ""
    since: str = ""
    ref: Ref | None = None
    question: str = ""
    failed: str = ""
    ended: str = ""

    @property
    def since_at(self) -> datetime | None:
        """`since` as a datetime with its zone; None where there is none."""
        return parse_time(self.since)


class Milestone(Shown, frozen=True):
    """A result said or shown to be reached. evidence: verified | claimed | contradicted.
    speaker: agent | tool, whose words `text` is. `check`: index in `checks` of the run that
    decided, None for other evidence."""

    text: str
    kind: str
    evidence: str
    ref: Ref
    speaker: str = "agent"
    check: int | None = None


class StageChange(Shown, frozen=True):
    """From `ref` on the session is in `stage`."""

    stage: str
    ref: Ref


class ProgressInfo(Shown, frozen=True):
    """How far the work got.

    Attributes:
        completed_stages: stages that were passed through, in canonical order.
        current_stage: the stage at the end of the recording, "" if there is none.
        declared_stage: the last explicit marker as written.
        progress_percentage: 0 to 100, None where nothing can be said; see `analysis.progress`.
        tests_older_than_last_edit: the last test run came before the last edit; None if there
            was no test run."""

    completed_stages: tuple[str, ...] = ()
    current_stage: str = ""
    declared_stage: str = ""
    progress_percentage: int | None = None
    tests_older_than_last_edit: bool | None = None
    milestones: tuple[Milestone, ...] = ()
    timeline: tuple[StageChange, ...] = ()


class FileModification(Shown, frozen=True):
    """What the session did to one file: its state at the end relative to the start.

    Attributes:
        action: read | created | modified | deleted.
        touch_count: how many calls touched it.
        certainty: sure | likely | unknown.
        renamed_from: its path at the start, "" if it did not move.
        branch: "" or "abandoned", where a rewound conversation did it.
        added, removed: lines, summed over the edits that show them; None where none does.
        lines: first and last line of the last edit that names them, from 1.
        symbols: functions, classes and the like defined in changed lines, the latest first.
        hunk: the first changed lines of the last edit, each after "+" or "-"; "[…]" where other
            lines stand between them.
        committed: a commit after the last change included the file; None where that is not
            known.
        last_message: index of the last message that changed it, of a file only read that read
            it; -1 if a subagent did."""

    path: str
    action: str
    touch_count: int
    tools: tuple[str, ...]
    certainty: str = "sure"
    renamed_from: str = ""
    branch: str = ""
    refs: tuple[Ref, ...] = ()
    added: int | None = None
    removed: int | None = None
    lines: tuple[int, int] | None = None
    symbols: tuple[str, ...] = ()
    hunk: str = ""
    committed: bool | None = None
    last_message: int = -1


class UnknownEffect(Shown, frozen=True):
    """Calls of one program that may have changed files which nothing names.

    Attributes:
        tool: the program; "shell" or the language where a whole command line is not understood.
        action: created | modified | deleted where that is known, else unknown.
        count: how many calls.
        refs: those calls, the last 20."""

    tool: str
    action: str
    count: int
    refs: tuple[Ref, ...] = ()


class UserRequest(Shown, frozen=True):
    """The person's own words, or a plan that the client handed to the agent for the person.

    Attributes:
        kind: one of `REQUEST_KINDS`; "plan" is the accepted plan.
        status: open (the agent's turn goes on), interrupted, withdrawn, done (tools show all of
            it), commit_failed, push_failed, pull_request_failed or deploy_failed (the last try
            failed), worked_on (files changed, programs ran), unknown (the agent speaks of work
            that is not recorded), declined (it says that it does not do it), unanswered (the
            person typed on before it did anything) or answered.
        question: what the agent had asked, where `text` is the answer."""

    text: str
    kind: str
    status: str
    ref: Ref
    question: str = ""


class Finding(Shown, frozen=True):
    """Something found out on the way that is worth keeping."""

    text: str
    ref: Ref


class ErrorSeen(Shown, frozen=True):
    """A tool call that failed. `fixed`: the same call or command worked later, with the same or
    corrected arguments; None where only a similar one did, so that it is not known. `fixed_by`
    names what was changed or run in between, `fixed_ref` is the call that worked."""

    text: str
    tool: str
    ref: Ref
    count: int = 1
    fixed: bool | None = False
    fixed_by: str = ""
    fixed_ref: Ref | None = None


class NextStep(Shown, frozen=True):
    """What was left to do. status: in_progress | pending (to-do list), postponed (by
    the person), next (about to be taken), question (asked of the person) or said."""

    text: str
    status: str
    ref: Ref


class Command(Shown, frozen=True):
    """A command line, how often it was run, and how it ended last: `passed` is None where the
    recording does not tell. kind: test | build | lint | run | install."""

    text: str
    kind: str
    passed: bool | None
    count: int
    ref: Ref


class CallOutcome(Shown, frozen=True):
    """One of the last calls. status: ok | failed | denied | interrupted | timed out | running |
    unknown, "" without a result; a command is "ok" only if an exit status says so of all that
    it ran. `line`: the line that says why it failed."""

    tool: str
    text: str
    status: str
    ref: Ref
    line: str = ""


class Step(Shown, frozen=True):
    """A step of the turn in work: words of the agent, or `count` calls in a row that did the
    same. kind: said | edited | looked | ran. The rest as in `CallOutcome`, of the last call."""

    kind: str
    text: str
    status: str
    ref: Ref
    line: str = ""
    count: int = 1


class ToDo(Shown, frozen=True):
    """An item of the to-do list at the end. status: pending | in_progress | completed."""

    text: str
    status: str
    ref: Ref


class Name(Shown, frozen=True):
    """A path or identifier in the agent's own words and calls, its messages and their last."""

    text: str
    count: int
    message: int


class Words(Shown, frozen=True):
    """Words of the agent, their message, and in `recent` how likely they are a decision, and
    their part if it is not the first."""

    text: str = ""
    message: int = -1
    weight: float = 0.0
    part: int | UnsetType = UNSET


class DiscardedFile(Shown, frozen=True):
    """A file that the session wrote first and then removed, or moved to `renamed_to`; `ref` is
    the last call that touched it."""

    path: str
    renamed_to: str
    ref: Ref


class WorkingSet(Shown, frozen=True):
    """What whoever goes on would have to find out again.

    Attributes:
        commit, commit_at_start: the last that it made, as far as a tool showed it, and the one
            that it began at; "" where that is not known.
        commands: checks as they last ended, then others that worked, the latest first.
        variables: names of environment variables in commands; never values.
        names: those that came up often and late first, at most 200.
        last_words: the agent's last words, at most 2,000 code points.
        recent: its latest sentences that may matter, the latest first, at most 200.
        calls, to_dos: the last calls in order, at most 12; the to-do list at the end.
        steps, report: what it did since its turn began; the words that ended the turn before.
        remark: these words where they say little; `report` is then an earlier one, and no file
            was edited between them. Absent if there is none.
        running, queued: started in the background, no end seen; typed and not delivered.
        discarded: files that it wrote and removed or renamed again; absent if there are none.
        task: the call that last read or wrote a plan or a ticket, with the start of its text in
            `line`; absent if there is none.
        links: the last addresses in its words, the latest first; absent if there are none.
        last_edits: the last call of each turn that edited files; absent if there are none.
        assigned: a subagent's task, as it was given; absent if a person typed anything."""

    commit: str = ""
    commit_at_start: str = ""
    commands: tuple[Command, ...] = ()
    variables: tuple[str, ...] = ()
    names: tuple[Name, ...] = ()
    last_words: Words = Words()
    recent: tuple[Words, ...] = ()
    calls: tuple[CallOutcome, ...] = ()
    to_dos: tuple[ToDo, ...] = ()
    steps: tuple[Step, ...] = ()
    report: Words = Words()
    remark: Words | UnsetType = UNSET
    running: tuple[CallOutcome, ...] = ()
    queued: tuple[str, ...] = ()
    discarded: tuple[DiscardedFile, ...] | UnsetType = UNSET
    task: CallOutcome | UnsetType = UNSET
    links: tuple[Words, ...] | UnsetType = UNSET
    last_edits: tuple[Ref, ...] | UnsetType = UNSET
    assigned: Words | UnsetType = UNSET


class CompactionInfo(Shown, frozen=True):
    """The conversation was replaced by a summary: our figure beside the recorder's own."""

    ref: Ref
    trigger: str
    occupancy: int | None
    recorded: int | None


class Spend(Shown, frozen=True):
    """Tokens over distinct API calls of the main thread; `subagents` are counted apart."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    by_model: dict[str, Usage] = field(default_factory=dict)
    subagents: dict[str, Usage] = field(default_factory=dict)


class ReaderCost(Shown, frozen=True):
    """What the answers of a second reader about a session cost.

    Attributes:
        questions: how many were answered.
        tokens: upper bound of the tokens of the questions, those asked twice counted twice;
            `answer_tokens` of the answers.
        seconds: how long the reader took when it was asked."""

    questions: int = 0
    tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0


class ContextInfo(Shown, frozen=True):
    """How full the context window is.

    Attributes:
        window: tokens that the model takes, None if neither recorded nor known.
        window_source: recorded | user | model | shown (by occupancy or a compaction) | "".
        usable_window: window minus the recorder's compaction reserve.
        occupancy: tokens in the window at the end, None where no usage is recorded.
        occupancy_estimated: those of them that are an estimate, of text after the last call;
            all of them where the recorder rounds.
        fraction, fraction_of_window: occupancy of the usable and of the whole window, 0 to 1.
        second_reader: what a second reader cost, beside the session's own spend."""

    window: int | None = None
    window_source: str = ""
    usable_window: int | None = None
    occupancy: int | None = None
    occupancy_estimated: int = 0
    fraction: float | None = None
    fraction_of_window: float | None = None
    spend: Spend = Spend()
    compactions: tuple[CompactionInfo, ...] = ()
    # As `judged_by`.
    second_reader: ReaderCost | UnsetType = UNSET


class ReaderReport(Shown, frozen=True):
    """What a second reader chose beside decisions and open items.

    Attributes:
        name: of the reader.
        goal, state: the lines that say best what the session is for and where it stands.
        constraints: the person's messages with a rule that still holds."""

    name: str
    goal: Ref | None = None
    state: Ref | None = None
    constraints: tuple[Ref, ...] = ()


class ContextSummary(Shown, frozen=True):
    """Everything leftoff can tell of one session. Values are raw: outputs redact.

    Field by field: docs/summary.md. Raised by nothing: a session without decisions has none."""

    schema: str
    leftoff: str
    rules: str
    session: SessionInfo
    stats: Stats
    key_decisions: tuple[KeyDecision, ...] = ()
    progress: ProgressInfo = ProgressInfo()
    file_modifications: tuple[FileModification, ...] = ()
    unknown_effects: tuple[UnknownEffect, ...] = ()
    tools_used: tuple[str, ...] = ()
    tool_counts: dict[str, int] = field(default_factory=dict)
    user_requests: tuple[UserRequest, ...] = ()
    turn: TurnState = TurnState()
    checks: tuple[Check, ...] = ()
    git: tuple[GitEvent, ...] = ()
    key_findings: tuple[Finding, ...] = ()
    errors: tuple[ErrorSeen, ...] = ()
    next_steps: tuple[NextStep, ...] = ()
    working_set: WorkingSet = WorkingSet()
    context: ContextInfo = ContextInfo()
    issues: tuple[Issue, ...] = ()
    formatted: str = ""
    # As `judged_by`.
    second_reader: ReaderReport | UnsetType = UNSET

    def __repr__(self) -> str:
        """As a debugger and a notebook show it: which session, and how much is known."""
        name = self.session.id or self.session.path
        counts = f"{self.stats.message_count} messages, {len(self.key_decisions)} decisions"
        files = f"{len(self.file_modifications)} files, {len(self.user_requests)} requests"
        return f"{type(self).__name__}({name!r}, {self.session.format}: {counts}, {files})"
