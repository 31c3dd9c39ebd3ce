"""`leftoff summarize`."""

import os
from collections.abc import Iterator
from pathlib import Path

from leftoff import api, codec
from leftoff.analysis.summary_json import json_pieces, seed_shape
from leftoff.api import SessionReading
from leftoff.cli import params
from leftoff.cli.group import complain
from leftoff.cli.output import columns, deliver, gate_of, nothing_fits, rendered
from leftoff.errors import UsageError
from leftoff.extraction.extractor import extractors
from leftoff.redaction.redactor import Redactor, redactors
from leftoff.summary import ContextSummary


@params.command("summarize")
def summarize(
    sessions: tuple[str, ...],
    form: str,
    *,
    agent: str,
    alone: bool,
    as_json: bool,
    shape: str,
    recording: params.RecordingOptions,
    extra: tuple[str, ...],
    hide: tuple[str, ...],
    budget: int | None,
    since: str | None,
    everything: bool,
    explain: bool,
    bare: bool,
    strict: bool,
    output: str | None,
) -> int:
    """Summarize SESSION: what was asked, decided, changed and tested, and what is left to do.

    Example: leftoff summarize latest

    SESSION is a file, a session's directory, - for standard input, an id or its beginning, or
    `latest`. Several files of one piece of work are summarized as one session; a forked
    session together with the recordings that it continues, which are found beside it.

    Exit 1: nothing fits into --budget. Exit 2 with --strict: issues of severity error, for
    example when a recorder has changed its format."""
    if explain and (form not in {"text", "json"} or shape != "leftoff" or since is not None):
        raise UsageError("--explain gives text or, with --json, an object of its own")
    line, message = (None, None) if since == "last" else _place(since)
    gate = gate_of(bare=bare, output=output, extra=[redactors.get(name) for name in hide])
    for name in extra:
        extractors.get(name)  # said before the recording is read
    paths = [params.path_of(session, recording.which) for session in sessions]
    # What is new is counted in lines or messages of one file.
    alone = alone or since is not None
    gathered = api.gather(paths, recording.recorder, extra, alone=alone)
    summary = gathered.summary(agent, recording.reading)
    recording.warn(paths[0], summary)
    if explain:
        deliver(_explained(gathered, agent, gate, as_json=as_json or form == "json"), output)
        return 0
    if since == "last":
        line, message = _last_place(summary)
    if (line, message) != (None, None):
        from leftoff.rendering import changes_since

        summary = changes_since.since(summary, line=line, message=message)
    text: str | bytes | Iterator[bytes]
    if form == "html" and shape == "leftoff" and not as_json:
        from leftoff.cli.report import page_of

        text = page_of(summary, gathered, agent=agent, everything=everything, gate=gate)
    elif shape == "seed001":
        text = codec.dumps(seed_shape(summary, gate), indent=2)
    elif as_json or form == "json":
        del gathered  # of a long session, what was read takes more memory than this
        text = json_pieces(summary, gate, indent=2)
    else:
        from leftoff.sources.discover import place_of

        # A prompt names its session for an agent, which must find the same one.
        place = place_of(paths[0], os.environ) if form == "prompt" else ""
        text = rendered(
            summary, form, output, budget=budget, everything=everything, place=place, gate=gate
        )
    if budget is not None and isinstance(text, str) and not text.strip():
        complain(nothing_fits(budget))
        return 1
    deliver(text, output)
    # Only now: the summary is printed even where a strict caller fails.
    faults = [i for i in summary.issues if i.severity == "error"] if strict else []
    for issue in faults:
        complain(f"{paths[0]}: {issue.what} ({issue.count})")
    return 2 if faults else 0


def _explained(gathered: SessionReading, agent: str, gate: Redactor, *, as_json: bool) -> str:
    from leftoff.analysis.decisions.explain import explain
    from leftoff.rendering import explanation

    found = explain(gathered.view(agent))
    if as_json:
        return codec.dumps(explanation.plain(found, gate), indent=2).decode()
    return explanation.text(found, width=columns(), gate=gate)


def _place(since: str | None) -> tuple[int | None, int | None]:
    """Line and message that `--since` names, one of them None."""
    if since is None:
        return None, None
    number = since.removeprefix("#")
    if not number.isdecimal():
        raise UsageError(f"--since {since}: say a line's number, or a message's as '#12'")
    return (None, int(number)) if since.startswith("#") else (int(number), None)


def _last_place(summary: ContextSummary) -> tuple[int | None, int | None]:
    """The same of where this was last asked for here; both None the first time."""
    from leftoff.live.last_summarized import exchange_position
    from leftoff.settings import load_here

    path = Path(load_here().settings.home) / "state" / "asked.json"
    before = exchange_position(path, summary)
    if before is None:
        return None, None
    by_line = any(request.ref.line is not None for request in summary.user_requests)
    return (before.line, None) if by_line else (None, before.messages)
