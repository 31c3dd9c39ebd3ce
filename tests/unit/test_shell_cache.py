"""Parsed commands are held as bytes; what is unpacked equals what was parsed."""

import subprocess
import sys

import pytest

from leftoff.shell import effects

COMMANDS = (
    "cd src && grep -rn 'retry' . | head -5 > found.txt",
    "for name in a b; do touch \"$name\"; done; cat <<'END' > notes.md\none\nEND",
    "echo unfinished (",
    "Get-ChildItem -Path src",
    "cat ~/notes.md",
    "echo \ud800 > odd.txt",  # cannot be packed
    "echo 1 99999999999999999999999>&1",
)


def test_an_unpacked_script_is_the_parsed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    effects.clear_caches()
    parsed = [effects.analyze(command, home="/home/ada") for command in COMMANDS]
    effects._parsed.cache_clear()
    assert [effects.analyze(command, home="/home/ada") for command in COMMANDS] == parsed
    assert effects.analyze("cat ~/notes.md") != parsed[4]


def test_the_latest_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    effects.clear_caches()
    monkeypatch.setattr(effects._PackedScripts, "SIZE", 1000)
    for number in range(50):
        effects.analyze(f"touch {number}.txt")
    assert effects._PACKED.get("touch 0.txt", None) is None
    assert effects._PACKED.get("touch 49.txt", None) == effects.analyze("touch 49.txt")
    effects.clear_caches()
    assert effects._PACKED.get("touch 49.txt", None) is None


# The first decode of a type happens once in a process: hence an own one.
THREADS = """
import sys, threading
from leftoff.shell import effects

sys.setswitchinterval(1e-6)
cache = effects._PACKED
cache.SIZE = 5000
errors = []
threading.excepthook = errors.append
texts = [f"for f in {number} b; do cat $f > x; done" for number in range(40)]
for text in texts[-5:]:
    effects.analyze(text)

def ask():
    start.wait()
    for text in texts[::-1] * 3:
        effects._parsed.cache_clear()
        effects.analyze(text)

start = threading.Barrier(8)
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
held = cache._found.items()
assert held
assert cache._size == sum(len(key[0]) + len(packed) + cache.ENTRY for key, packed in held)
assert cache._size <= cache.SIZE
"""


def test_threads_share_the_cache() -> None:
    subprocess.run([sys.executable, "-c", THREADS], check=True)
