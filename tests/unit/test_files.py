"""What happened to which file: events in order, and the state at the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff.analysis.seed001 import seed_shape
from leftoff.analysis.session_pass import Pass
from leftoff.rendering.render_summary import render
from leftoff.summary import ContextSummary, FileModification

ROOT = "/home/ana/app"


class Recording:
    """A session as Claude Code records it, made call by call."""

    def __init__(self, cwd: str = ROOT) -> None:
        self.lines: list[dict[str, Any]] = []
        self.cwd = cwd
        self.last: str | None = None

    def add(self, **record: Any) -> str:
        key = f"k{len(self.lines)}"
        base = {"sessionId": "s-1", "cwd": self.cwd, "version": "2.1.0", "isSidechain": False}
        time = f"2026-01-01T00:00:{len(self.lines) % 60:02}.000Z"
        parent = record.pop("parent", self.last)
        self.lines.append(
            {**base, "uuid": key, "parentUuid": parent, "timestamp": time, **record}
        )
        self.last = key
        return key

    def say(self, text: str, parent: str | None = "") -> str:
        record: dict[str, Any] = {} if parent == "" else {"parent": parent}
        return self.add(type="user", message={"role": "user", "content": text}, **record)

    def call(
        self,
        name: str,
        output: str = "",
        *,
        failed: bool = False,
        result: dict[str, Any] | None = None,
        **arguments: Any,
    ) -> None:
        number = len(self.lines)
        block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}
        message = {"id": f"m{number}", "role": "assistant", "content": [block]}
        self.add(type="assistant", message=message)
        came: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": output,
            "is_error": failed,
        }
        extra = {} if result is None else {"toolUseResult": result}
        self.add(type="user", message={"role": "user", "content": [came]}, **extra)

    def run(self, command: str, output: str = "", *, failed: bool = False) -> None:
        self.call("Bash", output, failed=failed, command=command)

    def write(self, path: str, *, new: bool = True, text: str = "x") -> None:
        result = {"type": "create" if new else "update"}
        self.call("Write", "ok", file_path=path, content=text, result=result)

    def edit(self, path: str, old: str = "a", new: str = "b") -> None:
        self.call("Edit", "ok", file_path=path, old_string=old, new_string=new)

    def summary(self) -> ContextSummary:
        reading = Pass("<test>")
        reading.feed(b"".join(json.dumps(line).encode() + b"\n" for line in self.lines))
        return reading.summary()

    def files(self) -> tuple[FileModification, ...]:
        return self.summary().file_modifications

    def net(self) -> dict[str, str]:
        return {f.path: f.action for f in self.files()}


@pytest.fixture
def made() -> Recording:
    recording = Recording()
    recording.say("Go.")
    return recording


# -- net state -------------------------------------------------------------------------------


def test_created_then_deleted_is_absent(made: Recording) -> None:
    made.write("a.py")
    made.run("rm a.py")
    assert made.net() == {}


def test_deleted_then_written_again_is_modified(made: Recording) -> None:
    made.run("rm a.py")
    made.write("a.py", new=True)
    assert made.net() == {"a.py": "modified"}


def test_created_then_edited_is_created(made: Recording) -> None:
    made.write("a.py")
    made.edit("a.py")
    (found,) = made.files()
    assert (found.action, found.touch_count, found.tools) == ("created", 2, ("Write", "Edit"))
    assert len(found.refs) == 2


def test_a_write_without_a_word_from_the_recorder_is_no_more_than_likely(
    made: Recording,
) -> None:
    made.call("Write", "ok", file_path="a.py", content="x")
    made.call("Read", "1 x", file_path="b.py")
    made.call("Write", "ok", file_path="b.py", content="x")
    assert [(f.path, f.action, f.certainty) for f in made.files()] == [
        ("a.py", "created", "likely"),
        ("b.py", "modified", "sure"),
    ]


def test_a_listing_tells_whether_a_file_was_there(made: Recording) -> None:
    made.run("ls src", "a.py\nb.py\n")
    made.run("echo x > src/a.py")
    made.run("git ls-files | sort", "lib/c.py\n")
    made.run("echo x > lib/c.py")
    assert made.net() == {"src/a.py": "modified", "lib/c.py": "modified"}


def test_a_chain_of_renames_ends_at_its_first_name(made: Recording) -> None:
    made.run("mv a.py b.py")
    made.run("git mv b.py c.py")
    assert [(f.path, f.action, f.renamed_from) for f in made.files()] == [
        ("a.py", "deleted", ""),
        ("c.py", "created", "a.py"),
    ]


def test_a_renamed_new_file_was_never_there(made: Recording) -> None:
    made.write("a.py")
    made.run("mv a.py b.py")
    assert [(f.path, f.action, f.renamed_from) for f in made.files()] == [
        ("b.py", "created", "")
    ]


def test_a_file_that_gets_its_first_name_back_is_unchanged(made: Recording) -> None:
    made.run("mv a.py b.py")
    made.run("mv b.py a.py")
    assert made.net() == {}


def test_a_file_changed_under_another_name_is_modified(made: Recording) -> None:
    made.run("mv a.py b.py")
    made.edit("b.py")
    made.run("mv b.py a.py")
    assert made.net() == {"a.py": "modified"}


def test_a_deleted_directory_takes_its_known_files(made: Recording) -> None:
    made.write("out/new.txt")
    made.edit("out/old.txt")
    made.run("rm -rf out")
    net = made.net()
    assert "out/new.txt" not in net
    assert net["out/old.txt"] == "deleted"


def test_a_directory_of_unknown_contents_is_named_itself(made: Recording) -> None:
    made.run("ls", "build\nsrc\n")
    made.run("rm -rf build/")
    assert [(f.path, f.action) for f in made.files()] == [("build/", "deleted")]


def test_a_directory_made_and_removed_leaves_nothing(made: Recording) -> None:
    made.run("ls", "src\n")
    made.run("mkdir scratch && echo x > scratch/a.txt")
    made.run("rm -r scratch")
    assert made.net() == {}


def test_what_is_put_into_a_directory_made_anew_is_there(made: Recording) -> None:
    made.run("rm -rf old && mkdir old && touch old/a.txt")
    assert made.net() == {"old/a.txt": "created"}


def test_a_restored_file_is_unchanged(made: Recording) -> None:
    made.edit("a.py")
    made.edit("b.py")
    made.run("git checkout -- a.py")
    assert made.net() == {"b.py": "modified"}


def test_a_file_restored_to_a_commit_of_the_session_stays_modified(made: Recording) -> None:
    made.edit("a.py")
    made.run("git commit -am first", "[main 1a2b3c4] first\n 1 file changed\n")
    made.edit("a.py")
    made.run("git checkout -- a.py")
    assert made.net() == {"a.py": "modified"}


def test_what_was_put_away_comes_back(made: Recording) -> None:
    made.edit("a.py")
    made.run("git stash", "Saved working directory and index state WIP on main: 1a2 x\n")
    assert made.net() == {}
    made.run("git stash pop && make 2>&1 | tail -3")
    assert made.net() == {"a.py": "modified"}


def test_reads_by_recursion_or_pattern_are_not_told(made: Recording) -> None:
    made.run("find . -name '*.py' | head", "./a.py\n./b.py\n")
    made.run("grep -rn foo .", "./a.py:1:foo\n")
    made.run("cat a.py", "foo")
    assert made.net() == {"a.py": "read"}


def test_what_may_have_happened_is_unknown_not_guessed(made: Recording) -> None:
    made.run("rm -f old.log")
    made.run("test -e flag && touch b.txt")
    assert {f.certainty for f in made.files()} <= {"unknown", "likely"}
    assert [f.certainty for f in made.files() if f.path == "old.log"] == ["unknown"]


@pytest.mark.parametrize(
    "command",
    ["ls -la", "git status", "npm test", "python3 --version", "Get-ChildItem -Path . -Recurse"],
)
def test_what_changes_no_named_file_claims_none(made: Recording, command: str) -> None:
    made.run(command)
    assert made.net() == {}


# -- outcomes --------------------------------------------------------------------------------


def test_calls_that_failed_or_never_came_back_did_nothing(made: Recording) -> None:
    made.call("Edit", "String not found", failed=True, file_path="a.py", old_string="a")
    made.run("rm b.py", "Exit code 1\nrm: cannot remove 'b.py': No such file", failed=True)
    denied = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    made.call("Write", denied, failed=True, file_path="c.py", content="x")
    made.run("touch d.py && false || true")
    block = {"type": "tool_use", "id": "t99", "name": "Bash", "input": {"command": "rm e.py"}}
    made.add(type="assistant", message={"id": "m", "role": "assistant", "content": [block]})
    assert set(made.net()) == {"d.py"}


def test_what_comes_after_a_bar_does_not_hide_what_came_before(made: Recording) -> None:
    made.run("touch a.txt && make test 2>&1 | tail -5", "ok")
    assert made.net() == {"a.txt": "created"}


# -- tools -----------------------------------------------------------------------------------

PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+x\n*** End Patch"
)
TOOLS: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("MultiEdit", {"file_path": "a.py", "edits": []}, {"a.py": "modified"}),
    ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, {"a.ipynb": "modified"}),
    ("str_replace_editor", {"command": "create", "path": "a.py"}, {"a.py": "created"}),
    ("str_replace_editor", {"command": "view", "path": "a.py"}, {"a.py": "read"}),
    ("str_replace_editor", {"command": "insert", "path": "a.py"}, {"a.py": "modified"}),
    ("apply_patch", {"input": PATCH}, {"a.py": "modified", "b.py": "created"}),
    ("mcp__fs__write_file", {"path": "a.py", "content": "x"}, {"a.py": "created"}),
    ("mcp__fs__edit_file", {"path": "a.py"}, {"a.py": "modified"}),
    (
        "mcp__fs__move_file",
        {"source": "a", "destination": "b"},
        {"a": "deleted", "b": "created"},
    ),
    ("delete_file", {"target_file": "a.py"}, {"a.py": "deleted"}),
    ("Grep", {"pattern": "x", "path": "a.py"}, {}),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), TOOLS)
def test_every_edit_tool_is_understood(
    made: Recording, name: str, arguments: dict[str, Any], expected: dict[str, str]
) -> None:
    made.call(name, "ok", **arguments)
    assert made.net() == expected


def test_one_file_under_several_spellings_is_counted_once(made: Recording) -> None:
    made.edit("./src/a.py")
    made.edit(f"{ROOT}/src/../src/a.py")
    made.edit("~/app/src/a.py")
    made.run("sed -i s/a/b/ src//a.py")
    (found,) = made.files()
    assert (found.path, found.touch_count) == ("src/a.py", 4)


def test_one_file_on_windows_is_counted_once() -> None:
    made = Recording("D:\\app")
    made.say("Go.")
    made.edit("D:\\app\\src\\a.py")
    made.edit("d:/app/src/a.py")
    made.run("sed -i s/a/b/ /d/app/src/a.py")
    made.run("cd src && sed -i s/a/b/ a.py")
    (found,) = made.files()
    assert (found.path, found.touch_count) == ("src/a.py", 4)


# -- scripts ---------------------------------------------------------------------------------


def test_a_script_that_was_written_is_followed_when_it_runs(made: Recording) -> None:
    code = "path = 'src/a.py'\nwith open(path, 'w') as f:\n    f.write('x')\n"
    made.write("fix.py", text=code)
    made.run("python3 fix.py && rm fix.py")
    made.run("cat > gen.sh <<'EOF'\nmkdir -p out\necho x > out/b.txt\nEOF\nchmod +x gen.sh")
    made.run("./gen.sh")
    assert made.net() == {
        "gen.sh": "created",
        "out/b.txt": "created",
        "src/a.py": "created",
    }


def test_an_edited_script_is_followed_as_it_is_now(made: Recording) -> None:
    made.write("fix.py", text="open('a.txt', 'w')\n")
    made.edit("fix.py", "a.txt", "b.txt")
    made.run("python3 fix.py")
    assert made.net() == {"b.txt": "created", "fix.py": "created"}


def test_a_script_changed_in_ways_unknown_is_not_followed(made: Recording) -> None:
    made.write("fix.py", text="open('a.txt', 'w')\n")
    made.call("MultiEdit", "ok", file_path="fix.py", edits=[])
    made.run("python3 fix.py")
    assert "a.txt" not in made.net()


def test_tools_called_from_javascript_are_read() -> None:
    script = (
        'const patch = "*** Begin Patch\\n*** Add File: n.py\\n+x\\n*** End Patch";\n'
        "await tools.apply_patch(patch);\n"
        'const r = await tools.exec_command({ cmd: "rm gone.py", workdir: "/w/sub" });\n'
        "await tools.exec_command({cmd: `echo ${x} > no.txt`});\n"
        "text(r.output);\n"
    )
    lines = [
        {"type": "session_meta", "payload": {"id": "s", "cwd": "/w", "cli_version": "0.145.0"}},
        {
            "type": "response_item",
            "payload": {
                "type": "custom_tool_call",
                "name": "exec",
                "call_id": "c1",
                "input": script,
                "status": "completed",
            },
        },
        {
            "type": "response_item",
            "payload": {
                "type": "custom_tool_call_output",
                "call_id": "c1",
                "output": "Exit code: 0\nWall time: 1 s\nOutput:\n",
            },
        },
    ]
    reading = Pass("<test>")
    for line in lines:
        stamped = {"timestamp": "2026-01-01T00:00:00.000Z", **line}
        reading.feed(json.dumps(stamped).encode() + b"\n")
    found = {f.path: (f.action, f.certainty) for f in reading.summary().file_modifications}
    assert found == {"n.py": ("created", "sure"), "sub/gone.py": ("deleted", "likely")}


# -- abandoned branches ----------------------------------------------------------------------

ACTS: list[tuple[str, str, str]] = [
    ("write", "n.py", "created"),
    ("edit", "a.py", "modified"),
    ("echo x > b.txt", "b.txt", "created"),
    ("echo x >> c.txt", "c.txt", "modified"),
    ("rm d.py", "d.py", "deleted"),
    ("sed -i s/a/b/ e.py", "e.py", "modified"),
    ("git rm f.py", "f.py", "deleted"),
    ("cp a.py g.py", "g.py", "created"),
    ("mv h.py i.py", "i.py", "created"),
    ("touch j.txt", "j.txt", "created"),
]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(("act", "path", "action"), ACTS)
def test_effects_on_an_abandoned_branch_are_kept_and_marked(
    act: str, path: str, action: str, *, nested: bool
) -> None:
    made = Recording()
    first = made.say("Start.")
    made.call("Read", "1 x", file_path="kept.py")
    root = made.last
    made.say("Try the first way.", parent=root)
    if nested:
        made.call("Read", "1 x", file_path="kept.py")
        made.say("Go on with it.")
    if act == "write":
        made.write(path)
    elif act == "edit":
        made.edit(path)
    else:
        made.run(act)
    made.say("No: the other way.", parent=root)
    made.edit("other.py")
    found = {f.path: f for f in made.files()}
    assert first
    assert (found[path].action, found[path].branch) == (action, "abandoned")
    assert found[path].certainty == "likely"
    assert (found["other.py"].branch, found["other.py"].certainty) == ("", "sure")


def test_a_file_changed_on_both_branches_is_not_marked() -> None:
    made = Recording()
    made.say("Start.")
    made.call("Read", "1 x", file_path="kept.py")
    root = made.last
    made.say("One way.", parent=root)
    made.edit("a.py")
    made.say("The other.", parent=root)
    made.edit("a.py")
    (found,) = [f for f in made.files() if f.path == "a.py"]
    assert (found.branch, found.certainty, found.touch_count) == ("", "sure", 2)


# -- snapshots: where the recorder itself looked ------------------------------------------------


def _snapshot(recording: Recording, **files: bool) -> None:
    """What the recorder writes before an edit and at a prompt: which files are there."""
    number = len(recording.lines)
    tracked = {
        f"{name}.py": {
            "backupFileName": f"{name}@v{number}" if there else None,
            "version": number,
        }
        for name, there in files.items()
    }
    recording.lines.append(
        {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": tracked}}
    )


def _write_with_snapshot(recording: Recording, name: str, *, there: bool) -> None:
    """A write whose result does not say whether the file is new; the snapshot stands between."""
    recording.call("Write", "ok", file_path=f"{name}.py", content="x")
    came = recording.lines.pop()
    _snapshot(recording, **{name: there})
    recording.lines.append(came)


def test_a_file_that_was_not_there_before_the_write_is_surely_new(made: Recording) -> None:
    _write_with_snapshot(made, "a", there=False)
    _write_with_snapshot(made, "b", there=True)  # the copy may show what was just written
    assert [(f.path, f.action, f.certainty) for f in made.files()] == [
        ("a.py", "created", "sure"),
        ("b.py", "created", "likely"),
    ]


def test_a_file_that_went_before_the_write_is_written_anew(made: Recording) -> None:
    made.edit("a.py")
    _snapshot(made, a=False)
    made.run("test -f a.py || echo x > a.py", "")
    assert [(f.path, f.action, f.certainty) for f in made.files()] == [
        ("a.py", "modified", "sure")
    ]


def test_a_changed_file_that_is_not_found_at_the_end_is_likely_at_most(made: Recording) -> None:
    made.edit("a.py")
    made.write("b.py")
    made.edit("c.py")
    made.run("rm d.py")
    _snapshot(made, a=False, b=False, c=True, d=False)
    said = {f.path: (f.action, f.certainty) for f in made.files()}
    assert said == {
        "a.py": ("modified", "likely"),
        "b.py": ("created", "likely"),
        "c.py": ("modified", "sure"),
        "d.py": ("deleted", said["d.py"][1]),
    }


def test_a_file_that_is_found_again_is_as_sure_as_before(made: Recording) -> None:
    made.edit("a.py")
    made.edit("b.py")
    _snapshot(made, a=False, b=False)
    _snapshot(made, a=True, b=False)
    made.edit("b.py")
    assert {f.certainty for f in made.files()} == {"sure"}


# -- what programs may have done to files that nothing names ------------------------------------


def _unseen(recording: Recording) -> list[tuple[str, str, int]]:
    return [(e.tool, e.action, e.count) for e in recording.summary().unknown_effects]


def test_programs_that_may_have_changed_files_are_counted_by_call(made: Recording) -> None:
    made.run("go generate ./... && go build ./...")
    made.run("go generate ./...")
    made.run("black src tests")
    made.run("ls && cat a.py && rm b.py")
    assert _unseen(made) == [("go", "unknown", 2), ("black", "unknown", 1)]
    assert made.net() == {"a.py": "read", "b.py": "deleted"}


def test_powershell_is_told_as_unknown(made: Recording) -> None:
    made.run("Get-ChildItem | Remove-Item -Path build -Force")
    made.call("PowerShell", "", command="Remove-Item build")
    assert _unseen(made) == [("powershell", "unknown", 2)]


def test_what_was_denied_or_came_to_nothing_is_no_effect(made: Recording) -> None:
    denied = "The user doesn't want to proceed with this tool use."
    made.run("go generate ./...", denied, failed=True)
    made.call("PowerShell", denied, failed=True, command="Remove-Item build")
    made.run("go test ./... && ls")
    assert _unseen(made) == []


def test_the_last_twenty_calls_are_named(made: Recording) -> None:
    for _ in range(25):
        made.run("make all")
    (effect,) = made.summary().unknown_effects
    assert (effect.tool, effect.count, len(effect.refs)) == ("make", 25, 20)
    assert effect.refs[-1].message == 2 * 25 - 1


def test_every_form_says_it_in_one_line(made: Recording) -> None:
    made.edit("a.py")
    for tool in ("make", "make", "npm install", "cargo build", "hugo", "mvn package", "gradle"):
        made.run(tool)
    said = "may have changed these or others: make ×2, cargo ×1, gradle ×1, hugo ×1, mvn ×1 and 1 more"
    for form in ("text", "markdown", "prompt"):
        lines = [line for line in render(made.summary(), form).splitlines() if said in line]
        assert len(lines) == 1, form
    assert "unknown_effects" not in seed_shape(made.summary())
    assert "make" not in made.summary().formatted


def _changes(summary: ContextSummary) -> dict[str, tuple[str, str]]:
    return {f.path: (f.action, f.certainty) for f in summary.file_modifications}


def test_what_lies_in_a_copied_directory_was_not_there_before() -> None:
    session = Recording()
    session.call("Bash", command="cp -R /opt/kettle kettle")
    session.call("Bash", command="rm -rf kettle/.cache kettle/old")
    session.call("Edit", file_path=f"{ROOT}/kettle/a.py", old_string="x", new_string="y")
    found = _changes(session.summary())
    assert not [path for path, (action, _) in found.items() if action == "deleted"]
    assert found["kettle/a.py"] == ("created", "sure")


@pytest.mark.parametrize("before", ["", "python tools/run.py"])
def test_a_removed_path_may_be_what_a_program_of_the_session_made(before: str) -> None:
    session = Recording()
    if before:
        session.call("Bash", command=before)
    session.call("Bash", command="rm -f out.log; rm -rf runs")
    found = _changes(session.summary()).values()
    sure = [1 for action, certainty in found if action == "deleted" and certainty != "unknown"]
    assert bool(sure) is not bool(before)


def test_a_file_that_was_read_and_that_a_directory_with_it_is_lost_are_deleted() -> None:
    session = Recording()
    session.call("Bash", command="python tools/run.py")
    session.call("Read", "1\tx", file_path=f"{ROOT}/old/a.py")
    session.call("Bash", command="rm -rf old")
    assert _changes(session.summary())["old/a.py"][0] == "deleted"


def test_a_stash_that_failed_behind_a_pipe_takes_nothing_back() -> None:
    session = Recording()
    session.call("Edit", file_path=f"{ROOT}/a.py", old_string="x", new_string="y")
    session.call("Bash", "error: could not write index", command="git stash -u 2>&1 | head -5")
    assert _changes(session.summary())["a.py"] == ("modified", "sure")


def test_a_file_that_is_likely_new_stays_likely_new() -> None:
    session = Recording()
    session.call("Write", "Wrote it.", file_path=f"{ROOT}/a.py", content="x\n")
    session.call("Edit", file_path=f"{ROOT}/a.py", old_string="x", new_string="y")
    assert _changes(session.summary())["a.py"] == ("created", "likely")


def test_a_path_from_another_directory_is_no_second_file() -> None:
    session = Recording("")
    session.call("Edit", file_path=f"{ROOT}/src/a.py", old_string="x", new_string="y")
    session.call("Read", "1\tx", file_path="./src/a.py")
    session.call("Read", "1\tx", file_path="lib/a.py")
    assert sorted(p.removeprefix(ROOT) for p in _changes(session.summary())) == [
        "/src/a.py", "lib/a.py",
    ]  # fmt: skip
