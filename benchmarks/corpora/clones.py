"""Files of public git repositories at a commit, checked against their hash.

`python -m benchmarks.corpora fetch` and this reach the network; nothing else here does. Git
does the talking, without a shell, hooks or credentials. Files come out as they are published:
they are copies, so nothing in them is redacted, and a file whose hash differs is not written.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.corpora.references import Reference, to_labels
from leftoff import api, codec
from leftoff.errors import SourceError, StateError, UnknownName
from leftoff.evaluation.labels import Labels
from leftoff.evaluation.sessions import LabelledSession

SECONDS = 900.0
"""How long git may take for one repository or one file."""

_QUIET = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "credential.helper=",
    "-c", "protocol.allow=never",
    "-c", "protocol.ext.allow=never",
    "-c", "protocol.https.allow=always",
    "-c", "protocol.file.allow=always",
    "-c", "submodule.recurse=false",
    "-c", "gc.auto=0",
)  # fmt: skip
_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C"}


class Clone:
    """A bare clone without history and, where the server knows how, without files: git asks
    for each file when it is read."""

    def __init__(self, url: str, folder: str) -> None:
        self.url = url
        self.folder = folder
        self.commits: set[str] = set()
        _git("init", "-q", "--bare", folder)
        _git("-C", folder, "remote", "add", "origin", url)

    def read(self, commit: str, path: str) -> bytes:
        """A file of the repository at a commit.

        Raises:
            SourceError: no such repository, commit or file, or git gave up; says what it said.
        """
        if commit not in self.commits:
            _git(
                "-C", self.folder, "fetch", "-q", "--depth", "1", "--no-tags",
                "--filter=blob:none", "origin", commit,
            )  # fmt: skip
            self.commits.add(commit)
        return _git("-C", self.folder, "cat-file", "blob", f"{commit}:{path}")


@contextmanager
def cloned(url: str) -> Iterator[Clone]:
    """A clone in a scratch folder that is taken away afterwards."""
    with tempfile.TemporaryDirectory(prefix="leftoff-clone-") as folder:
        yield Clone(url, folder)


def _git(*arguments: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", *_QUIET, *arguments],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
            env={**os.environ, **_ENVIRONMENT},
        )
    except OSError as error:
        raise SourceError(f"git cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise SourceError(f"git took longer than {SECONDS:.0f} s") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise SourceError(f"git: {said[-1] if said else f'exit {done.returncode}'}")
    return done.stdout


def kept_already(reference: Reference, folder: Path) -> bool:
    """Whether the recording is in the folder, with the hash it should have."""
    path = folder / reference.file
    try:
        data = path.read_bytes()
        if reference.file.endswith(".gz") and not reference.path.endswith(".gz"):
            data = gzip.decompress(data)
    except (OSError, EOFError, gzip.BadGzipFile):
        return False
    return hashlib.sha256(data).hexdigest() == reference.sha256


def keep(reference: Reference, data: bytes, folder: Path) -> Path:
    """Writes a recording where it belongs below the folder; a name in `.gz` is packed.

    Raises:
        StateError: the bytes are not the ones that the reference means.
        SourceError: it cannot be written.
    """
    found = hashlib.sha256(data).hexdigest()
    if found != reference.sha256:
        raise StateError(
            f"{reference.file}: what {reference.repository} holds there has another hash"
            f" ({found[:12]}… for {reference.sha256[:12]}…); nothing was written"
        )
    if reference.file.endswith(".gz") and not reference.path.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    return _written(folder / reference.file, data)


def _written(path: Path, data: bytes) -> Path:
    partial = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        raise SourceError(f"{path}: cannot be written ({error.strerror})") from error
    return path


def restore(reference: Reference, folder: Path) -> tuple[Path, Labels] | None:
    """Writes the label file of a fetched recording, with the words it points at; None if the
    recording is not labelled.

    Raises:
        StateError: the recording does not read as it did when it was labelled.
    """
    if reference.labels is None:
        return None
    path = str(folder / reference.file)
    session = LabelledSession(Labels(reference.name), path, list(api.read(path)))
    labels = to_labels(reference.name, reference.labels, session.texts)
    where = folder / "labels" / reference.set / f"{reference.name}.json"
    return _written(where, codec.dumps(codec.to_builtins(labels), indent=2)), labels


def chosen(references: Sequence[Reference], names: Sequence[str]) -> list[Reference]:
    """The references that names mean: a file's name, a repository (`owner/name`), a set of
    labels, or "all"; without names those that are labelled.

    Raises:
        UnknownName: a name that means none.
    """
    if not names:
        return [r for r in references if r.labels is not None]
    meant: set[str] = set()
    for name in names:
        found = {r.file for r in references if name in ("all", *_names(r))}
        if not found:
            known = {r.repository for r in references} | {r.set for r in references} | {"all"}
            raise UnknownName("public recording", name, known - {""})
        meant |= found
    return [r for r in references if r.file in meant]


def _names(reference: Reference) -> set[str]:
    """What a recording answers to."""
    return {reference.name, reference.file, reference.repository, reference.set} - {""}
