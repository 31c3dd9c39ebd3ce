"""What is added to a kept document, and what is noticed when it is taken out."""

import pytest

from leftoff.errors import UsageError
from leftoff.stores.envelope import KEY, redactor_for, sanitize


def test_only_plain_values_without_secrets_are_kept() -> None:
    key = "AKIA" + "Q3EGRTEUZPLMB7QA"
    given = sanitize("task", {"k": f"key {key}", KEY: "old"}, f"words {key}", redactor_for)
    assert given.document == {"k": "key [REDACTED:aws-access-key-id:1]"}
    assert given.text == "words [REDACTED:aws-access-key-id:1]"
    assert given.redactions == {"aws-access-key-id": 2}
    with pytest.raises(UsageError, match="a task that cannot be saved"):
        sanitize("task", {"k": object()}, "", redactor_for)
    assert sanitize("task", {"k": "\ud800x"}, "\ud800y", redactor_for).document == {
        "k": "\ufffdx"
    }
