"""`$((2*7%4))` was 6, because multiplication, remainder and division were taken in that order and
not from the left; `${#name}` was the value, because a branch above took its sign for a pattern.
Both named wrong files in loops that count."""

import pytest

from leftoff.shell import analyze, resolve
from leftoff.shell.effects import FileState, Outcome


def touched(command: str) -> list[str | None]:
    said = resolve(analyze(command), outcome=Outcome(exit_code=0), known=FileState())
    return [effect.path for effect in said if effect.action == "created"]


@pytest.mark.parametrize(
    "text,value",
    [("2*7%4", 2), ("6*4/3", 8), ("7-2-1", 4), ("1+2*3", 7), ("9/2*2", 8), ("8%5+1", 4)],
)
def test_what_binds_alike_is_done_from_the_left(text: str, value: int) -> None:
    assert touched(f"touch f$(({text}))") == [f"f{value}"]


def test_a_length_is_a_number() -> None:
    assert touched('x=abcd; touch "n${#x}"') == ["n4"]
