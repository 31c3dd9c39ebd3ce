"""What holds for every resume state, every pair of texts and every world."""

import string
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rapidfuzz.distance import Levenshtein

from leftoff import codec
from leftoff.handover import similarity as similarities
from leftoff.handover.compatibility import FileStatus, Limits, Workspace, assess
from leftoff.handover.resume_state.document import (
    ChatMessage,
    CompletedTool,
    ContextChange,
    ContextEvolution,
    FunctionCall,
    RecordedFile,
    ResumeState,
    World,
    decode,
)
from leftoff.handover.resume_state.message import resume_message
from leftoff.handover.resume_state.running_workflow import (
    Bounds,
    content_hash,
    optimize_for_storage,
)
from leftoff.handover.similarity import text_similarity
from leftoff.tokens import max_tokens

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
dicts = st.dictionaries(words, values, max_size=4)
tools = st.builds(
    CompletedTool, function_name=words, parameters=dicts, result=st.none() | words,
    executed_at=words, success=st.booleans(), ai_reasoning=st.none() | words,
)  # fmt: skip
ids = st.sampled_from("abcdef")
calls = st.lists(
    st.builds(FunctionCall, function_name=words, parameters=dicts, call_id=ids),
    min_size=1,
    max_size=3,
)
messages = st.one_of(
    st.builds(ChatMessage, role=st.just("user"), content=words, timestamp=words),
    st.builds(
        ChatMessage,
        role=st.just("assistant"),
        content=st.none() | words,
        function_calls=calls.map(tuple),
    ),
    st.builds(ChatMessage, role=st.just("tool"), content=words, tool_call_id=ids),
)
states = st.builds(
    ResumeState,
    workflow_id=words,
    workflow_file_path=words,
    original_workflow_content=words,
    completed_tools=st.lists(tools, max_size=6).map(tuple),
    chat_history=st.lists(messages, max_size=14).map(tuple),
    context_evolution=st.builds(
        ContextEvolution,
        current_context=dicts,
        key_insights=st.lists(words, max_size=4).map(tuple),
        changes=st.lists(
            st.builds(ContextChange, key=words, old_value=values, new_value=values), max_size=2
        ).map(tuple),
    ),
    available_tools=st.none() | st.lists(words, max_size=3).map(tuple),
    workflow_variables=dicts.map(
        lambda d: {k: v for k, v in d.items() if k != "available_tools"}
    ),
    world=st.none() | st.builds(World, cwd=words, branch=words, commit=words),
    completed=st.booleans(),
)


@given(states)
def test_a_state_is_the_same_after_its_file(state: ResumeState) -> None:
    assert ResumeState.from_dict(state.to_dict()) == state
    assert decode(codec.dumps(state.to_dict())) == state


@given(states, st.integers(0, 5), st.integers(0, 8), st.integers(0, 3), st.integers(0, 3))
def test_bounds_hold_and_what_is_dropped_is_counted(
    state: ResumeState,
    most_tools: int,
    most_messages: int,
    most_variables: int,
    most_insights: int,
) -> None:
    bounds = Bounds(most_tools, most_messages, most_variables, most_insights, changes=1)
    kept = optimize_for_storage(state, bounds)
    before, after = state.context_evolution, kept.context_evolution
    assert len(kept.completed_tools) <= most_tools
    assert len(kept.chat_history) <= most_messages
    assert len(after.current_context) <= most_variables
    assert len(after.key_insights) <= most_insights
    lost = {
        "completed_tools": len(state.completed_tools) - len(kept.completed_tools),
        "chat_history": len(state.chat_history) - len(kept.chat_history),
        "current_context": len(before.current_context) - len(after.current_context),
        "key_insights": len(before.key_insights) - len(after.key_insights),
        "changes": len(before.changes) - len(after.changes),
    }
    assert kept.dropped == {what: n for what, n in lost.items() if n}
    # A tool that succeeded is dropped only where none that failed is kept.
    gone = sum(t.success for t in state.completed_tools) > sum(
        t.success for t in kept.completed_tools
    )
    assert not gone or all(t.success for t in kept.completed_tools)
    assert optimize_for_storage(kept, bounds) == kept


def pairs(chat: tuple[ChatMessage, ...]) -> list[tuple[int, int]]:
    """Each result with the latest call of its id before it."""
    at: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    for index, message in enumerate(chat):
        if message.role == "tool" and message.tool_call_id in at:
            found.append((at[message.tool_call_id], index))
        for call in message.function_calls or ():
            at[call.call_id] = index
    return found


@given(st.lists(messages, max_size=14).map(tuple), st.integers(1, 10))
def test_no_call_is_parted_from_its_result(chat: tuple[ChatMessage, ...], most: int) -> None:
    numbered = tuple(replace(m, extra={"n": n}) for n, m in enumerate(chat))
    kept = optimize_for_storage(ResumeState(chat_history=numbered), Bounds(messages=most))
    there = {m.extra["n"]: m for m in kept.chat_history}
    for asked, answered in pairs(chat):
        calling = asked in there and there[asked].function_calls is not None
        assert calling == (answered in there)


@given(
    states,
    st.integers(450, 1200),
    st.sampled_from(["continue", "partial_resume", "context_migration"]),
)
@settings(max_examples=60)
def test_a_message_keeps_its_budget_and_its_frame(
    state: ResumeState, budget: int, strategy: Any
) -> None:
    text = resume_message(state, budget=budget, strategy=strategy)
    assert max_tokens(text) <= budget
    lines = text.split("\n")
    assert lines.count("<leftoff>") == lines.count("</leftoff>") == 1
    assert lines.index("<leftoff>") < lines.index("</leftoff>")


# -- compatibility ---------------------------------------------------------------------------

texts = st.text("ab\n {é😀", max_size=60) | st.lists(
    st.sampled_from(["one\n", "two\n", "three words here\n", "x\n"]), max_size=20
).map("".join)
worlds = st.builds(
    Workspace,
    branch=st.none() | words,
    commit=st.none() | st.text(string.hexdigits, min_size=8, max_size=8),
    ahead=st.none() | st.integers(0, 9),
    behind=st.none() | st.integers(0, 9),
    files=st.dictionaries(
        st.sampled_from(["a", "b"]),
        st.builds(FileStatus, st.booleans(), st.none() | st.booleans()),
    ),
    window=st.none() | st.integers(0, 10_000),
    root=words,
)


def saved(content: str, used: list[str]) -> ResumeState:
    return ResumeState(
        workflow_id="w",
        original_workflow_content=content,
        original_workflow_hash=content_hash(content),
        completed_tools=tuple(CompletedTool(function_name=name) for name in used),
        world=World(
            branch="b", commit="abcdef12", cwd="/p", occupancy=5000,
            files=(RecordedFile(path="a"), RecordedFile(path="b")),
        ),
    )  # fmt: skip


@given(texts, st.lists(ids, max_size=4))
def test_a_workflow_fits_itself(content: str, used: list[str]) -> None:
    found = assess(saved(content, used), Workspace(content=content, tools=frozenset(used)))
    assert (found.compatibility_score, found.verdict) == (1.0, "same")


@given(texts, texts)
def test_similarity_is_the_definition_and_symmetric(a: str, b: str) -> None:
    longest = max(len(a), len(b)) or 1
    found = text_similarity(a, b, (0.8, 0.5, 0.6))
    assert found.low == found.high == 1 - Levenshtein.distance(a, b) / longest
    back = text_similarity(b, a, (0.8, 0.5, 0.6))
    assert (back.low, back.high) == (found.low, found.high)
    assert 0 <= found.changed <= found.lines
    assert (found.changed == 0) == (a == b)


@given(texts, texts, st.integers(0, 3))
def test_bounds_hold_the_truth_where_time_is_short(a: str, b: str, effort: int) -> None:
    given = similarities.MAX_STEPS, similarities.MAX_BLOCK_STEPS
    longest = max(len(a), len(b)) or 1
    truth = 1 - Levenshtein.distance(a, b) / longest
    similarities.MAX_STEPS = similarities.MAX_BLOCK_STEPS = effort
    try:
        found = text_similarity(a, b, (0.8, 0.5, 0.6))
    finally:
        similarities.MAX_STEPS, similarities.MAX_BLOCK_STEPS = given
    assert found.low <= truth <= found.high
    if not found.estimated:
        for threshold in (0.8, 0.5, 0.6):
            assert found.high < threshold or found.low >= threshold
            assert (found.value < threshold) == (truth < threshold)


@given(
    texts, texts, st.lists(ids, max_size=4), st.frozensets(ids), st.frozensets(ids),
    st.integers(0, 6),
)  # fmt: skip
def test_the_score_is_monotone(
    old: str, new: str, used: list[str], have: frozenset[str], more: frozenset[str], edits: int
) -> None:
    state = saved(old, used)
    fewer = assess(state, Workspace(content=new, tools=have))
    richer = assess(state, Workspace(content=new, tools=have | more))
    assert fewer.compatibility_score <= richer.compatibility_score
    # Characters that the old text lacks, in the place of others, never make it more alike.
    strange = "\u2603" * min(edits, len(new)) + new[edits:]
    farther = assess(state, Workspace(content=strange, tools=have))
    assert farther.compatibility_score <= fewer.compatibility_score
    order = ("refuse", "adapt", "same")
    assert order.index(fewer.verdict) <= order.index(richer.verdict)


@given(texts, texts, st.lists(ids, max_size=3), worlds)
def test_the_world_warns_and_changes_no_score(
    old: str, new: str, used: list[str], world: Workspace
) -> None:
    state = saved(old, used)
    calm = assess(state, Workspace(content=new))
    found = assess(state, replace(world, content=new))
    assert found.compatibility_score == calm.compatibility_score
    assert set(calm.warnings) <= set(found.warnings)
    assert found.can_resume == calm.can_resume


@given(texts, texts, st.lists(ids, max_size=3), st.frozensets(ids))
def test_the_table_of_verdicts(
    old: str, new: str, used: list[str], have: frozenset[str]
) -> None:
    found = assess(saved(old, used), Workspace(content=new, tools=have))
    longest = max(len(old), len(new)) or 1
    alike = 1 - Levenshtein.distance(old, new) / longest
    missing = set(used) - have
    score = alike * (0.7 if missing else 1)
    limits = Limits()
    if round(score, 9) < limits.minimum_score:
        assert found.verdict == "refuse"
    else:
        assert found.verdict == (
            "adapt" if alike < limits.similarity_warning or missing else "same"
        )
    assert abs(found.compatibility_score - score) < 1e-4
    assert found.requires_adaptation == (
        found.verdict == "adapt" or alike < limits.similarity_reset
    )
