"""The generator of commands, the sandbox and the scorer behind the file figures."""

import random

import pytest
from benchmarks.accuracy.files import fixtures, grammar, sandbox, scoring

from leftoff.shell import analyze


def test_one_seed_gives_one_set_of_commands() -> None:
    def once(seed: int) -> list[tuple[str, str, str]]:
        rng = random.Random(seed)
        found = grammar.generate(fixtures.trees(rng), 300, rng)
        return [(tree.name, stratum, command) for tree, stratum, command in found]

    assert once(5) == once(5)
    assert {command for _, _, command in once(5)} != {command for _, _, command in once(6)}
    assert {stratum for _, stratum, _ in once(5)} == grammar.STRATA.keys()
    assert len({tree for tree, _, _ in once(5)}) >= 12


def test_every_generated_command_is_read_whole() -> None:
    rng = random.Random(9)
    found = grammar.generate(fixtures.trees(rng), 700, rng)
    assert [command for _, _, command in found if analyze(command).broken] == []


def test_the_score_counts_events_answers_and_dangers() -> None:
    score = scoring.Score()
    score.add(
        "s", "c", scoring.Answer({"a": "created", "b": "deleted"}, False), {"a": "created"}
    )
    score.add("s", "c", scoring.Answer({}, True), {"d": "deleted"})
    assert (score.right, score.wrong, score.missed) == (1, 1, 1)
    assert score.f1 == 0.5
    assert score.answered == 1
    assert score.answered_precision == 0.5
    assert score.dangerous == 1  # a deletion that it says it does not know of is no danger


def test_commands_run_for_real_and_truth_is_what_changed() -> None:
    try:
        sandbox.check()
    except sandbox.Unavailable as why:
        pytest.skip(f"no sandbox here: {why}")
    tree = fixtures.Tree("t", {"a.txt": b"1\n", "b.txt": b"2\n", "d/c.txt": b"3\n"})
    with sandbox.Sandbox() as box:
        ran = box.run(tree, "cat a.txt > n.txt; rm b.txt; echo 4 >> d/c.txt; id -u; exit 3")
    assert ran.events == {
        "a.txt": "read",
        "n.txt": "created",
        "b.txt": "deleted",
        "d/c.txt": "modified",
    }
    assert (ran.exit_code, ran.output) == (3, "65534\n")
    answer = scoring.told(
        "cat a.txt > n.txt; rm b.txt; echo 4 >> d/c.txt; id -u; exit 3", tree, ran
    )
    assert answer.events == ran.events
