"""The file of compiled patterns was decoded from a list that the first thread emptied: a second
one that needed a pattern meanwhile failed with "pop from empty list"."""

import threading
from contextlib import suppress
from typing import Any

import pytest

from leftoff import lazy_re


def test_two_threads_may_need_the_first_pattern_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both, decode = threading.Barrier(2), lazy_re._decoded
    found: list[Any] = []

    def slow(data: bytes) -> Any:
        with suppress(threading.BrokenBarrierError):
            both.wait(1)
        return decode(data)

    monkeypatch.setattr(lazy_re, "_decoded", slow)
    lazy_re._known.cache_clear()
    threads = [
        threading.Thread(target=lambda: found.append(lazy_re.compiled("a+b"))) for _ in "12"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [pattern.pattern for pattern in found] == ["a+b", "a+b"]
