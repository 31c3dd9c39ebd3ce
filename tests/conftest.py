"""What every test may count on: no way out to the network, and examples that repeat."""

import gc
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

Work: TypeAlias = Callable[[], object]
Prepare: TypeAlias = Callable[[int], Work]

# A shell lets what it starts in the background ignore Ctrl-C, and what that starts, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
ROOT = Path(__file__).resolve().parent.parent

# derandomize: a run is a function of the code, so a red run stays red until it is mended.
# `HYPOTHESIS_PROFILE=search` looks for new examples instead.
settings.register_profile("repeat", derandomize=True, deadline=None, database=None)
settings.register_profile(
    "search", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


@pytest.fixture(scope="session")
def _states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the state folders of the tests are; what fixtures of modules do has one of its own."""
    states = tmp_path_factory.mktemp("states")
    os.environ["XDG_STATE_HOME"] = str(states / "shared")
    return map(states.__truediv__, map(str, count()))


@pytest.fixture(autouse=True, scope="session")
def _same_priority() -> Iterator[None]:
    """A hook's worker lowers its own, and one that a test runs in this process that of all tests
    after it."""
    with mock.patch("os.nice", create=True):
        yield


@pytest.fixture(autouse=True)
def _own_state(_states: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of hooks keep an index of all sessions: not in the home of who runs the tests, and
    not where the next test, which may run first on another day, finds it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(next(_states)))


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """The whole suite runs on as many processors as there are, if pytest-xdist is installed.

    Not in `addopts`: `-p no:xdist` would then be refused for an option that nobody knows.
    Whoever names files, a number of workers (`-n 0`) or a debugger gets what he asks for.
    """
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    option = config.option
    worker = "PYTEST_XDIST_WORKER" in os.environ or hasattr(config, "workerinput")
    if named or worker or not config.pluginmanager.hasplugin("xdist"):
        return
    if option.numprocesses is None and not option.usepdb and not option.collectonly:
        option.numprocesses = _processors()
        option.dist = "worksteal"


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout: where README.md, corpora/ and docs/ are."""
    return ROOT


@pytest.fixture(scope="session")
def public_corpus() -> Path:
    """A folder of real recorded sessions, which are not ours to copy into the repository."""
    named = os.environ.get("LEFTOFF_PUBLIC_CORPUS")
    if named:
        folder = Path(named)
        if not folder.is_dir():
            pytest.fail(f"LEFTOFF_PUBLIC_CORPUS names no folder: {folder}")
        return folder
    folder = ROOT.parent / "shared" / "corpora" / "public"
    if not folder.is_dir():
        pytest.skip("needs the public corpus: set LEFTOFF_PUBLIC_CORPUS to its folder")
    return folder


@pytest.fixture(scope="session")
def assert_linear() -> Callable[[Prepare, int], None]:
    """Fails if the time of some work grows faster than its input.

    Call it with a function that gives the work on an input of a size, and with the largest
    size. Work on four times the input may take eight times as long: between the four of linear
    and the sixteen of quadratic work. The ratio of the least times of up to eight rounds
    decides, so a machine that is busy costs rounds and fails nothing. Each round has an input
    of its own, so that nothing is remembered from the round before.
    """

    def check(prepare: Prepare, largest: int) -> None:
        prepare(max(1, largest // 64))()  # imports and compiles what is needed
        small = large = math.inf
        for number in range(8):
            small = min(small, _processor_time(prepare(largest // 4 - number)))
            large = min(large, _processor_time(prepare(largest - number)))
            if large < 8 * small:
                return
        pytest.fail(f"four times the input takes {large / small:.1f} times as long")

    return check


def _processor_time(work: Work) -> float:
    collects = gc.isenabled()
    gc.disable()
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        if collects:
            gc.enable()


@pytest.fixture(scope="session")
def calls_made() -> Callable[[Work], int]:
    """How many calls of functions, Python's and C's, some work makes: the same each time."""

    def count(work: Work) -> int:
        made = 0

        def see(frame: object, event: str, argument: object) -> None:
            nonlocal made
            made += event in {"call", "c_call"}

        before = sys.getprofile()
        sys.setprofile(see)
        try:
            work()
        finally:
            sys.setprofile(before)
        return made

    return count


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuses connections that would leave this machine."""
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: Any) -> None:
        here = isinstance(address, str | bytes) or address[0] in LOOPBACK
        if not here:
            message = f"a test tried to connect to {address!r}"
            raise PermissionError(message)
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", refuse)
