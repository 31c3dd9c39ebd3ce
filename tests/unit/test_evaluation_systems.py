"""Running what is scored: recordings that are missing, beginnings of lines and of documents,
final patches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leftoff import api
from leftoff.errors import InputError
from leftoff.evaluation import systems
from leftoff.evaluation.file_runs import evaluate_files
from leftoff.evaluation.labels import Labels, Stage

PATCH = """\
diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1 +1 @@
-x
+y
diff --git a/new.py b/new.py
new file mode 100644
index 0..3
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+x
"""


def labelled(name: str) -> list[Labels]:
    return [Labels(file=name, stages=(Stage(0, "planning"),))]


def test_recordings_that_are_missing_or_none_are_named(tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text("{}\n")
    found, left_out = systems.sessions(
        [*labelled("gone.jsonl"), *labelled("broken.jsonl")], str(tmp_path)
    )
    assert found == []
    assert left_out[0] == f"gone.jsonl: no such recording under {tmp_path}"
    assert left_out[1].startswith("broken.jsonl: ")


def beginning(document: Any, count: int) -> Any:
    return (
        document[:count]
        if isinstance(document, list)
        else {"messages": document["messages"][:count]}
    )


@pytest.mark.parametrize("shape", ["a list", "messages"])
def test_a_document_cut_off_has_the_stage_of_its_summary(
    root: Path, tmp_path: Path, shape: str
) -> None:
    whole = json.loads((root / "corpora/sessions/openai_chat/reminders.json").read_bytes())
    document = whole if shape == "a list" else {"messages": whole}
    (tmp_path / "reminders.json").write_text(json.dumps(document))
    (session,), left_out = systems.sessions(labelled("reminders.json"), str(tmp_path))
    assert left_out == []
    stages = systems.current_stages(session)
    assert sorted(stages) == list(session.cuts)
    assert stages
    shorter = tmp_path / "shorter.json"
    for cut, stage in stages.items():
        shorter.write_text(json.dumps(beginning(document, cut + 1)))
        try:
            told = api.summarize(str(shorter)).progress.current_stage
        except InputError:
            told = ""  # too little to be known by
        assert stage == told


def test_the_beginnings_of_lines_have_a_stage_each(root: Path) -> None:
    folder = root / "corpora/sessions/claude_code"
    (session,), _ = systems.sessions(labelled("prorate.jsonl"), str(folder))
    said, version, rules = systems.leftoff(session)
    assert said.cuts is not None
    assert sorted(said.cuts) == list(session.cuts)
    assert systems.leftoff(session, cuts=False)[1:] == (version, rules)
    assert systems.leftoff(session, cuts=False)[0].cuts is None


def trajectory(*commands: str, submission: str) -> dict[str, Any]:
    """A SWE-agent trajectory of these commands, which all went well."""
    history: list[dict[str, Any]] = [
        {"role": "system", "content": "You work.", "agent": "main"},
        {"role": "user", "content": "ISSUE:\nMend it.", "agent": "main"},
    ]
    for command in commands:
        said = f"Now.\n```\n{command}\n```"
        history.append(
            {
                "role": "assistant",
                "content": said,
                "thought": "Now.",
                "action": command,
                "agent": "main",
            }
        )
        state = "\n(Open file: n/a)\n(Current directory: /repo)\nbash-$"
        history.append({"role": "user", "content": state, "agent": "main"})
    return {
        "environment": "e",
        "trajectory": [],
        "history": history,
        "info": {"submission": submission, "exit_status": "submitted"},
    }


def test_files_are_compared_with_the_final_patch(tmp_path: Path) -> None:
    right = trajectory("sed -i s/x/y/ a.py", "echo x > new.py", submission=PATCH)
    less = trajectory("sed -i s/x/y/ a.py", submission=PATCH)
    none = trajectory("ls", submission="")
    for name, document in (("right", right), ("less", less), ("none", none)):
        (tmp_path / f"{name}.traj").write_text(json.dumps(document))
    report = evaluate_files([str(tmp_path)])
    counts = {item.name: (item.right, item.wrong, item.missed) for item in report.patches}
    assert counts == {"less.traj": (1, 0, 1), "right.traj": (2, 0, 0)}
