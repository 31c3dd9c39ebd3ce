"""What a command line did to files, with its outcome."""

from leftoff.shell import analyze, resolve
from leftoff.shell.effects import FileState, Outcome

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


# --- outcomes ---------------------------------------------------------------------------------


def failed(output: str = "", code: int = 1) -> Outcome:
    return Outcome(status="failed", exit_code=code, output=output)


def test_output_names_files() -> None:
    outcome = Outcome(exit_code=0, output="patching file a.c\npatching file b.c\n")
    assert run("patch -p1 < x.diff", "a.c x.diff", outcome=outcome) == {
        "a.c": "unknown",
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


# --- plain data -------------------------------------------------------------------------------


# --- what the grammar groups otherwise than the shell -----------------------------------------
