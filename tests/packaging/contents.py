"""Whether a wheel and a source archive hold what they should, and nothing else.

    python tests/packaging/contents.py WHEEL [SDIST]

Run from the checkout. Prints the size of each; exits 1 and says why where something is wrong.
"""

import argparse
import base64
import csv
import hashlib
import io
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
LARGEST = {"wheel": 1_650_000, "sdist": 3_600_000}
"""Bytes. Whoever passes them should know why: cases of formats, commands and calls are data."""

LEFT_OUT = {
    "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".leftoff",
}  # fmt: skip


def files_of(folder: Path) -> set[str]:
    """The files of a folder that belong to the project, as seen from the checkout."""
    found = (path for path in folder.rglob("*") if path.is_file())
    names = (path.relative_to(ROOT) for path in found)
    return {
        name.as_posix()
        for name in names
        if not LEFT_OUT & set(name.parts) and name.suffix != ".pyc"
    }


def wrong_in_wheel(path: Path) -> list[str]:
    """What is wrong with a wheel."""
    wrong = []
    with zipfile.ZipFile(path) as wheel:
        names = {info.filename for info in wheel.infolist()}
        about = next(n.partition("/")[0] for n in names if n.endswith(".dist-info/METADATA"))
        code = {n for n in names if not n.startswith(f"{about}/")}
        meant = {n.removeprefix("src/") for n in files_of(ROOT / "src")}
        wrong += [f"missing: {name}" for name in sorted(meant - code)]
        wrong += [f"should not be there: {name}" for name in sorted(code - meant)]
        wrong += [f"missing: {n}" for n in ("leftoff/py.typed",) if n not in code]
        needed = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
        wrong += [
            f"missing: {about}/{n}" for n in sorted(needed) if f"{about}/{n}" not in names
        ]
        wrong += wrong_in_record(wheel, f"{about}/RECORD")
        wrong += wrong_in_metadata(wheel.read(f"{about}/METADATA").decode())
        if b"Root-Is-Purelib: true" not in wheel.read(f"{about}/WHEEL"):
            wrong.append("WHEEL: is for one kind of machine only")
        if b"leftoff = leftoff.__main__:run" not in wheel.read(f"{about}/entry_points.txt"):
            wrong.append("entry_points.txt: no command leftoff")
    return wrong


def wrong_in_record(wheel: zipfile.ZipFile, record: str) -> list[str]:
    """Where the list of files does not tell what is in them."""
    wrong, told = [], set()
    for name, digest, size in csv.reader(io.StringIO(wheel.read(record).decode())):
        told.add(name)
        if name == record:
            continue
        data = wheel.read(name)
        made = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        if (digest, int(size)) != (f"sha256={made}", len(data)):
            wrong.append(f"RECORD: wrong about {name}")
    untold = {info.filename for info in wheel.infolist() if not info.is_dir()} - told
    return wrong + [f"RECORD: silent about {name}" for name in sorted(untold)]


def wrong_in_metadata(text: str) -> list[str]:
    """What is wrong with what an index shows of us."""
    metadata = Parser().parsestr(text)
    wrong = []
    expected = {
        "Name": "leftoff", "License-Expression": "MIT", "License-File": "LICENSE",
        "Requires-Python": ">=3.11", "Description-Content-Type": "text/markdown",
    }  # fmt: skip
    for field, value in expected.items():
        if metadata[field] != value:
            wrong.append(f"METADATA: {field} is {metadata[field]!r}")
    if not (metadata["Summary"] and metadata["Keywords"] and metadata.get_payload()):
        wrong.append("METADATA: no summary, keywords or description")
    # An extra that nobody can install because its name was changed elsewhere only.
    extras = set(metadata.get_all("Provides-Extra", []))
    required = " ".join(metadata.get_all("Requires-Dist", []))
    wrong += [
        f"METADATA: extra {e} requires nothing" for e in extras if f"'{e}'" not in required
    ]
    return wrong


def wrong_in_sdist(path: Path) -> list[str]:
    """What is wrong with a source archive: it must hold what its tests look at."""
    with tarfile.open(path) as archive:
        names = {PurePosixPath(*PurePosixPath(m.name).parts[1:]).as_posix() for m in archive}
    folders = ("src", "tests", "benchmarks", "corpora", "docs", "examples")
    meant = {name for folder in folders for name in files_of(ROOT / folder)}
    meant |= {
        "LICENSE", "README.md", "pyproject.toml", "PKG-INFO", "SECURITY.md", "CITATION.cff",
    }  # fmt: skip
    extra = {n for n in names if set(PurePosixPath(n).parts) & (LEFT_OUT | {".git", ".ci"})}
    wrong = [f"missing: {name}" for name in sorted(meant - names)]
    return wrong + [f"should not be there: {name}" for name in sorted(extra)]


def main() -> int:
    """Exit 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("sdist", type=Path, nargs="?")
    given = parser.parse_args()
    wrong = 0
    for kind, path in (("wheel", given.wheel), ("sdist", given.sdist)):
        if path is None:
            continue
        found = wrong_in_wheel(path) if kind == "wheel" else wrong_in_sdist(path)
        size = path.stat().st_size
        if size > LARGEST[kind]:
            found.append(f"has {size:,} bytes, more than {LARGEST[kind]:,}")
        for one in found:
            print(f"{path.name}: {one}", file=sys.stderr)
        wrong += len(found)
        print(f"{path.name}: {size:,} bytes, {'wrong' if found else 'as it should be'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
