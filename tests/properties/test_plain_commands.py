"""What is read without the grammar says what the grammar says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.shell.fastpath import plain_list
from leftoff.shell.parser import full_parse
from leftoff.shell.statements import COMMON_REDIRECTS

WORDS = st.sampled_from(
    [
        "cat", "a.txt", "src/b.py", "-n", "--name=x", "git", "HEAD", "%s", "@", "+5", "2", "=",
        "x=",
    ]
)  # fmt: skip
QUOTED = st.sampled_from(["'a b'", "''", '"x | y"', '""', "'$HOME'", '"a*"', "'#'", '"é > ü"'])
JOINTS = st.sampled_from([" | ", " && ", " || ", "; ", "\n", " ;", "|", "&&", "\n\n"])
COMMANDS = st.builds(
    lambda name, rest, redirects: " ".join([name, *rest, *redirects]),
    st.sampled_from(["cat", "ls", "./run.sh", "git", "if", "export", "X=1", "'q'", "time"]),
    st.lists(WORDS | QUOTED, max_size=4),
    st.lists(st.sampled_from(sorted(COMMON_REDIRECTS)), max_size=2),
)


@st.composite
def lists(draw: st.DrawFn) -> str:
    parts = draw(st.lists(COMMANDS, min_size=1, max_size=5))
    text = parts[0]
    for part in parts[1:]:
        text += draw(JOINTS) + part
    return text + draw(st.sampled_from(["", "", ";", "\n", " ", " |", " &", " # no", " &&"]))


@given(lists())
def test_a_list_is_read_as_by_the_grammar(command: str) -> None:
    plain = plain_list(command)
    if plain is not None:
        read = full_parse(command)
        assert not read.broken
        assert read.body == plain


@given(st.text(alphabet="ab -'\"|&;><2/1\n\\$#=!~{}()*é\x00", max_size=24))
def test_any_text_is_read_as_by_the_grammar_or_left_to_it(command: str) -> None:
    plain = plain_list(command)
    if plain is not None:
        assert full_parse(command).body == plain


@pytest.mark.parametrize(
    "command",
    [
        "cd src && go test ./... 2>&1 | tail -20",
        "git status; git log --oneline -5 2>/dev/null\nls",
        "grep -n 'a b' x.py | head -5 || echo \"none | found\"",
    ],
)
def test_usual_commands_need_no_grammar(command: str) -> None:
    assert plain_list(command) == full_parse(command).body


@pytest.mark.parametrize(
    "command",
    ["", " ", "ls *.py", "echo $X", "echo `x`", "X=1 ls", "ls > out", "cat <<E\nE", "ls &",
     "ls |", "&& ls", "(ls)", "! ls", "ls # x", "for x in a; do ls; done", "a\\ b", "~/run x",
     "ls | | ls", "ls;;ls", "'ls' x", "a'b' c", "2>&1", "ls 2>&1 x", "time ls | cat"],
)  # fmt: skip
def test_what_needs_an_expansion_or_is_doubtful_is_left_to_the_grammar(command: str) -> None:
    assert plain_list(command) is None
