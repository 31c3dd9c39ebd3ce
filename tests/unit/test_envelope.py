"""What is added to a kept document, and what is noticed when it is taken out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff.errors import Damaged, TooNew, UsageError
from leftoff.stores.envelope import (
    KEY,
    Sanitized,
    checksum,
    differing_paths,
    read_header,
    read_header_or_none,
    redactor_for,
    reseal,
    sanitize,
    seal,
    unseal,
)


def sealed(document: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    given = Sanitized(document or {"a": 1}, more.pop("text", ""), {})
    return seal("task", "t1", given, **more)


def data(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_the_seal_is_last_and_says_what_it_is() -> None:
    kept = sealed({"a": 1}, text="words", pinned=True, saved=5.0)
    assert list(kept) == ["a", KEY]
    told = kept[KEY]
    assert (told["schema"], told["id"], told["pinned"], told["saved"]) == (
        "leftoff.task/1",
        "t1",
        True,
        5.0,
    )
    assert told["text"] == checksum(b"words")
    assert told["checksum"].startswith("sha256:")
    assert len(told["checksum"]) == 71
    assert "text" not in sealed()[KEY]


def test_what_was_sealed_is_taken_out_as_it_was() -> None:
    opened = unseal("task", data(sealed(pinned=True)), "x")
    assert opened.document == {"a": 1}
    assert opened.pinned
    assert opened.issues == ()
    again = unseal("task", data(reseal(opened, pinned=False)), "x")
    assert again.document == {"a": 1}
    assert not again.pinned
    assert again.header is not None
    assert again.header.id == "t1"


def test_every_field_of_the_seal_is_under_the_checksum() -> None:
    for name, value in {"id": "t2", "pinned": True, "text": "sha256:0", "saved": 1.0}.items():
        changed = sealed()
        changed[KEY][name] = value
        with pytest.raises(Damaged, match="checksum is wrong"):
            unseal("task", data(changed), "x")
        assert unseal("task", data(changed), "x", accept=True).document == {"a": 1}


@pytest.mark.parametrize(
    "raw,said",
    [
        (b"", "no whole JSON document"),
        (b'{"a": 1', "no whole JSON document"),
        (b"{} {}", "no whole JSON document"),
        (b"[1]", "no JSON object"),
        (data({KEY: 5}), "no schema"),
        (data({KEY: {"schema": 5}}), "no schema"),
        (data({KEY: {"schema": "leftoff.task"}}), "no schema"),
        (data({KEY: {"schema": "leftoff.task/1", "id": 5}}), KEY),
        (data({"other": sealed()[KEY], "a": 1}), "the name of its seal"),
    ],
)
def test_what_is_not_whole_is_refused(raw: bytes, said: str) -> None:
    with pytest.raises(Damaged, match=said):
        unseal("task", raw, "x")


def test_what_only_resembles_a_seal_is_no_seal() -> None:
    for value in (
        {"checksum": "c"},
        {"schema": "leftoff.task/1"},
        {"checksum": 1, "schema": 2},
    ):
        opened = unseal("task", data({"b": value}), "x")
        assert opened.header is None
        assert not opened.pinned
        assert [issue.code for issue in opened.issues] == ["unsealed"]


def test_another_kind_and_a_newer_schema_are_told_apart() -> None:
    with pytest.raises(Damaged, match="holds a task, not a review"):
        unseal("review", data(sealed()), "x")
    newer = sealed()
    newer[KEY] = {"schema": "leftoff.task/2", "id": "t1"}
    for look in (read_header, read_header_or_none, unseal):
        with pytest.raises(TooNew, match="update leftoff"):
            look("task", data(newer), "x")
    newer[KEY]["id"] = ["something", "new"]
    with pytest.raises(TooNew, match="update leftoff"):
        unseal("task", data(newer), "x")


def test_a_byte_order_mark_loses_nothing_but_the_checksums_word() -> None:
    marked = b"\xef\xbb\xbf" + data({"a": 1})
    opened = unseal("task", marked, "x")
    assert opened.document == {"a": 1}
    assert [issue.code for issue in opened.issues] == ["mended", "unsealed"]
    with pytest.raises(Damaged, match="checksum"):
        unseal("task", b"\xef\xbb\xbf" + data(sealed()), "x")


def test_a_glance_reads_the_seal_alone() -> None:
    told = read_header("task", data(sealed(pinned=True)), "x")
    assert told is not None
    assert told.pinned
    assert read_header("task", b"{}", "x") is None
    with pytest.raises(Damaged):
        read_header("task", b"{", "x")
    assert read_header_or_none("task", b"{", "x") is None
    assert read_header_or_none("task", data(sealed()), "x") is not None


def test_a_newer_seal_of_another_shape_is_newer_not_damaged() -> None:
    # A store would have written over it: `read_header_or_none` took it for damaged.
    newer = b'{"leftoff": {"schema": "leftoff.task/99", "checksum": 7}}'
    for look in (read_header, read_header_or_none):
        with pytest.raises(TooNew):
            look("task", newer, "x")
    odd = b'{"leftoff": {"schema": "leftoff.task/1", "checksum": 7}}'
    with pytest.raises(Damaged):
        read_header("task", odd, "x")


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


@pytest.mark.parametrize(
    "before,after,told",
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, ["a"]),
        ({"a": 1}, {"a": 1.0}, ["a"]),
        ({"a": 1}, {"b": 1}, ["a", "b"]),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}, 4]}, ["a[1].b", "a[2]"]),
        ({"a": None}, {}, ["a"]),
        ([1], {}, ["document"]),
    ],
)
def test_differences_are_told_as_paths(before: Any, after: Any, told: list[str]) -> None:
    assert differing_paths(before, after) == told
