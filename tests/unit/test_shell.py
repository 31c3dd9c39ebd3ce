"""What a command line did to files, with its outcome."""

from __future__ import annotations

import msgspec
import pytest

from leftoff.shell import analyze, command_facts, observe, resolve
from leftoff.shell.effects import FileState, Outcome, Script

OK = Outcome(status="ok", exit_code=0, output="")


def run(
    command: str,
    files: str = "",
    *,
    outcome: Outcome = OK,
    told: bool = True,
    cwd: str | None = None,
) -> dict[str, str]:
    names = files.split()
    if told:
        known = FileState(
            [name for name in names if not name.endswith("/")],
            [name[:-1] for name in names if name.endswith("/")],
            ["."],
        )
    else:
        known = FileState(names)
    effects = resolve(analyze(command, cwd=cwd), outcome=outcome, known=known)
    return {
        str(effect.path): effect.action if effect.certainty != "unknown" else "unknown"
        for effect in effects
    }


# --- structure --------------------------------------------------------------------------------


def test_directories_are_followed_and_left_again() -> None:
    command = "cd a && touch x; (cd b; touch y); touch z; cd ..; touch w"
    assert run(command, "a/b/") == {
        "a/x": "created",
        "a/b/y": "created",
        "a/z": "created",
        "w": "created",
    }


def test_paths_are_absolute_where_the_directory_is_known() -> None:
    assert run("touch x ../y /z", told=False, cwd="/p/q") == {
        "/p/q/x": "created",
        "/p/y": "created",
        "/z": "created",
    }


def test_home_stays_a_tilde_or_is_put_in() -> None:
    assert run("touch ~/x", told=False, cwd="/p") == {"~/x": "created"}
    script = analyze("touch ~/x", cwd="/p", home="/home/u")
    effects = resolve(script, outcome=OK, known=FileState())
    assert [effect.path for effect in effects] == ["/home/u/x"]


def test_a_redirection_belongs_to_the_last_command_of_a_list() -> None:
    assert run("mkdir d && echo x > d/y && echo z > w") == {"d/y": "created", "w": "created"}


@pytest.mark.parametrize(
    "command",
    [
        "cat > a <<'EOF'\nrm b\nEOF",
        "cat <<EOF > a; cat b > /dev/null\nx\nEOF",
        "cat <<A <<B > a\nx\nA\nrm b\nB",
        'cat > a <<"E"\nit\'s `rm b` $(rm b)\nE',
        "cat > a <<-E\n\trm b\n\tE\n",
        "echo \"$(cat <<'E'\nit's )\nE\n)\" > a",
    ],
)
def test_the_body_of_a_here_document_is_data(command: str) -> None:
    found = run(command, "b")
    assert found.pop("a") == "created"
    assert found in ({}, {"b": "read"})


def test_quoted_commands_do_nothing() -> None:
    assert run("echo 'rm b' \"mv b c\" \\> d '>' e", "b") == {}


def test_loops_variables_and_braces_are_followed() -> None:
    assert run("x=1; for f in a b; do mv $f ${f}_$x.txt; done; touch {p,q}{1,2}", "a b") == {
        "a": "deleted",
        "b": "deleted",
        "a_1.txt": "created",
        "b_1.txt": "created",
        "p1": "created",
        "p2": "created",
        "q1": "created",
        "q2": "created",
    }


def test_globs_name_known_files_and_only_those() -> None:
    assert run("rm *.log", "a.log b.log .c.log d/e.log f") == {
        "a.log": "deleted",
        "b.log": "deleted",
    }
    assert run("rm *.log", "a.log", told=False) == {"a.log": "deleted", "*.log": "unknown"}


def test_a_quoted_star_is_no_pattern() -> None:
    assert run("rm '*.log' x", "*.log x y.log") == {"*.log": "deleted", "x": "deleted"}


def test_functions_and_their_arguments() -> None:
    assert run('mk() { echo x > "$1.$2"; }; mk a b; mk c d') == {
        "a.b": "created",
        "c.d": "created",
    }


def test_what_a_name_cannot_be_known_for_is_unknown() -> None:
    assert run("rm $UNSET_NAME", "a") == {"None": "unknown"}
    assert run("touch $(curl -s http://localhost)") == {"None": "unknown"}


def test_case_and_if_take_the_branch_that_is_known() -> None:
    assert run("case a.py in *.py) rm x;; *) rm y;; esac", "x y") == {"x": "deleted"}
    assert run("if [ -f x ]; then rm x; else rm y; fi", "x y") == {"x": "deleted"}
    assert run("if [[ -d x || ! -e y ]]; then rm x; else rm y; fi", "x y") == {"y": "deleted"}


def test_a_directory_takes_its_files_with_it() -> None:
    assert run("rm -rf d", "d/a d/e/b c") == {"d/a": "deleted", "d/e/b": "deleted"}
    assert run("mv d e", "d/a") == {"d/a": "deleted", "e/a": "created"}
    assert run("rm -rf build", told=False) == {"build/": "deleted"}


def test_moving_there_and_back_changes_nothing() -> None:
    assert run("mv a b && mv b a", "a") == {}
    assert run("gzip a && gunzip a.gz", "a") == {"a": "read"}
    assert run("touch t && rm t") == {}


def test_a_temporary_file_is_followed_and_not_told() -> None:
    assert run('t=$(mktemp); sed s/a/b/ f > "$t" && mv "$t" f', "f") == {"f": "modified"}


def test_scripts_given_inline() -> None:
    code = "import os, shutil\nfor n in ('a', 'b'):\n    os.remove(n + '.txt')\nshutil.copy('c', 'd')"
    assert run(f'python3 -c "{code}"', "a.txt b.txt c") == {
        "a.txt": "deleted",
        "b.txt": "deleted",
        "c": "read",
        "d": "created",
    }
    assert run("node -e \"const f='x.js'; fs.writeFileSync(f, '1')\"") == {"x.js": "created"}
    assert run("cat > s.sh <<'E'\nrm a\nE\nbash s.sh", "a") == {
        "s.sh": "created",
        "a": "deleted",
    }


def test_powershell_is_named_and_not_guessed() -> None:
    effects = resolve(analyze("Get-ChildItem | Remove-Item"), outcome=OK, known=FileState())
    assert [(effect.action, effect.tool) for effect in effects] == [("unknown", "powershell")]


# --- outcomes ---------------------------------------------------------------------------------


def failed(output: str = "", code: int = 1) -> Outcome:
    return Outcome(status="failed", exit_code=code, output=output)


def test_denied_calls_do_nothing() -> None:
    assert run("rm a", "a", outcome=Outcome(denied=True)) == {}


def test_a_failed_command_does_nothing() -> None:
    assert (
        run("rm a", told=False, outcome=failed("rm: cannot remove 'a': Permission denied"))
        == {}
    )
    assert run("sed -i s/x/y/ a", told=False, outcome=failed()) == {}


def test_of_several_operands_those_not_complained_of_are_gone() -> None:
    outcome = failed("rm: cannot remove 'b': No such file or directory")
    assert run("rm a b", told=False, outcome=outcome) == {"a": "deleted"}


def test_after_a_failure_the_rest_of_a_chain_did_not_run() -> None:
    outcome = failed("FAILED tests/test_x.py")
    assert run("pytest -q && rm a", "a", outcome=outcome) == {}
    assert run("pytest -q; rm a", "a", outcome=OK) == {"a": "deleted"}
    outcome = failed("cp: cannot stat 'x': No such file or directory")
    assert run("touch t && cp x y && rm t", outcome=outcome) == {"t": "created"}


def test_success_means_that_every_link_ran() -> None:
    assert run("cd sub && npm test && rm a", "sub/a", outcome=OK) == {"sub/a": "deleted"}


def test_words_that_were_echoed_tell_the_branch() -> None:
    command = "diff -q a b && rm b || echo differ"
    assert run(command, "a b", outcome=Outcome(exit_code=0, output="differ\n")) == {
        "a": "read",
        "b": "read",
    }


def test_an_interrupted_call_did_what_came_before_the_slow_program() -> None:
    outcome = Outcome(interrupted=True)
    assert run("rm a", "a", outcome=outcome) == {}
    assert run("echo x > c; sleep 500; rm a", "a", outcome=outcome) == {"c": "created"}


def test_background_and_unknown_outcomes_are_likely() -> None:
    for outcome in (Outcome(), Outcome(exit_code=0, background=True)):
        effects = resolve(
            analyze("touch a"), outcome=outcome, known=FileState(complete_under=["."])
        )
        assert [effect.certainty for effect in effects] == ["likely"]
    effects = resolve(
        analyze("touch a & touch b"), outcome=OK, known=FileState(complete_under=["."])
    )
    assert [(effect.path, effect.certainty) for effect in effects] == [
        ("a", "likely"),
        ("b", "sure"),
    ]


def test_a_redirection_to_a_missing_directory_fails() -> None:
    outcome = failed("bash: line 1: no/x: No such file or directory")
    assert run("echo a > no/x", told=False, outcome=outcome) == {}


def test_output_names_files() -> None:
    outcome = Outcome(exit_code=0, output="patching file a.c\npatching file b.c\n")
    assert run("patch -p1 < x.diff", "a.c x.diff", outcome=outcome) == {
        "a.c": "modified",
        "b.c": "created",
        "x.diff": "read",
    }
    outcome = Outcome(exit_code=0, output="rm 'd/a'\nrm 'd/b'\n")
    assert run("git rm -r d", told=False, outcome=outcome) == {
        "d/a": "deleted",
        "d/b": "deleted",
    }
    outcome = Outcome(
        exit_code=0,
        output="Updating 1..2\n a.py | 2 +-\n b.py | 1 +\n create mode 100644 b.py\n",
    )
    assert run("git pull", told=False, outcome=outcome) == {
        "a.py": "modified",
        "b.py": "created",
    }


def test_a_commit_changes_no_file_and_is_evidence() -> None:
    outcome = Outcome(
        exit_code=0, output="[main 1] x\n 1 file changed\n create mode 100644 n.py\n"
    )
    script = analyze("git commit -m x")
    known = FileState()
    assert resolve(script, outcome=outcome, known=known) == []
    assert known.kind("n.py") == "file"
    assert [(seen.path, seen.fact) for seen in observe(script, outcome=outcome)] == [
        ("n.py", "added"),
    ]


def test_listings_tell_what_exists() -> None:
    known = FileState()
    outcome = Outcome(exit_code=0, output="a.py\nb.py\n")
    assert resolve(analyze("ls src", cwd="/p"), outcome=outcome, known=known) == []
    assert known.kind("/p/src/a.py") == "file"
    assert known.kind("/p/src/c.py") == "unknown"
    status = Outcome(exit_code=0, output=" M m.py\n?? u.py\n D d.py\n")
    resolve(analyze("git status --short", cwd="/p"), outcome=status, known=known)
    assert [known.kind(f"/p/{name}") for name in ("m.py", "u.py", "d.py")] == [
        "file",
        "file",
        "absent",
    ]


def test_a_write_after_a_listing_is_a_modification() -> None:
    known = FileState()
    resolve(analyze("cat a.py", cwd="/p"), outcome=OK, known=known)
    found = resolve(analyze("echo x > a.py", cwd="/p"), outcome=OK, known=known)
    assert [(effect.action, effect.certainty) for effect in found] == [("modified", "sure")]


def test_git_puts_back_what_was_changed() -> None:
    known = FileState(["a"], [], ["."])
    resolve(analyze("sed -i s/x/y/ a"), outcome=OK, known=known)
    found = resolve(analyze("git checkout -- a"), outcome=OK, known=known)
    assert [(effect.path, effect.restored, effect.certainty) for effect in found] == [
        ("a", True, "sure"),
    ]


def test_an_agents_editor_keeps_its_open_file() -> None:
    known = FileState()
    resolve(analyze("create n.py"), outcome=OK, known=known)
    edited = resolve(analyze("edit 1:1\nimport os; rm x\nend_of_edit"), outcome=OK, known=known)
    assert [(effect.path, effect.action) for effect in edited] == [("n.py", "modified")]
    refused = Outcome(
        status="ok", output="Your proposed edit has introduced new syntax error(s)."
    )
    assert resolve(analyze("edit 1:1\nx\nend_of_edit"), outcome=refused, known=known) == []


# --- plain data -------------------------------------------------------------------------------


def test_a_script_survives_being_stored() -> None:
    command = (
        "for f in *.c; do x=(1 2); cat <<E | tee $f >> o 2>&1; done\n$y\nE\n[ -f a ] || ! b &"
    )
    script = analyze(command, cwd="/p")
    raw = msgspec.json.encode(script)
    assert msgspec.json.decode(raw, type=Script) == script
    packed = msgspec.msgpack.encode(script)
    assert msgspec.msgpack.decode(packed, type=Script) == script


def test_equal_commands_in_two_directories_share_their_parse() -> None:
    one, two = analyze("rm x", cwd="/a"), analyze("rm x", cwd="/b")
    assert one.body is two.body
    assert (one.cwd, two.cwd) == ("/a", "/b")


@pytest.mark.parametrize(
    "command, facts",
    [
        ("cd x && go test ./... | tail -5", [("cd", "x"), ("go", "test"), ("tail", "")]),
        ("sudo env A=1 timeout 5 git -C d commit -m x", [("git", "commit")]),
        ("uv run pytest -q", [("pytest", "")]),
        ("python -m pytest tests", [("pytest", "tests")]),
        ("npx --yes jest a", [("jest", "a")]),
        ("echo 'git commit'", [("echo", "git commit")]),
    ],
)
def test_facts_name_the_programs(command: str, facts: list[tuple[str, str]]) -> None:
    assert command_facts(analyze(command)) == facts


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("[ -f a -a -d d ]", True),
        ("[ -f a -o -f z ]", True),
        ("[ -f z -o -f y ]", False),
        ("[[ -f a && ! -e z ]]", True),
        ("[ 2 -gt 1 ]", True),
        ('[ "$x" = "" ]', None),
        ("[[ a.py == *.py ]]", True),
        ("test -d a", False),
    ],
)
def test_conditions(condition: str, taken: bool | None) -> None:
    found = run(f"if {condition}; then touch yes; else touch no; fi", "a d/e")
    if taken is None:
        assert found == {"yes": "unknown", "no": "unknown"}
    else:
        assert found == {"yes" if taken else "no": "created"}


def test_python_runs_a_command() -> None:
    code = "import subprocess; subprocess.run(['rm', 'a b'], check=True)"
    known = FileState(["a b"], [], ["."])
    found = resolve(analyze(f'python3 -c "{code}"'), outcome=OK, known=known)
    assert [(effect.path, effect.action) for effect in found] == [("a b", "deleted")]


# --- what the grammar groups otherwise than the shell -----------------------------------------


def test_a_list_behind_a_pipe_is_two_pipes() -> None:
    """Of some ``a | b && c | d`` the grammar takes all that follows the first bar for the right
    side of that pipe, which the fast reading of plain commands showed."""
    command = "head -20 a.go | sort -r | uniq -c && head -9 b.go | sort -u"
    assert run(command, "a.go b.go") == {"a.go": "read", "b.go": "read"}
    body = analyze(command).body
    assert type(body).__name__ == "Logical"


def test_a_moved_name_without_a_suffix_is_a_file_where_the_new_name_says_so() -> None:
    assert run("mv .hidden notes.txt", told=False) == {
        ".hidden": "deleted",
        "notes.txt": "created",
    }
    assert run("mv .venv .venv.old", told=False) == {
        ".venv/": "deleted",
        ".venv.old/": "created",
    }


def test_the_programs_of_a_script_are_named_in_order() -> None:
    script = (
        "if a; then b; elif c; then d; else e; fi; while f; do g; done; "
        "for x in y; do h; done; case z in i) j;; *) k;; esac; l | m && n || ! o; (p); q & "
        "r() { s; }; t $(u)"
    )
    assert "".join(name for name, _ in command_facts(analyze(script))) == "abcdefghjklmnopqstu"


@pytest.mark.parametrize(
    "command,program",
    [
        ("uv pip install x", ("uv", "pip")),
        ("uv run pytest -q", ("pytest", "")),
        ("uv", ("uv", "")),
        ("poetry add x", ("poetry", "add")),
        ("mise x node a.js", ("node", "a.js")),
        ("sudo -E env A=1 timeout 5 npx jest x", ("jest", "x")),
        ("/usr/bin/python3 -m pytest tests", ("pytest", "tests")),
        ("git -C d --no-pager status", ("git", "status")),
        ("bash -c 'rm x'", ("bash", "-c")),
        ("cargo --quiet test", ("cargo", "test")),
        ("npm --prefix d run build", ("npm", "run")),
    ],
)
def test_the_program_behind_its_wrappers(command: str, program: tuple[str, str]) -> None:
    assert command_facts(analyze(command)) == [program]


def test_what_is_nested_too_deep_is_not_followed() -> None:
    assert run("( " * 5 + "touch x" + " )" * 5) == {"x": "created"}
    assert run("( " * 60 + "touch x" + " )" * 60) == {"None": "unknown"}
