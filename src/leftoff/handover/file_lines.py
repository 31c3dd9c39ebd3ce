"""Wording of the changed files of a `Handover`: what was done to each, as lines."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.handover.facts import Handover
from leftoff.handover.packing import BULLET, Line, line_of
from leftoff.handover.wording import brief, change_of, inline, inline_code, unnamed_changes
from leftoff.summary import DiscardedFile, FileModification
from leftoff.text.truncation import GAP

# Code points of a symbol that is shown; a longer one is left out whole. Chosen by hand.
MAX_SYMBOL = 100

# Files whose last change is shown. Chosen by hand.
HUNKS = 3

# Lines that begin a file or a block and say nothing of the change.
_FRAME = re.compile(
    r"[+-]\s*(?:(?:package|import|from|use|using|namespace)\b|#include|<\?|[\"'][\w./-]+[\"']$|\W*$)"
)


def file_notes(file: FileModification, handover: Handover) -> str:
    """What was done to a file: action unless it was modified, lines, place, committed or
    not where some commit is seen, symbols."""
    notes = _least(file)
    if file.lines:
        notes.append(f"lines {file.lines[0]}-{file.lines[1]} then")
    notes += ["not seen committed"] if file.committed is False and handover.commits else []
    if file.last_message >= 0:
        notes.append(f"#{file.last_message + 1}")
    return ", ".join(notes)


def _least(file: FileModification, *, short: bool = False) -> list[str]:
    """What was done to a file: action, lines added and removed, never nothing. A deletion has
    its place: something else may have made the file again since."""
    counted = file.added is not None
    notes = [] if file.action == "modified" and counted else [change_of(file)]
    folder, _, was = file.renamed_from.rstrip("/").rpartition("/")
    if was and was != _base(file.path):
        notes.append(f"was {brief(was, 120)}")
    elif file.renamed_from and not short:
        notes.append(f"was in {brief(folder, 120)}")
    notes += [file.certainty] if file.certainty != "sure" else []
    notes += [f"{file.branch} branch"] if file.branch else []
    if short and file.action == "deleted" and file.last_message >= 0:
        notes.append(f"#{file.last_message + 1}")
    return notes + ([f"+{file.added} -{file.removed or 0}"] if counted else [])


def file_lines(
    handover: Handover, listed: int | None, *, grouped: bool = True
) -> tuple[Line, ...]:
    """A line for each changed file, the newest first. Those of one folder stand below it, but
    for the newest, whose last change is shown, and those whose name other files have, too."""
    files = handover.files[:listed]
    known = [*(f.path for f in handover.files if f.action != "deleted"), *handover.read]
    folders = _folders([f.path for f in files[HUNKS:]], known) if grouped else {}
    commits = [fact.message for fact in handover.git if fact.note.startswith("commit")]
    effects = [(r.message, e.action) for e in handover.unnamed for r in e.refs]
    ran = max((at for at, _ in effects), default=-1)
    removed = max((at for at, action in effects if action == "deleted"), default=-1)
    placed: dict[str, list[Line]] = {}
    for place, file in enumerate(files):
        folder = folders.get(file.path, "")
        head = BULLET
        path, group = inline(file.path), ""
        if folder:
            group, head = f"{BULLET}{inline(folder)}/:", f"  {BULLET}"
            path = inline(file.path[len(folder) + 1 :])
        notes = file_notes(file, handover)
        first = min((ref.message for ref in file.refs), default=-1)
        if any(0 <= first < at < file.last_message for at in commits):
            notes = notes.replace("not seen", "last edits not seen")
        least = ", ".join(_least(file, short=True))
        if file.action == "deleted" and 0 <= file.last_message < ran:
            again = "; may exist again"
            notes, least = notes + again, least + again
        elif file.certainty != "sure" and 0 <= file.last_message < removed:
            since = f"; may be removed since, #{removed + 1}"
            notes, least = notes.replace("not seen committed, ", "") + since, least + since
        symbols = ", ".join(inline(s) for s in file.symbols[:5] if len(s) <= MAX_SYMBOL)
        forms = [f"{path} ({notes}): {symbols}"] if symbols else []
        forms += [f"{path} ({text})" for text in (notes, least)]
        telling = [line for line in file.hunk.splitlines() if not _FRAME.match(line)]
        if telling and place < HUNKS:
            few = [line if line == GAP else inline_code(line, 100) for line in telling[:5]]
            shown = " ".join(few[: 4 + (GAP in few[:4])]).removesuffix(f" {GAP}")
            forms.insert(0, f"{forms[0]} {shown}")
        placed.setdefault(group or file.path, []).append(
            # Of the newest, what was done to it is shown before more files are.
            replace(line_of(forms, head, 0.09, group), enough=max(0, len(forms) - 2))
            if not place
            else line_of(forms, head, -place / 1000, group)
        )
    found = [line for lines in placed.values() for line in lines]
    others = handover.files[len(files) :]
    found += _named_together(others, _folders([f.path for f in others], known))
    found += [line_of([f"{BULLET}{_discarded(file)}"], "", -0.5) for file in handover.discarded]
    unnamed = unnamed_changes(handover.unnamed, listed=bool(found))
    return (*found, *([Line((f"{BULLET}{unnamed}",), 0.1)] if unnamed else []))


def _named_together(
    files: Sequence[FileModification], folders: Mapping[str, str]
) -> list[Line]:
    """Lines of files that have none of their own: by folder, those to which the same was
    done."""
    same: dict[tuple[str, str], list[str]] = {}
    for file in files:
        folder = folders.get(file.path, "")
        notes = [note for note in _least(file, short=True) if note[0] not in "+#"]
        done = ", ".join(notes[: 1 if file.renamed_from else None]) or "modified"
        name = inline(file.path[len(folder) + 1 :] if folder else file.path)
        same.setdefault((folder, done), []).append(name)
    return [
        Line(
            (f"{'  ' if folder else ''}{BULLET}{done}: {', '.join(names)}",),
            0.05,
            f"{BULLET}{inline(folder)}/:" if folder else "",
            len(names),
        )
        for (folder, done), names in sorted(same.items(), key=lambda one: one[0])
    ]


def _discarded(file: DiscardedFile) -> str:
    """What became of a file that the session wrote and discarded."""
    become = "deleted"
    if file.renamed_to:
        folder, _, name = file.renamed_to.rpartition("/")
        become = f"renamed {inline(name if name != _base(file.path) else folder + '/')}"
    return f"{inline(file.path)} (made here, then {become} #{file.ref.message + 1})"


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _folders(paths: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """The nearest folder of each path that holds another one of them, if there is one. What
    is left of a path below its folder is like the end of no other known path."""
    ends = Counter(end for path in set(known) for end in _ends(path))
    found = {}
    for path in paths:
        own = next((end for end in _ends(path) if ends[end] < 2), path)
        found[path] = path[: max(0, len(path) - len(own) - 1)]
    while True:
        counts = Counter(found.values())
        lonely = [path for path, folder in found.items() if folder and counts[folder] == 1]
        if not lonely:
            return {path: folder for path, folder in found.items() if folder}
        deepest = max(found[path].count("/") for path in lonely)
        for path in lonely:
            if found[path].count("/") == deepest:
                found[path] = found[path].rpartition("/")[0]


def _ends(path: str) -> Iterator[str]:
    """The ends of a path by whole components, the shortest first."""
    at = len(path) - path.endswith("/")  # a folder
    while at > 0:
        at = path.rfind("/", 0, at)
        yield path[at + 1 :]
