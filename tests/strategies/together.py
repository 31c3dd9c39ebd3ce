"""Work in threads that begin at the same moment."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def at_once(work: Callable[[Item], Made], items: Iterable[Item]) -> list[Made]:
    """What work gives of each item, in a thread of its own; its errors are raised."""
    given = list(items)
    ready = Barrier(len(given), timeout=20)

    def begun(item: Item) -> Made:
        ready.wait()
        return work(item)

    with ThreadPoolExecutor(len(given)) as pool:
        return list(pool.map(begun, given))
