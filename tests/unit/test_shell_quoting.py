"""The text of shell words: quotes, escapes, patterns, braces, and what variables expand to."""

from leftoff.shell import analyze, resolve
from leftoff.shell.ast import MAX_FIELDS, UNKNOWN
from leftoff.shell.effects import FileState, Outcome
from leftoff.shell.quoting import expand_braces, mark_unquoted


def created(command: str) -> list[str]:
    """The files that a command made, in a folder that is known to be empty."""
    outcome = Outcome(status="ok", exit_code=0, output="")
    effects = resolve(analyze(command), outcome=outcome, known=FileState([], [], ["."]))
    return sorted(e.path for e in effects if e.path is not None and e.action == "created")


def test_too_many_words_are_one_that_is_not_known() -> None:
    many = "{" + ",".join("x" * MAX_FIELDS) + "}"
    assert len(expand_braces([mark_unquoted(many)])) == MAX_FIELDS
    assert expand_braces([mark_unquoted("{a,b}" + many[:400] + "}")]) == [[UNKNOWN]]
    assert expand_braces([mark_unquoted("{a,b}" + "c" * 995)]) == [
        ["a" + "c" * 995],
        ["b" + "c" * 995],
    ]
    assert expand_braces([mark_unquoted("{a,b}" + "c" * 996)]) == [[UNKNOWN]]
