"""Groups files into jobs: the files of one session, by their headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from leftoff.batch.jobs import FileHeader, InputFile, Job

_SIDE = re.compile(r"(?P<stem>.*)[/\\]subagents[/\\]agent-[^/\\]*\.jsonl[^/\\]*", re.DOTALL)


def subagent_files(paths: Iterable[str]) -> dict[str, str]:
    """Files of subagents that stand in the folder of their session's file: path to the path
    of that file. Reading the one reads the others, so they are no files of their own."""
    known = set(paths)
    found: dict[str, str] = {}
    for path in known:
        match = _SIDE.fullmatch(path)
        if match is None or "://" in path:
            continue
        for ending in (".jsonl", ".jsonl.gz", ".jsonl.zst"):
            if match["stem"] + ending in known:
                found[path] = match["stem"] + ending
                break
    return found


def plan_jobs(files: Sequence[InputFile], heads: Mapping[str, FileHeader]) -> list[Job]:
    """The jobs in order of the path of their first file, by the headers that are known."""
    known = {file.path: file for file in files}
    owner = subagent_files(known)
    sides: dict[str, list[InputFile]] = {}
    for path in sorted(owner):
        sides.setdefault(owner[path], []).append(known[path])
    mains = sorted(path for path in known if path not in owner)
    found: list[Job] = []
    for number, group in enumerate(_grouped(mains, heads)):
        more = tuple(side for path in group for side in sides.get(path, ()))
        found.append(Job(number, tuple(known[path] for path in group), more))
    return found


def _grouped(paths: Sequence[str], heads: Mapping[str, FileHeader]) -> list[list[str]]:
    leader: dict[str, str] = {}

    def lead(path: str) -> str:
        while leader.get(path, path) != path:
            path = leader[path]
        return path

    first: dict[int, str] = {}
    for path in paths:
        head = heads.get(path)
        for key in head.keys if head else ():
            one, other = lead(first.setdefault(key, path)), lead(path)
            leader[max(one, other)] = min(one, other)
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(lead(path), []).append(path)
    return list(groups.values())
