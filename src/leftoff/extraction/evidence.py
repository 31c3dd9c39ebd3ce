"""Evidence: the facts that extractors record, each with its place in the recording.

Plain frozen data. Evidence does not judge: `analysis`, which sees all of it, decides what it
means. Tags and the order of fields are part of the saved format of a pass."""

from typing import TypeAlias

from msgspec import Struct

from leftoff.model import Ref, Usage
from leftoff.text.line_hashes import Replaced

# A `text` of `Called` of so many code points may have been cut: at a blank before its end, so
# that no secret is halved. Of 699 cut commands of recordings 214 have fewer than 290, 21 fewer
# than this.
CUT = 220


# Where a piece says which call it is of: message and part themselves; a reference to what asks
# for the call, with the part; or the call beside a reference to its result.
class _OfCall(Struct, frozen=True, gc=False, array_like=True):
    message: int
    part: int

    @property
    def call(self) -> tuple[int, int]:
        return self.message, self.part


class _Asks(Struct, frozen=True, gc=False, array_like=True):
    ref: Ref
    part: int

    @property
    def call(self) -> tuple[int, int]:
        return self.ref.message, self.part


class _OfResult(Struct, frozen=True, gc=False, array_like=True):
    ref: Ref
    call_message: int
    call_part: int

    @property
    def call(self) -> tuple[int, int]:
        return self.call_message, self.call_part


class Called(_OfCall, frozen=True, gc=False, tag="c", array_like=True):
    """The agent called a tool.

    `text` is what `analysis` reads of the arguments: the command, the path, the patch's paths,
    or the type of a subagent."""

    name: str
    kind: str
    text: str = ""


class Touched(_Asks, frozen=True, gc=False, tag="f", array_like=True):
    """A call asks for something to be done to a file.

    Attributes:
        ref: the call.
        verb: read | write | edit | undo | create | delete | move; write replaces a whole file
            or creates it, create fails where there is one.
        path: absolute where the working directory is known; "" where a call that changes a file
            records none.
        target: the new path of a move.
        text: the new text, recorded only for files that a command may run or read as its input;
            of a removal without a path the file that its reason names.
        old: what `text` replaces; "" where it is the whole file or the lines below.
        first, last: the lines that `text` replaces, from 1; 0 where none are named."""

    tool: str
    verb: str
    path: str
    target: str = ""
    text: str = ""
    old: str = ""
    first: int = 0
    last: int = 0


class Ran(_Asks, frozen=True, gc=False, tag="s", array_like=True):
    """A call runs a command line.

    `language`: bash | powershell | python. `background`: the call did not wait for
    its end."""

    tool: str
    command: str
    cwd: str
    language: str = "bash"
    background: bool = False


class Returned(Struct, frozen=True, gc=False, tag="r", array_like=True):
    """The result of a call.

    Attributes:
        message, part: of the result.
        call_message, call_part: of the call it answers; -1 where no call is known.
        created: the recorder says whether the file was new.
        output: the output where it may name files, recorded only for commands that need it."""

    message: int
    part: int
    call_message: int
    call_part: int
    status: str
    exit_code: int | None = None
    created: bool | None = None
    output: str = ""

    @property
    def call(self) -> tuple[int, int]:
        return self.call_message, self.call_part


class Applied(_OfResult, frozen=True, gc=False, tag="a", array_like=True):
    """The recorder itself states which files a call changed; `files`, `deleted` and
    `counts` as in `Changes`."""

    succeeded: bool
    files: tuple[tuple[str, str, str], ...]
    deleted: tuple[tuple[str, int], ...] = ()
    counts: tuple[tuple[str, int, int], ...] = ()


class Stood(Struct, frozen=True, gc=False, tag="l", array_like=True):
    """The recorder itself checked whether files exist, after message `ref.message`."""

    ref: Ref
    files: tuple[tuple[str, bool], ...]


class Said(Struct, frozen=True, gc=False, tag="t", array_like=True):
    """A sentence that a rule matched.

    Attributes:
        topic: decision | milestone | stage | finding | next_step | language.
        rule: id of the rule.
        ref: the sentence.
        text: the sentence as it stands.
        value: what the rule captured: a stage, a kind.
        start: where the rule matched, in code points from the start of the sentence."""

    topic: str
    rule: str
    ref: Ref
    text: str
    value: str = ""
    start: int = 0


class Shown(_OfResult, frozen=True, gc=False, tag="o", array_like=True):
    """A tool's output shows a result: tests passed, a commit was made, ...

    `kind` is a milestone kind; `good` is False where the output shows its opposite."""

    kind: str
    good: bool
    text: str
    rule: str


class Printed(Struct, frozen=True, gc=False, array_like=True):
    """A line of output that says how a check ended.

    Attributes:
        rule: id of the rule of `rules/checks*.toml`.
        line: the line, at most 200 code points.
        passed, failed, skipped: counts as printed, None where there are none; of a rule that
            matched several times, their sums (the first four apart, where each run prints one).
    """

    rule: str
    line: str
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None


class Checked(_OfResult, frozen=True, gc=False, tag="h", array_like=True):
    """What a command that may have checked the work printed, and the state of the job that a
    call waited for.

    Attributes:
        ref: the whole output.
        call_message, call_part: the call, -1 where none is known.
        printed: the telling lines in order, at most 24.
        failing: (rule, name) of what failed, at most 20.
        tail: its last lines, at most 400 code points.
        head: its first lines, at most 160 code points, where they are not in the tail.
        silent: it printed nothing.
        task: the job in the background that the output belongs to, "" if there is none.
        running: it goes on after this output.
        scripts: (name, command line) of scripts that a package manager says it runs, at most 8.
        exit_code: as the client prints it inside the output, None where it does not.
        lines: how many it has.
        codes: of each result that a script prints as an object; of one cut off the job that
            goes on with it, None where none is shown.
        job: the job itself, where a call started several; `task` is the first of them."""

    printed: tuple[Printed, ...] = ()
    failing: tuple[tuple[str, str], ...] = ()
    tail: str = ""
    silent: bool = False
    task: str = ""
    running: bool = False
    scripts: tuple[tuple[str, str], ...] = ()
    exit_code: int | None = None
    lines: int = 0
    head: str = ""
    codes: tuple[int | str | None, ...] = ()
    job: str = ""


class Asked(Struct, frozen=True, gc=False, tag="q", array_like=True):
    """A person's own words.

    Attributes:
        via: prompt | queued | rejection | answer | command, or plan: an accepted plan that the
            client hands to the agent.
        said, said_part: the agent's last words before them; -1 where it had said nothing.
        question: what the agent had asked, as it stands; recorded only for short words.
        option: the agent's words for the option of which the person names only the label.
        answers: parts of the words that answer one question of several: start, end, as much of
            that question and of the option as is known.
        unfinished: the agent's words before them say that something is not done, or wait.
        echoed: start and end of each line that stands in the agent's words before them.
        announced: the agent's words before them end with what it does next.
        declined: what the agent says in its words before them that it cannot or will not do."""

    ref: Ref
    text: str
    via: str
    said: int = -1
    said_part: int = -1
    question: str = ""
    option: str = ""
    unfinished: bool = False
    echoed: tuple[tuple[int, int], ...] = ()
    announced: bool = False
    answers: tuple[tuple[int, int, str, str], ...] = ()
    declined: str = ""


class Turned(Struct, frozen=True, gc=False, tag="v", array_like=True):
    """The recorder says what became of the agent's turn, after message `message`: `state` and
    `why` as in `model.Turn`."""

    message: int
    state: str
    why: str = ""


class Failed(_OfResult, frozen=True, gc=False, tag="e", array_like=True):
    """A call failed; `text` is the line that says why."""

    status: str
    text: str


class Planned(Struct, frozen=True, gc=False, tag="p", array_like=True):
    """The agent wrote or changed its to-do list.

    `items` are (key, words, status); status is pending | in_progress | completed | deleted, or
    "" where only the words are known. `whole`: the list replaces the earlier one."""

    ref: Ref
    items: tuple[tuple[str, str, str], ...]
    whole: bool = True


class Spent(Struct, frozen=True, gc=False, tag="u", array_like=True):
    """Usage recorded for an API response; the same response may be recorded again."""

    message: int
    response: str
    model: str
    usage: Usage


class Counted(Struct, frozen=True, gc=False, tag="n", array_like=True):
    """The recorder's own running total of the session."""

    message: int
    last: Usage
    total: Usage


class Compacted(Struct, frozen=True, gc=False, tag="k", array_like=True):
    """The conversation was replaced by a summary.

    `occupancy` is ours: the last call's tokens and an estimate of what followed it; None where
    no usage was recorded. `recorded` is the recorder's own figure, or None."""

    ref: Ref
    trigger: str
    occupancy: int | None
    recorded: int | None


class Wrote(_OfCall, frozen=True, gc=False, tag="w", array_like=True):
    """Identifiers in what a call writes to a file, those that occur most first."""

    names: tuple[str, ...]


class Edited(_OfCall, frozen=True, gc=False, tag="d", array_like=True):
    """What a call changes in one file, by its arguments.

    Attributes:
        path: as in `Touched`.
        added, removed: lines.
        first, last: the lines from 1 that it leaves, 0 where the call does not say.
        symbols: functions, classes and the like that are defined in the changed lines.
        hunk: the first changed lines, each after "+" or "-", redacted.
        whole: it writes the whole file, so that what it removes is not known.
        repeated: it replaces every occurrence, so that the lines are not counted.
        texts: hashes of the one text that it replaces and of the one that it puts there; ()
            where it shows no such pair."""

    path: str
    added: int
    removed: int
    first: int = 0
    last: int = 0
    symbols: tuple[str, ...] = ()
    hunk: str = ""
    whole: bool = False
    repeated: bool = False
    texts: tuple[int, ...] = ()


class WroteLines(_OfCall, frozen=True, gc=False, tag="z", array_like=True):
    """What a call replaces in a file, as hashes of lines; recorded only for the memory of a
    project.

    Attributes:
        path: as in `Touched`.
        whole: the file is written whole: the only replacement adds all of its lines.
        replaced: see `text.line_hashes.Replaced`."""

    path: str
    whole: bool
    replaced: tuple[Replaced, ...]


class Saw(_OfCall, frozen=True, gc=False, tag="y", array_like=True):
    """What a call that reads, searches or runs something showed; recorded only for the memory
    of a project.

    Attributes:
        words: of the call: path, pattern or command, redacted.
        text: the lines of the output that say most, redacted."""

    kind: str
    words: str
    text: str


class Noted(Struct, frozen=True, gc=False, tag="x", array_like=True):
    """What a plug-in extractor found, under the extractor's own name."""

    extractor: str
    ref: Ref
    value: object


Evidence: TypeAlias = (
    Called
    | Touched
    | Ran
    | Returned
    | Applied
    | Said
    | Shown
    | Asked
    | Failed
    | Planned
    | Spent
    | Counted
    | Compacted
    | Wrote
    | Noted
    | Stood
    | Turned
    | Edited
    | Checked
    | WroteLines
    | Saw
)
