"""The other side of `leftoff eval truth`: what it takes for true, and how it counts."""

import json
from pathlib import Path
from typing import Any

import pytest

from leftoff.evaluation import truth_commands as commands
from leftoff.evaluation.matching import Counts, beside, match_items
from leftoff.evaluation.report import as_text, to_json
from leftoff.evaluation.truth_cuts import places, speaker
from leftoff.evaluation.truth_outputs import session
from leftoff.evaluation.truth_runs import _Counts as Collected
from leftoff.evaluation.truth_runs import evaluate_truth
from leftoff.model import Message, Text, ToolCall, ToolResult, Typed


def ran(command: str, text: str | None = "", exit_code: int | None = None) -> commands.Ran:
    return commands.Ran(3, 0, command, commands.segments(command), exit_code, text, 4, True)


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("pytest -q", ("pytest",)),
        ("cd api && uv run --frozen pytest tests | tail -5", ("pytest",)),
        ("FOO=1 python3 -m pytest 2>&1", ("pytest",)),
        ("npm run lint && npm test", ("npm lint", "npm test")),
        ("timeout 60 ./gradlew test", ("gradle",)),
        ("make > out.txt 2>&1", ("make",)),
        ("npx tsc --version", ()),
        ("echo pytest", ()),
        ("cat <<EOF\npytest\nEOF", ()),
        ("prettier --write src", ()),
    ],
)
def test_runners_are_recognised_by_the_first_words(
    command: str, found: tuple[str, ...]
) -> None:
    assert commands.runners(ran(command)) == found


@pytest.mark.parametrize(
    ("command", "text", "code", "verdict"),
    [
        ("cd api && pytest -q", "", 0, "passed"),
        ("pytest -q", "", 1, "failed"),
        ("pytest -q | tail -3", "", 0, ""),
        ("pytest -q | tail -3", "2 failed, 3 passed in 0.12s", 0, "failed"),
        ("pytest -q || true", "3 passed in 0.12s", 0, "passed"),
        ("npm install && npm test", "", 1, ""),
        ("npm test; echo done", "Tests:       1 failed, 1 total", 0, "failed"),
        ("pytest; mypy .", "", 1, ""),
        ("timeout 5 pytest", "", 124, ""),
    ],
)
def test_a_verdict_is_only_taken_where_it_is_certain(
    command: str, text: str, code: int, verdict: str
) -> None:
    assert commands.verdict(ran(command, text, code)) == verdict


@pytest.mark.parametrize(
    ("command", "text", "code", "expected"),
    [
        ("pytest", "1 passed in 0.1s", 0, True),
        ("pytest", "bash: pytest: command not found", None, False),
        ("pytest", "", 127, False),
        ("cd web && npm test", "cd: no such file or directory: web", 1, False),
        ("go test -run=^$ -bench=. ./a", "ok  \ta\t1s", 0, False),
        ("go test ./a -run X", "ok  \ta\t0.1s [no tests to run]", 0, False),
        ("ls", "a.py", 0, False),
    ],
)
def test_what_never_started_or_had_no_tests_judges_nothing(
    command: str, text: str, code: int | None, expected: bool
) -> None:
    assert commands.judges(ran(command, text, code)) is expected


def test_a_script_commits_by_the_commands_in_its_strings() -> None:
    call = ToolCall("c", "exec", "script", 'await run({cmd: "git commit -m x"})')
    said = [
        Message(0, "assistant", parts=(call,)),
        Message(1, "tool", parts=(ToolResult("c", "[main 1a2b3c4] Merge b\n"),)),
    ]
    (later,) = commands.later_output(said)
    assert [t.hash for t in commands.git_truth(later)] == ["1a2b3c4"]


def test_git_is_judged_by_its_output() -> None:
    text = "[main 1a2b3c4] Boil the water\n 1 file changed, 1 insertion(+)\n"
    (commit,) = commands.git_truth(ran("git commit -am 'Boil the water'", text))
    assert (commit.kind, commit.hash, commit.subject) == ("commit", "1a2b3c4", "Boil the water")
    assert not list(commands.git_truth(ran("cat notes.txt", "[main 1a2b3c4] Boil the water")))
    pushed = "To example.com:kettle.git\n   1a2b3c4..2b3c4d5  main -> main\n"
    assert [t.kind for t in commands.git_truth(ran("git push", pushed))] == ["push"]
    assert commands.git_kinds(ran("gh repo create till --source=. --push", pushed)) == {"push"}
    refused = "To example.com:kettle.git\n ! [rejected]        main -> main (fetch first)\n"
    assert not list(commands.git_truth(ran("git push", refused)))
    local = "To /home/dev/kettle.git\n   1a2b3c4..2b3c4d5  main -> main\n"
    assert not list(commands.git_truth(ran("git push", local)))
    pulled = "From example.com:kettle\n   1a2b3c4..2b3c4d5  main -> origin/main\n"
    assert not list(commands.git_truth(ran("git pull && git push", pulled)))
    opened = "https://example.com/own/kettle/pull/12"
    (request,) = commands.git_truth(ran("gh pr create --fill", opened))
    assert (request.kind, request.number) == ("pull_request", 12)


def test_files_that_git_puts_back() -> None:
    assert commands.undone(ran("git checkout -- src/kettle.py")) == ("src/kettle.py",)
    assert commands.undone(ran("git restore kettle.py lid.py")) == ("kettle.py", "lid.py")
    assert commands.undone(ran("git revert HEAD")) == ("",)
    assert commands.undone(ran("git checkout main")) == ()
    assert commands.undone(ran("git restore --staged kettle.py")) == ()


def message(index: int, who: str, text: str = "Boil.", **more: Any) -> Message:
    role: Any = {"person": "user", "agent": "assistant", "tool": "tool"}[who]
    parts: Any = {"tool": (ToolResult("c", text),), "call": (ToolCall("c", "Bash"),)}.get(who)
    typed = (Typed(0, 0, len(text), more.pop("via", "prompt")),) if who == "person" else ()
    typed = more.pop("typed", typed)
    origin = {"person": "prompt"}.get(who, who)
    return Message(
        index,
        role,
        parts or (Text(text),),
        line=index + 1,
        origin=more.pop("origin", origin),
        typed=typed,
        **more,
    )


def test_who_speaks_next_tells_whose_turn_it_is() -> None:
    said = [
        message(0, "person"),
        message(1, "agent"),
        message(2, "tool"),
        message(3, "agent"),
        message(4, "person"),
        message(5, "agent"),
    ]
    found = [(cut.truth, cut.after, cut.lines) for cut in places(said, "seed")]
    assert found == [
        ("open", "prompt", 1),
        ("open", "words", 2),
        ("open", "output", 3),
        ("closed", "words", 4),
        ("open", "prompt", 5),
    ]


@pytest.mark.parametrize(
    "said",
    [
        [message(0, "person"), message(1, "person")],
        [message(0, "agent"), message(1, "person", via="queued")],
        [message(0, "agent"), message(1, "agent", origin="interruption")],
        [message(0, "agent", response="r"), message(1, "agent", response="r")],
        [message(0, "agent"), message(1, "person", origin="injected", typed=())],
        [
            message(0, "tool", time="2026-01-02T03:04:05.100Z"),
            message(1, "person", time="2026-01-02T03:04:06.200Z"),
        ],
        [message(0, "person"), message(1, "agent", " "), message(2, "person")],
    ],
)
def test_places_that_tell_nothing_are_not_taken(said: list[Message]) -> None:
    assert not places(said, "seed")


def test_a_notice_speaks_for_nobody() -> None:
    assert speaker(message(0, "agent", origin="injected")) == ""
    assert speaker(message(0, "agent", agent="a1")) == ""


def test_any_mention_of_an_item_finds_it_once() -> None:
    labels = [(5, "write the docs for the kettle"), (9, "raise the timeout")]
    ours = [(5, "The docs for the kettle"), (30, "Still open: write the docs for the kettle.")]
    assert match_items(ours, labels) == Counts(1, 0, 1)
    assert match_items([(30, "raise a cup")], labels) == Counts(0, 1, 2)
    assert match_items(
        [], labels, [(30, "raise a cup"), (31, "raise the timeout now")]
    ) == Counts(1, 0, 1)


def test_words_beside_a_quote_speak_of_its_item_and_those_far_away_do_not() -> None:
    text = (
        "Not pushed: the docs of the kettle. Say when. "
        + "It boils well. " * 30
        + "Sell a lid."
    )
    labels = [(5, "Not pushed: the docs of the kettle.")]
    around = [beside(text, labels[0][1])]
    assert match_items([(5, "Say when.")], labels, (), around) == Counts(1, 0, 0)
    assert match_items([(5, "Sell a lid.")], labels, (), around) == Counts(0, 1, 1)
    assert match_items([(5, "Say when.")], labels) == Counts(0, 1, 1)


def test_a_recording_is_measured_and_the_run_holds_no_words(tmp_path: Path) -> None:
    steps = (
        ("user", "Make the zanzibar kettle boil."),
        ("run", ("pytest -q", "1 failed in 0.01s", 1)),
        ("agent", "The kettle boils again."),
        ("user", "Good."),
    )
    path = tmp_path / "kettle.jsonl"
    path.write_bytes(session(*steps))
    report = evaluate_truth([str(path)])
    assert to_json(report) == to_json(evaluate_truth([str(path)]))
    found = report.figures
    assert found["turn open"].right + found["turn open"].wrong == 3
    assert found["turn closed"].right == 1
    assert found["check verdict"].right == 1
    assert found["typed kept"].right == 2
    run = json.loads(to_json(report))
    assert run["schema"] == "leftoff.truth/1"
    assert "zanzibar" not in json.dumps(run)
    assert "turn closed" in as_text(report.blocks(formats=True, listed=("turn open",)))


def test_shares_are_of_what_was_said_and_of_all() -> None:
    counts = Collected()
    counts.counts.update(
        {
            ("check judged", "leftoff", "right"): 8,
            ("check judged", "leftoff", "wrong"): 1,
            ("check judged", "leftoff", "unknown"): 3,
            ("check judged", "aider", "wrong"): 1,
        }
    )
    found = counts.figures()["check judged"]
    assert (found.precision, found.found) == (0.8, 0.6154)
    assert found.by_format["aider"].precision == 0.0
