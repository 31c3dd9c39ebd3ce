"""Turns, copies and branches."""

from leftoff.formats.thread import BATCH, Thread
from leftoff.model import Message, Role

UUID = "0d7c2a52-9f5e-4f0a-8a0f-{:012x}"


def message(
    index: int, origin: str = "agent", *, key: str = "", parent: str = "", response: str = ""
) -> Message:
    role: Role = "user" if origin == "prompt" else "assistant" if origin == "agent" else "tool"
    return Message(index, role, (), origin=origin, key=key, parent=parent, response=response)


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
