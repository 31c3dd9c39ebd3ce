"""What the tests in the real clients share.

The programs run in a scratch home against a scripted model on the loopback interface;
`LEFTOFF_CLIENTS` names the folder with `node_modules` in which they are installed, as
`.ci/extras.d/10-clients.sh` does.
"""

import os
import subprocess
from pathlib import Path

import pytest


def installed(name: str) -> Path:
    """The program of a client; skips the test where it is not installed, or does not start."""
    version(name)
    return _path(name)


def version(name: str) -> str:
    """What the program of a client says of itself, or as `installed`."""
    done = subprocess.run(
        [_path(name), "--version"], capture_output=True, text=True, timeout=60, check=False,
        env={"PATH": os.environ["PATH"], "HOME": os.devnull},
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"{name} does not start here: {done.stderr.strip()[-200:]}")
    return next(word for word in done.stdout.split() if word[0].isdigit())


def _path(name: str) -> Path:
    named = os.environ.get("LEFTOFF_CLIENTS")
    if not named:
        pytest.skip("needs the real clients: LEFTOFF_CLIENTS names no folder with node_modules")
    program = Path(named).resolve() / "node_modules" / ".bin" / name
    if not program.exists():
        pytest.skip(f"{name} is not installed in LEFTOFF_CLIENTS")
    return program
