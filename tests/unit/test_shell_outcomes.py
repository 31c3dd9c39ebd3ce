"""How sure what leftoff says of a command is, by its outcome and by what was known before.

The outcomes were not measured: the output is what the programs print by their documentation.
"""

from leftoff.shell import analyze, resolve
from leftoff.shell.effects import Outcome
from leftoff.shell.filesystem import FileState


def test_no_more_written_texts_are_kept_than_are_of_use() -> None:
    known = FileState([], [], ["."])
    for number in range(500):
        command = f"cat <<'E' > f{number}\n{number}\nE\n"
        resolve(analyze(command), outcome=Outcome(exit_code=0), known=known)
    assert 200 <= len(known.contents) <= 400
    assert known.contents["f499"] == "499\n"
