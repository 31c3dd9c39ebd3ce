"""A recording that does not fit into memory is refused in a line.

Under `ulimit -v` a long recording ended in a traceback, with the exit code of a mistake of ours.
"""

import subprocess
import sys

import pytest

resource = pytest.importorskip("resource", reason="Windows has no limits of a process")

MB = 1 << 20


def test_a_document_beyond_the_memory_that_there_is() -> None:
    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (250 * MB, 250 * MB))

    document = b'[{"role": "user", "content": "Sort the invoices."},' + b" " * (90 * MB) + b"7]"
    done = subprocess.run(
        [sys.executable, "-m", "leftoff", "summarize", "-", "--json"], input=document,
        capture_output=True, check=False, preexec_fn=confine,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr == b"leftoff: there is not enough memory for this recording\n"
