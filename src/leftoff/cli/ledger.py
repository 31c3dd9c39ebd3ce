"""`leftoff ledger`."""

from leftoff.cli.memory import Question
from leftoff.cli.params import command
from leftoff.memory.ledger import ledger as ledger_of
from leftoff.memory.ledger import never_taken_up
from leftoff.memory.text import hit_values, hits_text, ledger_text, standing_values


@command("ledger")
def ledger(*, left_open: bool, asked: Question) -> int:
    """List the rules and decisions that apply in a project (default: this directory), from all
    its sessions, latest first.

    Example: leftoff ledger --open

    Reversed ones come last. Exit 1: there are none."""
    # Rules are those of a project: those of others would be wrong here.
    index, wanted = asked.index(), asked.filters(".")
    # What is left open is found by the sessions, not by the standing rules.
    if left_open:
        hits = never_taken_up(index, wanted)[: asked.limit]
        return asked.answer(hits, hit_values, hits_text)
    found = ledger_of(index, wanted)[: asked.limit]
    return asked.answer(found, standing_values, ledger_text)
