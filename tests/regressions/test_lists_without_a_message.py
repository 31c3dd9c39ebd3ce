"""A list or file of which no message can be made is an error in words, never an empty summary;
so is an empty name. `create_context_summary([1])` gave a summary of nothing."""

from typing import Any

import pytest

from leftoff import api
from leftoff.errors import FormatError


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
