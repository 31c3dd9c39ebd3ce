"""What every test may count on: no way out to the network, and examples that repeat."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
ROOT = Path(__file__).resolve().parent.parent

# derandomize: a run is a function of the code, so a red run stays red until it is mended.
# `HYPOTHESIS_PROFILE=search` looks for new examples instead.
settings.register_profile("repeat", derandomize=True, deadline=None, database=None)
settings.register_profile(
    "search",
    deadline=None,
    max_examples=2_000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


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
