"""What happened to which file: events in order, and the state at the end."""

from typing import Any

import pytest
from tests.strategies import claude_code

from leftoff.analysis.summary_json import seed_shape
from leftoff.rendering.render_summary import render
from leftoff.summary import FileModification

ROOT = "/home/ana/app"


class Recording(claude_code.Recording):
    """With what is asked of it here."""

    def __init__(self, cwd: str = ROOT) -> None:
        about: dict[str, Any] = {"sessionId": "s-1", "version": "2.1.0", "isSidechain": False}
        super().__init__(clock="2026-01-01T00:00:{n:02}.000Z", cwd=cwd, **about)

    def write(self, path: str, *, new: bool = True, text: str = "x") -> None:
        result = {"type": "create" if new else "update"}
        self.call("Write", {"file_path": path, "content": text}, "ok", toolUseResult=result)

    def files(self) -> tuple[FileModification, ...]:
        return self.summary().file_modifications

    def net(self) -> dict[str, str]:
        return {f.path: f.action for f in self.files()}


@pytest.fixture
def made() -> Recording:
    recording = Recording()
    recording.say("Go.")
    return recording


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
    made.call("Read", {"file_path": "kept.py"}, "1 x")
    root = made.lines[-1]["uuid"]
    made.say("Try the first way.", parentUuid=root)
    if nested:
        made.call("Read", {"file_path": "kept.py"}, "1 x")
        made.say("Go on with it.")
    if act == "write":
        made.write(path)
    elif act == "edit":
        made.edit(path)
    else:
        made.run(act)
    made.say("No: the other way.", parentUuid=root)
    made.edit("other.py")
    found = {f.path: f for f in made.files()}
    assert first
    assert (found[path].action, found[path].branch) == (action, "abandoned")
    assert found[path].certainty == "likely"
    assert (found["other.py"].branch, found["other.py"].certainty) == ("", "sure")


# -- what programs may have done to files that nothing names ------------------------------------


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
