"""Public recordings by reference: labels become ranges and labels again, and nothing else."""

from pathlib import Path

import msgspec
import pytest
from benchmarks.corpora.clones import chosen
from benchmarks.corpora.references import (
    Ranges,
    Reference,
    load_references,
    to_labels,
    to_ranges,
    to_toml,
)
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import SourceError, StateError, UnknownName
from leftoff.evaluation import systems
from leftoff.evaluation.labels import Labels, Quote, digest, load
from leftoff.evaluation.sessions import LabelledSession
from leftoff.summary import DECISION_TYPES, MILESTONE_KINDS, REQUEST_KINDS, STAGES

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = ROOT / "corpora" / "public.toml"
GOLD = ROOT / "corpora" / "gold"


def reference(**changed: object) -> Reference:
    made = Reference(
        file="pi/owner__name__one.jsonl",
        format="pi",
        url="https://git.example.com/owner/name",
        commit="a" * 40,
        path="tests/one.jsonl",
        sha256="b" * 64,
        bytes=12,
    )
    return msgspec.structs.replace(made, **changed)


def test_ranges_of_our_own_labels_give_them_back() -> None:
    sessions, _ = systems.sessions(load(str(GOLD)), str(GOLD))
    assert len(sessions) > 20
    for session in sessions:
        ranges, problems = to_ranges(session.labels, session.texts)
        assert problems == []
        assert to_labels(session.labels.file, ranges, session.texts) == session.labels


@given(st.text(min_size=1), st.text(), st.text(), st.text(min_size=1))
def test_a_quote_is_found_wherever_it_stands(
    quote: str, before: str, after: str, other: str
) -> None:
    labels = Labels("x", milestones=(Quote(3, quote, "merged"),))
    ranges, problems = to_ranges(labels, {3: before + quote + after})
    assert problems == []
    assert to_labels("x", ranges, {3: before + quote + after}) == labels
    if quote not in other:
        with pytest.raises(StateError, match="not the one that was labelled"):
            to_labels("x", ranges, {3: other})


def test_a_label_without_its_words_is_left_out_and_told() -> None:
    labels = Labels("x", milestones=(Quote(3, "Sent.", "pushed"), Quote(4, "no", "merged")))
    ranges, problems = to_ranges(labels, {3: "Sent.", 4: "Merged."})
    assert problems == ["x: a Quote at 4 has no such words"]
    assert ranges.milestones == ((3, 0, 5, "pushed"),)


_WORDS = st.text(min_size=1, max_size=20)
_NUMBERS = st.integers(0, 2**40)


@given(
    licence=_WORDS,
    branch=_WORDS,
    rows=st.lists(st.tuples(_NUMBERS, _NUMBERS, _NUMBERS, st.sampled_from(MILESTONE_KINDS))),
    stages=st.lists(st.tuples(_NUMBERS, st.sampled_from(STAGES))),
)
def test_a_file_of_references_reads_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    licence: str,
    branch: str,
    rows: list[tuple[int, int, int, str]],
    stages: list[tuple[int, str]],
) -> None:
    ranges = Ranges("0" * 16, branch, milestones=tuple(rows), stages=tuple(stages))
    written = (
        reference(),
        reference(file="pi/two.jsonl", licence=licence, set="single", labels=ranges),
    )
    path = tmp_path_factory.mktemp("references") / "public.toml"
    path.write_text(to_toml(written, "What\nthis is."), encoding="utf-8", newline="")
    assert load_references(str(path)) == written


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"url": "ext::sh -c true"}, "neither https nor file"),
        ({"url": "--upload-pack=true"}, "neither https nor file"),
        ({"url": "git@host:owner/name"}, "neither https nor file"),
        ({"commit": "main"}, "commit or sha256"),
        ({"commit": "--all" + "a" * 35}, "commit or sha256"),
        ({"sha256": "b" * 63}, "commit or sha256"),
        ({"file": "../outside.jsonl"}, "no plain path"),
        ({"file": "/etc/passwd"}, "no plain path"),
        ({"file": "pi/a\x1b[2Jb"}, "no plain path"),
        ({"path": "a/../../b"}, "no plain path"),
        ({"set": "triple"}, "no set of labels"),
    ],
)
def test_a_reference_that_leads_astray_is_refused(
    tmp_path: Path, changed: dict[str, str], why: str
) -> None:
    path = tmp_path / "public.toml"
    path.write_text(to_toml([reference(**changed)]), encoding="utf-8")
    with pytest.raises(StateError, match=why):
        load_references(str(path))


def test_what_is_no_file_of_references_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        load_references(str(tmp_path / "none.toml"))
    for text in ("session = 3\n", "[[session]]\nfile = 1\n", "= broken"):
        path = tmp_path / "public.toml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(StateError, match="not a file of references"):
            load_references(str(path))


def test_names_choose_files_repositories_and_sets() -> None:
    ranges = Ranges("0" * 16)
    one = reference(set="double", labels=ranges)
    two = reference(file="pi/two.jsonl", url="https://git.example.com/other/name")
    assert chosen([one, two], []) == [one]
    assert chosen([one, two], ["all"]) == [one, two]
    assert chosen([one, two], ["other/name", "two.jsonl"]) == [two]
    assert chosen([one, two], ["double"]) == [one]
    with pytest.raises(UnknownName, match="did you mean 'owner/name'"):
        chosen([one, two], ["owner/nam"])
    with pytest.raises(UnknownName):
        chosen([one, two], [""])


def test_public_references_hold_places_and_kinds_and_no_words() -> None:
    listed = load_references(str(PUBLIC))
    labelled = [r for r in listed if r.labels is not None]
    assert len(labelled) == 45
    assert len({r.file for r in listed}) == len(listed)
    kinds = {*DECISION_TYPES, *MILESTONE_KINDS, *REQUEST_KINDS, *STAGES}
    for each in labelled:
        assert each.labels is not None
        assert each.set
        for rows in msgspec.structs.astuple(each.labels)[2:]:
            for row in rows:
                assert all(isinstance(cell, int) or cell in kinds for cell in row), each.file


def test_public_ranges_give_the_labelled_words(public_corpus: Path) -> None:
    """On the three smallest labelled recordings, and with the labels where they are at hand."""
    labelled = [r for r in load_references(str(PUBLIC)) if r.labels is not None]
    tried = 0
    for each in sorted(labelled, key=lambda r: r.bytes)[:3]:
        path = public_corpus / each.file
        if not path.is_file():
            continue
        sessions, _ = systems.sessions([Labels(each.name)], str(path.parent))
        assert isinstance(sessions[0], LabelledSession)
        assert each.labels is not None
        labels = to_labels(each.name, each.labels, sessions[0].texts)
        assert digest([labels]) == each.labels.digest
        tried += 1
        beside = public_corpus.parent / "labels" / each.set / f"{each.name}.json"
        if beside.is_file():
            assert load(str(beside)) == (labels,)
    if not tried:
        pytest.skip("the public corpus has none of the labelled recordings")
