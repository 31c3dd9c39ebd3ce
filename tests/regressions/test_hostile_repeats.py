"""Texts of one repeated character, and of what a rule looks for, take time in proportion to their length."""

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from tests.strategies.literals import literals

from leftoff import Pass
from leftoff.analysis.names import MAX_WORD, NameFinder
from leftoff.extraction.decision_model import PATTERNS
from leftoff.extraction.rule_sets import GROUPS, OUTPUT_RULES
from leftoff.extraction.rules import Rule
from leftoff.formats import inspect
from leftoff.formats.specstory_arguments import _NAMED
from leftoff.formats.specstory_blocks import Turn
from leftoff.shell import Outcome, analyze, resolve
from leftoff.shell.filesystem import FileState

# A text of one repeated character takes time in proportion to its length.
#
# Timing every regular expression of the package, and the whole pass, over hostile repeats found
# what was given texts of any length and took the square of it, or worse: names were looked for in each word, however
# long (a command of 50,000 capitals: 4 s, of 100,000: 15 s); the markdown of a conversation paired
# backquotes with a pattern that took the cube (4,000 of them: half a second); SpecStory's named
# arguments were tried from each letter of a long word; and a ZIP archive that was damaged throughout
# was unpacked without end, since only whole members counted towards what may be unpacked. Functions that
# take a text alone are timed in tests/unit/test_hostile_text.py.

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]


def test_names_in_a_long_word_are_still_found() -> None:
    data = ",".join(f'"{chr(97 + n % 26)}":' + "x" * 40 for n in range(MAX_WORD // 20))
    (found,) = NameFinder().names([data + ',"load_table":1'])
    assert "load_table" in found


def test_hundreds_of_wrappers_around_a_command() -> None:
    """Each is one more call inside; Python's own limit ended the whole reading."""
    script = analyze("env " * 2000 + "rm a")
    effects = resolve(script, outcome=Outcome(exit_code=0), known=FileState(["a"]))
    assert [(effect.action, effect.tool) for effect in effects] == [("unknown", "shell")]


@pytest.mark.parametrize("first,folder,size", [("/p/", "</", 100_000), ("", "a/", 4000)])
def test_the_folders_of_an_endless_path(
    first: str, folder: str, size: int, assert_linear: Linear
) -> None:
    """Every folder of it was kept, gigabytes of them, and each cost its whole length."""

    def work(path: str) -> None:
        known = FileState()
        known.put(path)
        assert known.kind(path) == "file"
        assert known.kind(path + "/y") in ("absent", "unknown")
        assert known.is_complete(path) is False
        assert len(known.below("/" if path[0] == "/" else ".", directories=True)) == 1

    work(first + folder * size + "x")

    def prepare(count: int) -> Callable[[], object]:
        path = first + folder * count + "x"
        return lambda: FileState().put(path)

    assert_linear(prepare, size)


def test_the_folders_of_a_path_that_may_be() -> None:
    known = FileState()
    known.put("/p/" + "a/" * 40 + "x")
    assert len(known.below("/", directories=True)) == 42


def test_named_arguments_in_one_endless_word() -> None:
    assert _NAMED.findall("_" * 200_000) == []
    assert _NAMED.findall("path `./` pattern `x y`") == [("path", "./"), ("pattern", "x y")]


def archived(*samples: tuple[bytes, bool]) -> bytes:
    """An Inspect archive; damaged samples have another checksum than the directory says."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("header.json", b'{"version":2,"status":"success","eval":{"task":"t"}}')
        for number, (data, _) in enumerate(samples):
            made.writestr(f"samples/{number}.json", data)
    archive = bytearray(buffer.getvalue())
    for number, (_, damaged) in enumerate(samples):
        entry = archive.rindex(b"samples/%d.json" % number)
        if damaged:
            archive[entry - 46 + 16] ^= 255
    return bytes(archive)


SAMPLE = b'{"id":1,"epoch":1,"messages":[{"role":"user","content":"Find the flag.","source":"input"}]}'


def test_damaged_members_use_up_what_may_be_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*samples: tuple[bytes, bool]) -> tuple[int, int]:
        reading = Pass("a.eval", "inspect")
        reading.feed(archived(*samples))
        reading.close()
        return reading.lines.unknown, reading.lines.parsed

    damaged, whole = (SAMPLE, True), (SAMPLE, False)
    assert unknown(whole, damaged, damaged, whole) == (2, 2)
    monkeypatch.setattr(inspect, "MAX_ARCHIVE", 3 * len(SAMPLE) + 10)
    assert unknown(whole, damaged, damaged, whole) == (3, 1)


def test_ten_thousands_of_removed_files(assert_linear: Linear) -> None:
    """Each removal searched everything that was known for what lay below it."""

    def removed(count: int) -> FileState:
        known = FileState(["/p/a"])
        for number in range(count):
            known.remove(f"/p/{number}")
        return known

    assert_linear(lambda count: lambda: removed(count), 20_000)
    known = removed(10)
    known.put("/p/d/e")
    known.remove("/p/d")
    assert known.below("/", directories=True) == ["/p", "/p/a"]


def test_ten_thousands_of_results_in_one_message(assert_linear: Linear) -> None:
    """The results that a message had so far were copied for each further one."""
    block = b'{"type":"tool_result","tool_use_id":"c%d","content":"ok"}'

    def prepare(count: int) -> Callable[[], object]:
        blocks = b",".join(block % number for number in range(count))
        data = b'{"role":"user","content":"Go."}\n{"role":"user","content":[' + blocks + b"]}\n"
        return lambda: Pass("s", "chat_lines").feed(data)

    assert_linear(prepare, 20_000)


@pytest.mark.parametrize(
    "command,output",
    [
        ("pytest", "3 passed in 0.1s"),
        ("git commit -m x%d", "[main a%06d] x"),
        ("mv f%d g%d", ""),
    ],
)
def test_thousands_of_tiny_calls(
    command: str, output: str, calls_made: Callable[[Callable[[], object]], int]
) -> None:
    """The passed checks, or the events of git, were walked once for each of them, and all known
    files once for each that was moved."""

    def filled(words: str, number: int) -> str:
        return words.replace("%d", str(number)).replace("%06d", f"{number:06}")

    def prepare(count: int) -> Callable[[], object]:
        reading = Pass("s", "chat_lines")
        for number in range(count):
            asked = {"command": filled(command, number)}
            called = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": asked}
            shown = {"type": "tool_result", "tool_use_id": f"c{number}"}
            shown["content"] = filled(output, number)
            for role, block in (("assistant", called), ("user", shown)):
                line = {"role": role, "content": [block]}
                reading.feed(json.dumps(line).encode() + b"\n")
        reading.close()
        return reading.conclude

    small, large = (calls_made(prepare(count)) for count in (500, 2000))
    assert large < 6 * small


AIDER = (
    "# aider chat started at 2026-01-02 03:04:05\n\n#### write the table  \n\nHere it is.\n\n"
)
FAILED = "> # 1 SEARCH/REPLACE block failed to match!  \n"


def aider(printed: str) -> Pass:
    reading = Pass("aider")
    reading.feed(f"{AIDER}{printed}".encode())
    return reading


@pytest.mark.parametrize("line", ["# {} SEARCH/REPLACE blocks failed to match!",
                                  "# The other {} SEARCH/REPLACE blocks were applied"])  # fmt: skip
def test_a_count_of_many_digits_that_aider_prints(line: str) -> None:
    """It ended the reading."""
    printed = f"> {line.format('9' * 5000)}  \n> Just reply with fixed versions of it.  \n"
    assert aider(FAILED + printed).summary().user_requests
    assert aider(printed).summary().user_requests


@pytest.mark.parametrize(
    "last", ["", "Just reply with fixed versions", "The SEARCH section must"]
)
def test_many_blocks_that_failed_in_aider(last: str, assert_linear: Linear) -> None:
    printed = FAILED + (f"> {last}  \n" if last else "")
    assert_linear(lambda size: lambda: aider(printed * size).summary(), 4000)


class Lines(list[str]):
    """Counts the lines that are looked at."""

    looked = 0

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        Lines.looked += len(found) if isinstance(at, slice) else 1
        return found


class Body(str):
    __slots__ = ()

    def split(self, *given: Any) -> list[str]:
        return Lines(super().split(*given))


@pytest.mark.parametrize(
    "piece",
    ["Read file: a.py\n\n", "Cancelled\n\n", "```bash\n\n", "```diff\n\n", "<details>\n", "<think>\n",
     "Tool use: **Read**\n```\n\n", "Result:\n```\n\n", "### Rule: a\n```\n\n", '<tool-use data-tool-type="" data-tool-name="y">\n'],
)  # fmt: skip
def test_a_turn_of_specstory_without_rules(piece: str) -> None:
    """Each of its steps looked at all the rest of the turn."""

    def looked(count: int) -> int:
        Lines.looked = 0
        Turn(0, {}, ([],)).read(Body(piece * count))
        return Lines.looked

    assert 0 < looked(800) < 5 * looked(200)


# A text that repeats what a rule looks for takes time in proportion to its length.
#
# `TODO: ` and `Next: ` repeated without a line break took 20 s for 2 MB: for each hit of a rule the
# inline code of the whole paragraph was looked up anew, and after each heading of a list the blocks of
# the whole text were searched for it. The layout of a text is now read once for all of its hits.

RULES = [rule for group in (*GROUPS.values(), *PATTERNS.values()) for rule in group]


def answer(text: str) -> bytes:
    """A recording in which the agent says a text."""
    said = ({"role": "user", "content": "Go."}, {"role": "assistant", "content": text})
    return b"".join(json.dumps(record).encode() + b"\n" for record in said)


def output(text: str) -> bytes:
    """A recording in which a command prints a text."""
    call = {"name": "Bash", "arguments": '{"command": "pytest"}'}
    said = (
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": call}]},
        {"role": "tool", "tool_call_id": "c", "content": text},
    )
    return b"".join(json.dumps(record).encode() + b"\n" for record in said)


def summarized(data: bytes) -> Callable[[], object]:
    def work() -> object:
        reading = Pass("s", "chat_lines")
        reading.feed(data)
        reading.close()
        return reading.conclude()

    return work


@pytest.mark.parametrize(
    "piece",
    ["TODO: ", "Next: ", "`a` TODO: ", "Next steps:\n\n", "TODO: x\n", "- all tests pass\n"],
)
def test_a_claim_repeated(piece: str, assert_linear: Linear) -> None:
    assert_linear(lambda size: summarized(answer(piece * (size // len(piece)))), 200_000)


def texts_of(rule: Rule) -> list[str]:
    return [*literals(rule.pattern), *rule.matches]


@pytest.mark.parametrize("break_", [" ", "\n"], ids=["one line", "lines"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_what_a_rule_looks_for_repeated(rule: Rule, break_: str, assert_linear: Linear) -> None:
    """Every alternative of the rule in turn, on one line and on lines of their own."""
    piece = "".join(text + break_ for text in texts_of(rule))
    assert_linear(
        lambda size: summarized(answer((piece * (size // len(piece) + 1))[:size])), 60_000
    )


@pytest.mark.parametrize("rule", OUTPUT_RULES, ids=lambda rule: rule.id)
def test_what_an_output_rule_looks_for_repeated(rule: Rule, assert_linear: Linear) -> None:
    piece = "".join(text + "\n" for text in texts_of(rule))
    assert_linear(
        lambda size: summarized(output((piece * (size // len(piece) + 1))[:size])), 60_000
    )


def test_literals_are_found_by_the_rule_they_come_from() -> None:
    """Otherwise the tests above repeat what no rule looks at."""
    for rule in (*RULES, *OUTPUT_RULES):
        found = [text for text in literals(rule.pattern) if rule.search(text)]
        assert len(found) * 2 >= len(literals(rule.pattern)), rule.id
