"""What an extra is for works with it, and without it says which extra is needed.

    python tests/packaging/extras.py EXTRA with|without LEFTOFF

Run by an interpreter that has only leftoff and perhaps that extra; LEFTOFF is its command. Exits
1 and says why where something is wrong.
"""

import argparse
import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

SESSION = Path(__file__).resolve().parents[2] / "corpora/sessions/claude_code/prorate.jsonl"
EMPTY_ZST = bytes.fromhex("28b52ffd0000000000")

Done = subprocess.CompletedProcess[str]


class Trial:
    """One environment and a folder to work in."""

    def __init__(self, extra: str, command: str, folder: Path, *, there: bool) -> None:
        self.extra, self.there = extra, there
        self.command, self.folder = command, folder

    def run(self, *words: str | Path) -> Done:
        """The command, with nothing on standard input."""
        return subprocess.run(
            [self.command, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def python(self, code: str, *words: str) -> Done:
        """A program of a user of the library."""
        return subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
        )

    def expect(self, done: Done, *, code: int = 0, made: Path | None = None) -> None:
        """With the extra it works; without it exits 2 and names the extra, in one line."""
        said = done.stderr.strip().splitlines()
        if self.there:
            assert done.returncode == code, (done.returncode, done.stderr)
            assert made is None or made.stat().st_size, made
            return
        assert f"leftoff[{self.extra}]" in done.stderr, done.stderr
        assert done.returncode == 2, done.returncode
        assert len(said) == 1, said
        assert made is None or not made.exists(), f"{made} was begun"


def gz(trial: Trial) -> None:
    """Works without it as well; with it, it is used."""
    packed = trial.folder / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(SESSION.read_bytes()))
    code = (
        "import sys, leftoff; leftoff.summarize(sys.argv[1]); "
        "print(any(name.startswith('isal') for name in sys.modules))"
    )
    done = trial.python(code, str(packed))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(trial.there), done.stdout


def zst(trial: Trial) -> None:
    """Sessions and outputs."""
    out = trial.folder / "out.jsonl.zst"
    trial.expect(trial.run("batch", SESSION, "-o", out), made=out)
    packed = trial.folder / "a.jsonl.zst"
    if trial.there:
        import zstandard

        packed.write_bytes(zstandard.compress(SESSION.read_bytes()))
    else:
        packed.write_bytes(EMPTY_ZST)
    trial.expect(trial.run("summarize", packed))


def spacy(trial: Trial) -> None:
    """Only without it; with it, integrations have a script of their own."""
    trial.expect(trial.run("summarize", SESSION, "--extractor", "spacy"))


def redis(trial: Trial) -> None:
    """A server that is not there is another error."""
    _store(trial, "redis://127.0.0.1:1/0", "StateError")


def s3(trial: Trial) -> None:
    """The same code with a file system in memory, and a bucket that is named."""
    _store(trial, "memory://kept", "")
    code = "import sys; from leftoff.stores import open_store; print(open_store(sys.argv[1]))"
    done = trial.python(code, "s3://bucket/kept")
    assert (done.returncode == 0) is trial.there, done.stderr
    out = trial.folder / "out.jsonl"
    if not trial.there:
        trial.expect(trial.run("batch", "s3://bucket/sessions", "-o", out), made=out)


def _store(trial: Trial, url: str, error: str) -> None:
    code = (
        "import sys; from leftoff.stores import open_store\n"
        "store = open_store(sys.argv[1]); store.save('task', 't', {'a': 1})\n"
        "print(store.load('task', 't').document)"
    )
    done = trial.python(code, url)
    last = (done.stderr.strip().splitlines() or [""])[-1]
    if not trial.there:
        assert last.startswith("leftoff.errors.UsageError"), last
        assert f"leftoff[{trial.extra}]" in last, last
    elif error:
        assert error in last, last
    else:
        assert done.stdout.strip() == "{'a': 1}", done.stderr


def mcp(trial: Trial) -> None:
    """A client that goes at once."""
    trial.expect(trial.run("mcp"))


def parquet(trial: Trial) -> None:
    """The tables of a batch."""
    out = trial.folder / "out.parquet"
    trial.expect(trial.run("batch", SESSION, "-o", out), made=out)


def ray(trial: Trial) -> None:
    """Only without it; the clusters have a script of their own."""
    out = trial.folder / "out.jsonl"
    trial.expect(trial.run("batch", SESSION, "--engine", "ray", "-o", out), made=out)


def semantic_kernel(trial: Trial) -> None:
    """Only without it, as for ray."""
    code = "from leftoff.integrations import semantic_kernel as s; s.chat_history([])"
    last = trial.python(code).stderr.strip().splitlines()[-1]
    assert last.startswith("leftoff.errors.UsageError"), last
    assert "leftoff[semantic-kernel]" in last, last


def browse(trial: Trial) -> None:
    """Only without it; the application has a test of its own."""
    trial.expect(trial.run("browse"))


TRIALS: dict[str, Callable[[Trial], None]] = {
    "browse": browse,
    "gz": gz,
    "zst": zst,
    "redis": redis,
    "s3": s3,
    "mcp": mcp,
    "parquet": parquet,
    "ray": ray,
    "semantic-kernel": semantic_kernel,
    "spacy": spacy,
}


def main() -> int:
    """Exit 1 if the extra does not do what it should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extra", choices=TRIALS)
    parser.add_argument("how", choices=["with", "without"])
    parser.add_argument("command")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        trial = Trial(given.extra, given.command, Path(folder), there=given.how == "with")
        try:
            TRIALS[given.extra](trial)
        except AssertionError as error:
            print(f"{given.how} {given.extra}: {error}", file=sys.stderr)
            return 1
    print(f"{given.how} {given.extra}: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
