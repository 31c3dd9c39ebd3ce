"""Compares what an analysis says of a command with what the command did.

Scores: F1 over (path, action) on all commands; precision where an answer is given and the share
of commands answered; errors about deletions for each 1,000 commands.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.accuracy.files.fixtures import Tree
from benchmarks.accuracy.files.sandbox import Ran

from leftoff.shell import analyze, resolve
from leftoff.shell.effects import Outcome
from leftoff.shell.filesystem import FileState


@dataclass(frozen=True)
class Answer:
    """What an analysis says: events, and whether it says that there is more to it."""

    events: dict[str, str]
    unknown: bool
    below: tuple[tuple[str, str], ...] = ()  # (directory, action) where all below is meant


Analysis = Callable[[str, Tree, Ran], Answer]


def _state(tree: Tree, root: str) -> FileState:
    directories = [f"{root}/{name}" for name in [*tree.directories(), *tree.empty]]
    return FileState([f"{root}/{name}" for name in tree.files], directories, [root])


def told(command: str, tree: Tree, ran: Ran) -> Answer:
    """Our analysis, told the files at the start."""
    return _ours(command, ran, _state(tree, ran.cwd))


def not_told(command: str, tree: Tree, ran: Ran) -> Answer:
    """Our analysis of the call alone."""
    return _ours(command, ran, FileState())


def _ours(command: str, ran: Ran, state: FileState) -> Answer:
    outcome = Outcome(exit_code=ran.exit_code, output=ran.output)
    effects = resolve(analyze(command, cwd=ran.cwd), outcome=outcome, known=state)
    events: dict[str, str] = {}
    below: list[tuple[str, str]] = []
    unknown = False
    start = ran.cwd + "/"
    for effect in effects:
        if effect.action == "unknown" or effect.certainty == "unknown" or effect.path is None:
            unknown = True
            continue
        if effect.path.startswith(start + ".git/") or not effect.path.startswith(start):
            continue
        name = effect.path[len(start) :]
        if name.endswith("/"):
            below.append((name, effect.action))
        else:
            events[name] = effect.action
    return Answer(events, unknown, tuple(below))


def seed_rule(command: str, tree: Tree, ran: Ran) -> Answer:
    """Seed 001: any ``rm`` is a deletion, any other command a modification.

    The rule names no path; here it is given every word of the command that could be one.
    """
    action = "deleted" if re.search(r"\brm\s+", command) else "modified"
    names: dict[str, str] = {}
    for word in re.findall(r"[^\s\"'<>|;&(){}]+", command):
        if word.startswith("-") or not re.search(r"[./]", word):
            continue
        names[word.removeprefix("./")] = action
    return Answer(names, False)


@dataclass
class Score:
    """Counts over commands."""

    commands: int = 0
    right: int = 0
    wrong: int = 0
    missed: int = 0
    exact: int = 0
    answered: int = 0
    answered_right: int = 0
    answered_wrong: int = 0
    dangerous: int = 0
    by_action: dict[str, list[int]] = field(default_factory=dict)
    worst: list[tuple[str, str, dict[str, str], dict[str, str]]] = field(default_factory=list)

    def add(self, stratum: str, command: str, answer: Answer, truth: dict[str, str]) -> None:
        said = set(answer.events.items())
        true = set(truth.items())
        right = len(said & true)
        self.commands += 1
        self.right += right
        self.wrong += len(said) - right
        self.missed += len(true) - right
        self.exact += said == true
        for path, action in said | true:
            row = self.by_action.setdefault(action, [0, 0, 0])
            both = (path, action) in said and (path, action) in true
            row[0 if both else 1 if (path, action) in said else 2] += 1
        if not answer.unknown:
            self.answered += 1
            self.answered_right += right
            self.answered_wrong += len(said) - right
        said_deleted = {path for path, action in said if action == "deleted"}
        deleted = {path for path, action in true if action == "deleted"}
        covered = tuple(name for name, action in answer.below if action == "deleted")
        false = said_deleted - deleted
        silent = (
            {p for p in deleted - said_deleted if not p.startswith(covered)}
            if covered
            else (deleted - said_deleted)
        )
        if false or (silent and not answer.unknown):
            self.dangerous += 1
        if said != true:
            self.worst.append((stratum, command, answer.events, truth))

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    @property
    def f1(self) -> float:
        total = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / total if total else 1.0

    @property
    def answered_precision(self) -> float:
        total = self.answered_right + self.answered_wrong
        return self.answered_right / total if total else 1.0

    def as_dict(self) -> dict[str, object]:
        return {
            "commands": self.commands,
            "f1": round(self.f1, 4),
            "precision": round(self.precision, 4),
            "recall": round(self.recall, 4),
            "exact": round(self.exact / max(self.commands, 1), 4),
            "precision_answered": round(self.answered_precision, 4),
            "answered": round(self.answered / max(self.commands, 1), 4),
            "dangerous_per_1000": round(1000 * self.dangerous / max(self.commands, 1), 2),
            "f1_by_action": {
                action: round(2 * hit / (2 * hit + extra + miss), 4)
                for action, (hit, extra, miss) in sorted(self.by_action.items())
            },
        }


def interval(
    rows: list[tuple[int, int, int]], rng: random.Random, rounds: int = 1000
) -> tuple[float, float]:
    """95 % bootstrap interval of F1 over commands, from (right, wrong, missed) of each."""
    values: list[float] = []
    for _ in range(rounds):
        right = wrong = missed = 0
        for _ in rows:
            one = rows[int(rng.random() * len(rows))]
            right, wrong, missed = right + one[0], wrong + one[1], missed + one[2]
        total = 2 * right + wrong + missed
        values.append(2 * right / total if total else 1.0)
    values.sort()
    return round(values[int(0.025 * rounds)], 4), round(values[int(0.975 * rounds)], 4)
