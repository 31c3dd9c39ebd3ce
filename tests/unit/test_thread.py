"""Turns, copies and branches."""

from __future__ import annotations

from leftoff.formats.thread import BATCH, Thread, key64, keys64
from leftoff.model import Message, Role

UUID = "0d7c2a52-9f5e-4f0a-8a0f-{:012x}"


def message(
    index: int,
    origin: str = "agent",
    *,
    key: str = "",
    parent: str = "",
    response: str = "",
) -> Message:
    role: Role = "user" if origin == "prompt" else "assistant" if origin == "agent" else "tool"
    return Message(index, role, (), origin=origin, key=key, parent=parent, response=response)


def thread_of(*messages: Message) -> Thread:
    thread = Thread()
    for one in messages:
        thread.add(one)
    return thread


def test_lines_of_one_response_are_one_turn_even_if_apart() -> None:
    thread = thread_of(
        message(0, "prompt"),
        message(1, response="r1"),
        message(2, "tool"),
        message(3, response="r1"),
        message(4, response="r2"),
        message(5),
        message(6),
    )
    assert thread.turns() == {1: 0, 3: 0, 4: 1, 5: 2, 6: 3}
    assert thread.counts()["turns"] == 4


def test_two_prompts_with_one_parent_are_a_rewind() -> None:
    thread = thread_of(
        message(0, "prompt", key="p"),
        message(1, key="a", parent="p"),
        message(2, "prompt", key="old", parent="a"),
        message(3, key="b", parent="old"),
        message(4, "tool", key="c", parent="b"),
        message(5, "prompt", key="new", parent="a"),
        message(6, key="d", parent="new"),
    )
    assert thread.abandoned() == {2, 3, 4}


def test_a_rewind_is_followed_through_records_that_are_no_messages() -> None:
    thread = Thread()
    thread.add(message(0, key="a"))
    thread.add(message(1, "prompt", key="old", parent="a"))
    thread.link("progress", "old")
    thread.add(message(2, key="b", parent="progress"))
    thread.add(message(3, "prompt", key="new", parent="a"))
    assert thread.abandoned() == {1, 2}


def test_the_last_of_three_siblings_stands() -> None:
    thread = thread_of(
        message(0, key="a"),
        *(message(n, "prompt", key=f"p{n}", parent="a") for n in (1, 2, 3)),
    )
    assert thread.abandoned() == {1, 2}


def test_parallel_results_orphans_and_first_prompts_are_no_branches() -> None:
    thread = thread_of(
        message(0, "prompt", key="p0"),
        message(1, "prompt", key="p1"),
        message(2, key="a", parent="p1"),
        message(3, "tool", key="r1", parent="a"),
        message(4, "tool", key="r2", parent="a"),
        message(5, "prompt", key="o1", parent="cut-off"),
        message(6, "prompt", key="o2", parent="cut-off"),
    )
    assert thread.abandoned() == set()


def test_a_cycle_of_parents_ends() -> None:
    thread = thread_of(
        message(0, key="a", parent="c"),
        message(1, "prompt", key="b", parent="a"),
        message(2, key="c", parent="b"),
        message(3, "prompt", key="d", parent="a"),
    )
    assert thread.abandoned() == {0, 1, 2, 3}


def test_copied_history_is_known_by_its_key() -> None:
    thread = thread_of(
        message(0, "prompt", key="p"),
        message(1, key="a", parent="p"),
        message(2, "prompt", key="p"),
        message(3),
        message(4),
    )
    assert thread.copies() == {2}


def test_columns_pack_the_same_alone_and_together() -> None:
    uuids = [UUID.format(n) for n in range(3 * BATCH // 2)]
    assert list(keys64(uuids)) == [key64(u) for u in uuids]
    mixed = [*uuids[:3], "msg_1", "", "0d7c2a52-9f5e-4f0a-8a0f-00000000000"]
    assert list(keys64(mixed)) == [key64(u) for u in mixed]
    assert key64("") == 0


def test_a_thread_survives_packing() -> None:
    thread = Thread()
    for number in range(BATCH + 10):
        thread.add(message(number, key=UUID.format(number), parent=UUID.format(number - 1)))
        thread.link(f"link-{number}", UUID.format(number))
    twin = Thread.unpack(thread.pack())
    assert twin.pack() == thread.pack()
    twin.add(message(BATCH + 10, key="x"))
    assert len(twin) == len(thread) + 1
    assert twin.contains("link-5")
    assert not twin.contains("elsewhere")
