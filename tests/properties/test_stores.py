"""Whatever a document holds, it comes back as it was kept; whatever is changed is noticed."""

from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leftoff import codec
from leftoff.errors import NotPlainName, StateError
from leftoff.redaction.redactor import Redactor
from leftoff.stores.envelope import (
    differing_paths,
    redactor_for,
    reseal,
    sanitize,
    seal,
    unseal,
)
from leftoff.stores.naming import MAX_ID, check_id, file_stem, fold_id, parse_file_name
from leftoff.stores.protocol import KINDS

texts = st.text(st.characters(codec="utf-8"), max_size=30)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
documents = st.dictionaries(texts.filter(lambda key: key != "leftoff"), values, max_size=6)
kinds = st.sampled_from(KINDS)


def plainly(value: Any) -> Any:
    """What JSON has for it: infinity has nothing."""
    return codec.parse_strict(codec.dumps(value))


@given(kinds, documents, texts, st.booleans(), st.sampled_from([0, 2]))
def test_what_is_sealed_is_what_is_opened(
    kind: str, document: dict[str, Any], text: str, pinned: bool, indent: int
) -> None:
    made = sanitize(kind, document, text, redactor_for)
    sealed = seal(kind, "one", made, pinned=pinned)
    opened = unseal(kind, codec.dumps(sealed, indent=indent), "here")
    assert opened.document == plainly(Redactor(personal=kind == "checkpoint").value(document))
    assert opened.pinned is pinned
    assert opened.issues == ()
    other = unseal(
        kind,
        codec.dumps(reseal(kind, "one", opened, "", redactor_for, pinned=not pinned)),
        "here",
    )
    assert (other.document, other.pinned) == (opened.document, not pinned)
    assert differing_paths(opened.document, other.document) == []


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(kinds, documents, st.data())
def test_no_change_goes_unnoticed(
    kind: str, document: dict[str, Any], data: st.DataObject
) -> None:
    whole = codec.dumps(seal(kind, "one", sanitize(kind, document, "", redactor_for)), indent=2)
    at = data.draw(st.integers(0, len(whole) - 2))
    new = data.draw(st.binary(max_size=3))
    cut = data.draw(st.integers(0, 3))
    changed = whole[:at] + new + whole[at + cut :]
    try:
        opened = unseal(kind, changed, "here")
    except StateError:
        return
    same = unseal(kind, whole, "here")
    # White space, another spelling of the same number or letter, or no seal left, which is said.
    assert opened.issues or opened == same


@given(kinds, st.text(max_size=80) | st.text("ab./\\:* .~", max_size=12))
def test_an_id_is_one_plain_component_or_refused(kind: str, id: str) -> None:
    try:
        check_id(kind, id)
    except NotPlainName:
        return
    name = f"{file_stem(kind, id)}.json"
    assert PurePosixPath(name).parts == (name,)
    assert len(PureWindowsPath(f"C:\\x\\{name}").parent.parts) == 2
    assert len(name.encode()) <= MAX_ID + 13
    assert parse_file_name(kind, name) == (id, ".json")
    assert parse_file_name(kind, f"{name}.gz") == (id, ".json.gz")


@given(st.text(max_size=20))
def test_folding_is_settled(id: str) -> None:
    assert fold_id(fold_id(id)) == fold_id(id)


@pytest.mark.parametrize("depth", [150, 5000])
def test_depth_is_kept_or_cut_and_never_ends_in_a_traceback(depth: int) -> None:
    from leftoff.errors import UsageError

    value: Any = "end"
    for _ in range(depth):
        value = [value]
    try:
        made = sanitize("task", {"deep": value}, "", redactor_for)
    except UsageError:
        return  # said in words
    assert unseal("task", codec.dumps(seal("task", "t", made)), "here").document
