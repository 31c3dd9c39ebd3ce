"""Runs leftoff on labelled recordings; the only module here that calls the engine."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from leftoff import api, codec
from leftoff.analysis.session_pass import Pass
from leftoff.errors import InputError, UsageError
from leftoff.evaluation.labels import Labels, find_recordings
from leftoff.evaluation.recordings import passes_at
from leftoff.evaluation.sessions import LabelledSession, Predictions, from_summary
from leftoff.formats import native
from leftoff.live.compactions import place_of
from leftoff.second_reading import SecondReading
from leftoff.sources.open import open_lines
from leftoff.summary import ContextSummary


def sessions(
    labels: Iterable[Labels], directory: str
) -> tuple[list[LabelledSession], list[str]]:
    """The labelled sessions whose recordings are under `directory`, and the left-out ones."""
    wanted = list(labels)
    paths = find_recordings(directory, (label.file for label in wanted))
    found: list[LabelledSession] = []
    left_out: list[str] = []
    for label in wanted:
        path = paths.get(label.file)
        if path is None:
            left_out.append(f"{label.file}: no such recording under {directory}")
            continue
        try:
            found.append(LabelledSession(label, path, list(api.read(path))))
        except InputError as error:
            left_out.append(f"{label.file}: {str(error).split(';')[0]}")
    return found, left_out


def leftoff(session: LabelledSession) -> Predictions:
    """The predictions of our summary for a session, and the current stage in summaries of the
    session up to each cut."""
    reading = Pass(session.path)
    with open_lines(session.path) as lines:
        reading.feed_lines(islice(lines, session.lines))
    reading.close()
    summaries = [reading.conclude(session=number) for number in range(len(reading.sessions))]
    if len(summaries) > 1:
        return _of_all_sessions(summaries)
    places = {m.index: place_of(m) for m in session.messages}
    return from_summary(summaries[0], places, current_stages(session))


def judged_by(reading: SecondReading) -> Callable[[LabelledSession], Predictions]:
    """The predictions of our summaries with a second reader, whose choice alone counts."""

    def predict(session: LabelledSession) -> Predictions:
        places = {m.index: place_of(m) for m in session.messages}
        _, count = api.default_session(session.path)
        if count > 1:
            raise UsageError(f"{session.path}: holds several sessions; a reader judges one")
        summary = api.summarize(session.path, alone=True, reader=reading)
        return from_summary(summary, places)

    return predict


def _of_all_sessions(summaries: Sequence[ContextSummary]) -> Predictions:
    """The predictions of each session of a recording together; what is left open is that of
    the last one. Stages are left out: a message index, by which they are scored, is that of
    several messages."""
    found = [from_summary(summary, {}) for summary in summaries]
    together: codec.JsonObject = {
        name: tuple(one for predictions in found for one in getattr(predictions, name))
        for name in ("decisions", "milestones", "directives")
    }
    return Predictions(**together, open_items=found[-1].open_items)


def current_stages(session: LabelledSession) -> dict[int, str]:
    """The current stage by cut, from summaries of the recording up to that cut; of one JSON
    document, from its messages up to there."""
    if all(m.line is not None for m in session.messages):
        return {n: _stage_now(reading) for n, reading in passes_at(session.path, session.cuts)}
    found: dict[int, str] = {}
    for cut in session.cuts:
        reading = Pass(session.path)
        reading.feed(native.write(m for m in session.messages if place_of(m) <= cut))
        found[cut] = _stage_now(reading)
    return found


def _stage_now(reading: Pass) -> str:
    try:
        return reading.summary().progress.current_stage
    except InputError:
        return ""
