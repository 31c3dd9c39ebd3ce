"""Little is imported at the door, and heavy things only where they are used."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff._version import __version__

RUN = "import sys; from leftoff.__main__ import main; sys.exit(main())"

# Runs `code` and reports the modules that it brought in, on the last line of stderr.
WATCH = """
import sys
before = set(sys.modules)
code = sys.argv.pop(1)
try:
    exec(code)
except SystemExit as stop:
    assert not stop.code, stop.code
new = set(sys.modules) - before
import json
print(json.dumps(sorted(new)), file=sys.stderr)
"""


def brought_in(code: str, *args: str, data: bytes = b"") -> set[str]:
    """The modules that `code` imports beyond what the interpreter starts with."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH, code, *args], input=data, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return set(json.loads(done.stderr.splitlines()[-1]))


def third_party(modules: set[str]) -> set[str]:
    """The packages among `modules` that are neither Python's nor ours."""
    packages = {name.partition(".")[0] for name in modules}
    return packages - sys.stdlib_module_names - {"leftoff", "__mp_main__"}


def test_importing_leftoff_imports_nothing_else() -> None:
    new = brought_in("import leftoff")
    assert {n for n in new if not n.startswith("leftoff")} <= {"__future__"}
    assert new <= {"__future__", "leftoff", "leftoff._version"}


def test_the_version_is_answered_without_click() -> None:
    new = brought_in(RUN, "--version")
    assert third_party(new) == set()
    assert "leftoff.cli.group" not in new
    assert "importlib.metadata" not in new


def test_the_version_is_the_one_of_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "leftoff", "--version"], capture_output=True, check=True
    )
    assert done.stdout.decode() == f"leftoff {__version__}\n"


def test_help_imports_click_and_our_words_only() -> None:
    new = brought_in(RUN, "--help")
    assert third_party(new) == {"click"}
    assert "leftoff.extraction" not in new


def test_a_hook_leaves_packages_out(tmp_path: Path, claude_session: bytes) -> None:
    # To import orjson or msgspec takes a third of a hook's time.
    (transcript := tmp_path / "session.jsonl").write_bytes(claude_session)
    event = {"hook_event_name": "Stop", "session_id": "s", "cwd": str(tmp_path)}
    given = json.dumps(event | {"transcript_path": str(transcript)}).encode()
    (folder := tmp_path / ".leftoff" / "state" / "s").mkdir(parents=True)
    (folder / "watch.json").write_text('{"usable": null, "at": 1795449616.39}')
    new = brought_in(
        "import leftoff.hooks.answer as a; a.start_worker = print; a.main()", data=given
    )
    assert list(folder.glob("wants.*")), "the worker has work"
    assert third_party(new) == set()
    assert new & {"dataclasses", "inspect", "importlib.metadata", "logging"} == set()


def test_summarizing_leaves_the_heavy_out(claude_session: bytes) -> None:
    code = (
        "import sys, leftoff; p = leftoff.Pass(); p.feed(sys.stdin.buffer.read()); "
        "leftoff.render(p.summary(), 'text')"
    )
    new = third_party(brought_in(code, data=claude_session))
    assert new & {"click", "jinja2", "numpy", "rich", "spacy", "thinc", "yaml"} == set()


@pytest.mark.parametrize("form", ["text", "json", "markdown", "prompt"])
def test_the_summarize_command_leaves_spacy_out(
    form: str, claude_session: bytes, tmp_path: Path
) -> None:
    session = tmp_path / "session.jsonl"
    session.write_bytes(claude_session)
    new = third_party(brought_in(RUN, "summarize", str(session), "-f", form))
    assert new & {"jinja2", "numpy", "spacy", "thinc", "typing_extensions"} == set()


def test_data_and_plugins_are_found_without_the_machinery_for_them(
    claude_session: bytes,
) -> None:
    # Together they cost as much as click, to open files that stand beside ours.
    code = "import sys, leftoff; leftoff.Pass().feed(sys.stdin.buffer.read())"
    new = brought_in(code, data=claude_session)
    assert new & {"importlib.metadata", "importlib.resources", "zipfile", "tempfile"} == set()


def test_a_session_without_calls_leaves_the_shell_out(
    tmp_path: Path, claude_session: bytes
) -> None:
    session = tmp_path / "session.jsonl"
    session.write_bytes(b"".join(claude_session.splitlines(keepends=True)[:2]))
    new = brought_in(RUN, "summarize", str(session), "--json")
    assert "leftoff.analysis.assemble" in new
    unwanted = {"effects", "interpreter", "parser"}
    assert new & {f"leftoff.shell.{name}" for name in unwanted} == set()
    assert new & {"leftoff.second_reading", "leftoff.settings", "leftoff.stores"} == set()
    assert new & {"gzip", "html.entities", "rapidfuzz", "shutil", "tree_sitter"} == set()


def test_a_short_session_needs_few_patterns(tmp_path: Path, claude_session: bytes) -> None:
    session = tmp_path / "session.jsonl"
    session.write_bytes(b"".join(claude_session.splitlines(keepends=True)[:2]))
    counted = (
        "import re, sys; from leftoff.__main__ import main; compiled = [];"
        "real = re._compiler.compile;"
        "re._compiler.compile = lambda p, f=0: (compiled.append(p), real(p, f))[1];"
        "main(sys.argv[1:]); sys.exit(str(len(compiled)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", counted, "summarize", str(session)],
        capture_output=True,
        check=False,
    )
    assert int(done.stderr) < 150, "patterns are to be compiled by `lazy_re`"


@pytest.mark.parametrize("option,limit", [("--version", 3), ("--help", 10)])
def test_start_up_costs_a_small_multiple_of_python(option: str, limit: float) -> None:
    bare = [sys.executable, "-c", "pass"]
    ours = [sys.executable, "-c", RUN, option]
    pairs = [(_cpu_seconds(ours), _cpu_seconds(bare)) for _ in range(7)]
    ratio = min(a for a, _ in pairs) / min(b for _, b in pairs)
    assert ratio <= limit, f"leftoff {option} costs {ratio:.1f}x `python -c pass`"


def _cpu_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
