"""`leftoff redact`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO

from leftoff import codec
from leftoff import lazy_re as re
from leftoff.cli.output import written
from leftoff.cli.params import command
from leftoff.errors import SourceError, UsageError
from leftoff.redaction.redactor import Redactor, redactors
from leftoff.redaction.rules import is_secret_path
from leftoff.sources.encodings import Utf8Reader, holds_wide_text
from leftoff.sources.open import lines_of, open_recoded
from leftoff.text.sanitize import clean

# Characters of text that are looked at together.
CHUNK = 1 << 20
_JSON = re.compile(r"\ufeff?\s*[\[{]\s*(?:$|[\"\[{\]}])")


@command("redact")
def redact(
    file: str, *, form: str, personal: bool, hide: tuple[str, ...], output: str | None
) -> None:
    """Print FILE (- for standard input) with its secrets replaced: text, JSON, or one JSON
    value per line.

    Example: leftoff redact session.jsonl -o clean.jsonl

    The number of replacements goes to stderr. Text and lines are read piece by piece, so a
    file may be larger than memory; one JSON document is read as a whole. A file whose name
    says that it contains only secrets (.env, id_rsa, *.pem) is replaced completely. UTF-16 and
    UTF-32 files keep their encoding; a file that mixes UTF-16 with other text is refused."""
    gate = Redactor(personal=personal, extra=[redactors.get(name) for name in hide])
    on_terminal = output in {None, "-"} and sys.stdout.isatty()
    with open_recoded(file) as (found, wide), _opened(file, output) as out:
        lines = _of_one_encoding(file, lines_of(found, file), wide)
        shown = _redacted(file, lines, form, gate)
        if on_terminal:
            shown, wide = map(clean, shown), None
        pieces = (piece.encode("utf-8", "surrogateescape") for piece in shown)
        out.writelines(pieces if wide is None else _encoded(pieces, wide))
    counts = ", ".join(f"{kind} {n}" for kind, n in sorted(gate.counts.items()))
    print(f"replaced {gate.total}" + (f": {counts}" if counts else ""), file=sys.stderr)


@contextmanager
def _opened(file: str, output: str | None) -> Iterator[IO[bytes]]:
    """Where the result goes; `UsageError` where that is the file that is read; `SourceError`
    where it cannot be written."""
    if output is None or output == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with suppress(OSError):  # a missing file is reported by what reads or writes it
        if file != "-" and Path(output).samefile(file):
            raise UsageError(f"{output}: would be written while it is read; name another file")
    with written(output) as out:
        yield out


def _encoded(pieces: Iterator[bytes], wide: Utf8Reader) -> Iterator[bytes]:
    """UTF-8 in that encoding, the byte order mark first, where there was one, and last the
    bytes of an incomplete character."""
    mark = "\ufeff"
    for piece in chain(pieces, (b"",)):
        # Known when the first piece was read.
        head, mark = mark if wide.marked else "", ""
        text = head + piece.decode("utf-8", "surrogatepass")
        yield text.encode(wide.encoding, "surrogatepass")
    yield wide.rest


def _redacted(file: str, data: Iterator[bytes], form: str, gate: Redactor) -> Iterator[str]:
    lines = (line.decode("utf-8", "surrogateescape") for line in data)
    if file != "-" and is_secret_path(file):
        yield gate.file(file, "".join(lines)) + "\n"
        return
    first = next(lines, "")
    # The first line tells: no more than it has to be in memory.
    chosen = _form(first) if form == "auto" else form
    if chosen == "jsonl":
        yield _value(first, gate)
        for line in lines:
            yield _value(line, gate)
    elif chosen == "json":
        yield _value("".join([first, *lines]), gate)
    else:
        yield from _texts(first, lines, gate)


_ASCII = re.compile(rb"[ -~]{12,}")


def _of_one_encoding(
    file: str, lines: Iterator[bytes], wide: Utf8Reader | None
) -> Iterator[bytes]:
    """The lines of a file. `SourceError` where letters of UTF-16 stand in one and the file is
    UTF-8, or a secret in ASCII and it is UTF-16 (`cat >>`, `>>` of PowerShell): no rule would
    find it in letters of the other encoding, so that the result would only look redacted."""
    for number, line in enumerate(lines, 1):
        mixed = holds_wide_text(line)
        if wide is not None:
            raw = line.decode("utf-8", "surrogatepass").encode(wide.encoding, "surrogatepass")
            judge = Redactor()
            for run in _ASCII.findall(raw):
                judge.text(run.decode("ascii"))
            mixed = judge.total > 0
        if mixed:
            raise SourceError(
                f"{file}: line {number}: mixes UTF-16 with another encoding and cannot be "
                "redacted; convert it to UTF-8 first"
            )
        yield line


def _form(first: str) -> str:
    if _JSON.match(first) is None:
        return "text"
    try:
        codec.parse_strict(first.encode("utf-8", "surrogateescape"))
    except ValueError:
        return "json"
    return "jsonl"


def _value(text: str, gate: Redactor) -> str:
    """A JSON value, judged by its keys, too; as it stands where nothing is replaced."""
    if not text.strip():
        return text
    try:
        value = codec.parse_strict(text.encode("utf-8", "surrogateescape"))
    except ValueError:
        return gate.text(text)  # damaged: its words are still judged
    clean = gate.value(value)
    # A value without a secret keeps its spacing and its order of keys.
    if clean is value:
        return text
    return codec.dumps(clean, indent=2 if "\n" in text.strip() else 0).decode()


def _texts(first: str, lines: Iterator[str], gate: Redactor) -> Iterator[str]:
    """Text in pieces that end at a line, outside of a private key."""
    held: list[str] = [first]
    size = len(first)
    keyed = _opens(first)
    for line in lines:
        # A key that never ends must not fill the memory.
        if size >= CHUNK and (not keyed or size >= 4 * CHUNK):
            yield gate.text("".join(held))
            held, size, keyed = [], 0, False
        held.append(line)
        size += len(line)
        if "PRIVATE KEY" in line:
            keyed = _opens(line)
    yield gate.text("".join(held))


def _opens(line: str) -> bool:
    """Whether a private key begins on a line and does not end there."""
    return line.rfind("BEGIN") > line.rfind("END") and "PRIVATE KEY" in line
