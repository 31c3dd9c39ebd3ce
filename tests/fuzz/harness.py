"""What the programs share that kill, cut, crowd and fill: children, documents that show by their
mark which save they are of, the log of what was acknowledged, mounts, and the report."""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from leftoff.stores.protocol import Store, open_store

PROGRAM = [sys.executable, "-m", "tests.fuzz"]

_started = getattr(sys.modules["__main__"].__spec__, "name", "")
if re.fullmatch(
    r"tests\.fuzz\.(?!__main__)\w+", _started
):  # it would do nothing, and exit with 0
    sys.exit(
        f"{_started} is no program: python -m tests.fuzz {_started.rpartition('.')[2]} ..."
    )

# -- children --------------------------------------------------------------------------------


class Children:
    """Forked processes, each with work of its own; what went wrong in them is in `errors`."""

    def __init__(
        self, *works: Callable[[], object], enter: Callable[[], None] | None = None
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.pids = []
        for number, work in enumerate(works):
            child = os.fork()
            if child == 0:
                self._work(number, work, enter)
            self.pids.append(child)

    def _work(
        self, number: int, work: Callable[[], object], enter: Callable[[], None] | None
    ) -> None:
        code = 1
        try:
            with suppress(OSError):
                os.setpgid(0, 0)
            if enter:
                enter()
            work()
            code = 0
        except BaseException as error:  # noqa: BLE001 - told to the parent
            Path(self._folder.name, str(number)).write_text(f"{type(error).__name__}: {error}")
        finally:
            os._exit(code)

    def stop(self) -> None:
        """Stops them where they are."""
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)

    def go_on(self) -> None:
        for pid in self.pids:
            os.kill(pid, signal.SIGCONT)

    def kill(self) -> list[str]:
        """Kills them and what they started; what had gone wrong before."""
        for pid in self.pids:
            for kill in (os.killpg, os.kill):
                for number in (signal.SIGKILL, signal.SIGCONT):
                    with suppress(ProcessLookupError):
                        kill(pid, number)
        return [told for told in self.wait() if not told.startswith("a process ended")]

    def wait(self) -> list[str]:
        """Waits for their ends; what went wrong."""
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in self.pids]
        told = [p.read_text() for p in sorted(Path(self._folder.name).iterdir())]
        self._folder.cleanup()
        return told or [f"a process ended with {code}" for code in codes if code]


def forked(work: Callable[[], object]) -> int:
    """A child that does the work and ends: its number."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - a traceback of the child's own
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(1)


# -- marked documents ------------------------------------------------------------------------

FILLER = "The order of the lines is kept, because the index is built at the end. " * 120


def opened(root: Path, sort: str, patience: float = 5.0) -> Store:
    """A store below a folder: files, packed (compressed files) or sqlite."""
    if sort == "sqlite":
        return open_store(f"sqlite:///{root}/kept.sqlite", timeout=patience)
    return open_store(root, timeout=patience, compress={"task": 0} if sort == "packed" else {})


def document(mark: str) -> dict[str, Any]:
    return {"mark": mark, "words": [mark] * 20, "filler": FILLER}


def save(store: Store, id: str, mark: str) -> None:
    store.save("task", id, document(mark), text=f"# {mark}\n\n{FILLER}\n{mark}\n")


def mark_of(store: Store, id: str) -> str:
    """The mark of a kept document, "" if there is none; an AssertionError where it is not one
    whole document."""
    kept = store.load("task", id)
    if kept is None:
        return ""
    mark = str(kept.document.get("mark"))
    assert kept.document == document(mark), f"{id}: torn"
    assert kept.text in {"", f"# {mark}\n\n{FILLER}\n{mark}\n"}, f"{id}: another's markdown"
    codes = {issue.code for issue in kept.issues}
    assert codes <= {"text_differs"}, f"{id}: {kept.issues}"
    return mark


def litter(root: Path) -> list[str]:
    return [str(p) for p in root.rglob("*") if p.name.endswith((".tmp", "-journal"))]


# -- mounts ----------------------------------------------------------------------------------


class Unable(Exception):
    """It cannot be tried here."""


def run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Unable(f"there is no {command[0]}") from error
    if done.returncode:
        raise Unable(f"{' '.join(command[:3])}: {done.stderr.strip()}")


@contextmanager
def mounted(at: Path, *words: str) -> Iterator[None]:
    """A mount, as `mount` spells it, over a folder."""
    at.mkdir(parents=True, exist_ok=True)
    run("mount", *words, str(at))
    try:
        yield
    finally:
        for _ in range(50):
            if not subprocess.run(
                ["umount", str(at)], check=False, capture_output=True
            ).returncode:
                break
            time.sleep(0.1)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder mounted over itself, read only."""
    with mounted(folder, "--bind", str(folder)):
        run("mount", "-o", "remount,ro,bind", str(folder))
        yield


# -- the report ------------------------------------------------------------------------------


def options(doc: str | None, *positional: str, **given: Any) -> argparse.Namespace:
    """The command line of a program, whose page is its module's docstring.

    Args:
        positional: `name`, `name:one|other` for a choice, `name*` and `name+` for several.
        given: options by their defaults: a flag for False, a choice of a tuple (its first is the
            default), any number of words for a list, none for a type.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for word in positional:
        name, _, choices = word.partition(":")
        many = {"nargs": name[-1], "default": []} if name[-1] in "*+" else {}
        allowed = {"choices": [*choices.split("|"), *([[]] if many else [])]} if choices else {}
        parser.add_argument(name.rstrip("*+"), **many, **allowed)  # type: ignore[arg-type]
    for name, default in given.items():
        how: dict[str, Any] = {"default": default, "type": type(default)}
        if default is False:
            how = {"action": "store_true"}
        elif isinstance(default, tuple):
            how = {"choices": default, "default": default[0]}
        elif isinstance(default, list):
            how = {"nargs": "*", "action": "extend", "default": []}
        elif isinstance(default, type):
            how = {"type": default}
        parser.add_argument(f"--{name}", **how)
    return parser.parse_args()


Found = tuple[Counter[str], list[str]]
"""What a run counted, and what was wrong."""


def nothing() -> Found:
    """What a run has found before it begins."""
    return Counter(), []


def tried(what: str, work: Callable[[], Found], show: int = 20) -> int:
    """Runs and reports."""
    began = time.monotonic()
    return report(what, began, *work(), show)


def each(work: Callable[[Any], Found], items: Iterable[Any]) -> Found:
    """Work on one item after the other; what was wrong is said at once."""
    counts, wrong = nothing()
    for item in items:
        found, odd = work(item)
        counts += found
        counts["trials"] += 1
        wrong += odd
        for line in odd:
            tell(f"  WRONG {line}")
    return counts, wrong


def report(
    what: str, began: float, counts: Counter[str], wrong: Sequence[str], show: int = 20
) -> int:
    """Prints what a run did and found; the exit code that says it."""
    print(f"{what}: {time.monotonic() - began:.0f} s, {len(wrong)} wrong")
    for name, count in sorted(counts.items()):
        print(f"  {count} {name}")
    for line, times in Counter(wrong).most_common(show):
        print(f"  WRONG {line}" + (f" ×{times}" if times > 1 else ""))
    return 1 if wrong else 0


def tell(line: str) -> None:
    """Says how far it is."""
    print(line, flush=True)
