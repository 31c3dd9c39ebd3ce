"""Reads every prefix of a recording that it is shown from a saved state, and from scratch.

    python -m tests.fuzz prefixes FOLDER [--cuts 12] [--most MIB] [--seed 1] [--without NAME]

Each recording in FOLDER grows to its full length in so many steps, cut at random bytes: in the
middle of a line, of a character, of an escape. At each step a kept pass reads on, and what it
tells must be what `leftoff.summarize` tells of the file as it is then, byte for byte: the
same summary, or the same refusal. Exits 1 if one is not. tests/contracts/test_faults.py does
it with shipped sessions.
"""

import argparse
import random
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.fuzz import harness

from leftoff import api, codec
from leftoff.analysis.summary_json import to_json
from leftoff.errors import FormatError, SourceError
from leftoff.incremental.cursor import NotResumable
from leftoff.incremental.saved_passes import SavedPass
from leftoff.sources.open import open_lines, open_regular
from leftoff.stores.envelope import differing_paths


def told(kept: SavedPass | None, path: str) -> bytes:
    """The summary as JSON, or why there is none."""
    try:
        return to_json(kept.summary(path) if kept else api.summarize(path))
    except FormatError as error:
        return codec.dumps(str(error))


def grown(data: bytes, name: str, cuts: list[int], folder: Path) -> harness.Found:
    """A recording that grows from cut to cut: what was counted, and what was wrong."""
    counts, wrong = harness.nothing()
    path, kept = folder / name, SavedPass(folder / "state")
    path.touch()
    for cut in [*cuts, len(data)]:
        with path.open("r+b") as file:
            file.write(data[:cut])
        try:
            kept.read_on(str(path))
            counts["read on"] += 1
        except NotResumable:
            counts["read whole"] += 1
        except FormatError:
            counts["refused"] += 1
        with open_regular(str(path)) as now:
            if kept._whole(now, str(path), exact=True) is not None:
                counts["prefixes told from a saved state"] += 1
        counts["prefixes"] += 1
        one, other = told(kept, str(path)), told(None, str(path))
        if one != other:
            odd = differing_paths(codec.parse(one), codec.parse(other))[:5]
            wrong.append(f"{name} at {cut} of {len(data)}: {odd}")
            break
    return counts, wrong


def recordings(args: argparse.Namespace) -> Iterator[tuple[Path, bytes]]:
    """What can be read of the files below a folder."""
    for place in sorted(p for p in Path(args.folder).rglob("*") if p.is_file()):
        if place.name.endswith((".metadata.json", ".groundtruth.json")):
            continue
        if any(name in str(place) for name in args.without):
            continue
        with suppress(FormatError, SourceError):
            with open_lines(str(place)) as lines:
                data = b"".join(lines)
            if len(data) <= args.most * (1 << 20):
                api.summarize(str(place))
                yield place, data


def main() -> int:
    args = harness.options(__doc__, "folder", cuts=12, most=4.0, seed=1, without=[])
    chance = random.Random(args.seed)

    def one(recording: tuple[Path, bytes]) -> harness.Found:
        place, data = recording
        cuts = sorted(chance.randrange(len(data)) for _ in range(args.cuts))
        with tempfile.TemporaryDirectory(prefix="prefixes-") as folder:
            name = place.name.removesuffix(".gz").removesuffix(".zst")
            found, odd = grown(data, name, cuts, Path(folder))
        saved = found["prefixes told from a saved state"] > 0
        found["recordings told from a saved state"] += saved
        return found, [f"{place.parent.name}: {line}" for line in odd]

    return harness.tried("prefixes", lambda: harness.each(one, recordings(args)))
