"""Three modules imported `_blake2`, a private module of CPython, to save the time of `hashlib`:
an interpreter without it could import none of them."""

import subprocess
import sys

CODE = """
import hashlib, sys
sys.modules["_blake2"] = None
from leftoff.formats.thread import key64
print(key64("a"))
"""


def test_a_python_without_it_gives_the_same_keys() -> None:
    without = CODE.replace('sys.modules["_blake2"] = None\n', "")
    keys = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
        for code in (CODE, without)
    ]
    assert keys[0] == keys[1] != b""
