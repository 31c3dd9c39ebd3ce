"""A list or file of which no message can be made is an error in words, never an empty summary;
so is an empty name. `create_context_summary([1])` gave a summary of nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from leftoff import api
from leftoff.errors import FormatError, SourceError, UsageError
from leftoff.sources.open import session_paths

NOTHING: list[Any] = [[1], ["x"], [{}], [[]], [None], [{"a": 1}], [{"role": "user"}], [{}, 2]]


@pytest.mark.parametrize("given", NOTHING, ids=repr)
def test_a_list_without_a_message_is_refused(given: list[Any], tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no message can be made of a list of"):
        api.create_context_summary(given)
    path = tmp_path / "list.json"
    path.write_text(json.dumps(given))
    with pytest.raises(FormatError):
        api.summarize(path)


@pytest.mark.parametrize("given", ["x", b"x", {}, {"messages": []}], ids=repr)
def test_a_text_or_a_dict_is_no_list(given: Any) -> None:
    with pytest.raises(UsageError, match="list of messages"):
        api.create_context_summary(given)


def test_an_empty_list_is_an_empty_summary() -> None:
    assert api.create_context_summary([]).stats.message_count == 0


def test_an_empty_name_is_refused_in_words() -> None:
    for call in (api.summarize, session_paths, lambda path: next(api.read(path))):
        with pytest.raises(SourceError, match="name is empty"):
            call("")


@pytest.mark.parametrize("name", [".", ".."])
def test_a_directory_without_a_name_of_its_own_is_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    with pytest.raises(SourceError, match="directory"):
        api.summarize(name)


class Model:
    """Stands in for a pydantic model."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value

    def model_dump(self) -> dict[str, Any]:
        return self.value


def test_objects_among_dicts_are_messages_too() -> None:
    """Orchestrators hold the person's messages as dicts and the answers as objects of the
    library: those were dropped without a word, 8 of 21 messages."""
    asked = {"role": "user", "content": "Add retries to the uploader."}
    said = {"role": "assistant", "content": "I'll use exponential backoff instead."}
    mixed = [asked, Model(said), asked, Model(said)]
    plain = api.create_context_summary([asked, said, asked, said])
    found = api.create_context_summary(mixed)
    assert (found.stats, found.key_decisions) == (plain.stats, plain.key_decisions)


def test_an_unknown_object_among_messages_is_named() -> None:
    asked = {"role": "user", "content": "Add retries to the uploader."}
    with pytest.raises(FormatError, match="of which one is of the type object"):
        api.create_context_summary([asked, object(), asked])
