"""Running what is scored: recordings that are missing, beginnings of lines and of documents,
final patches."""

import json
from pathlib import Path
from typing import Any

import pytest

from leftoff import api
from leftoff.errors import InputError
from leftoff.evaluation import systems
from leftoff.evaluation.labels import Labels, Stage


def labelled(name: str) -> list[Labels]:
    return [Labels(file=name, stages=(Stage(0, "planning"),))]


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
