"""A labelled session for the scorer: places, speakers and turns."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

from leftoff.evaluation.labels import Labels, label_problems, relocated
from leftoff.evaluation.matching import beside
from leftoff.live.compactions import place_of
from leftoff.model import Message

# Random cuts in each session at which the current stage is scored. Chosen by hand.
CUTS = 10


class LabelledSession:
    """Labels, and the messages of the main thread that the annotator read, in file order.
    `lines`: number of lines of the recording that hold them, None for all. `problems`: labels
    whose place or quote is wrong, as sentences. `moves`: see `labels.relocated`."""

    def __init__(self, labels: Labels, path: str, messages: Sequence[Message]) -> None:
        self.path = path
        until = labels.until
        unread = [] if until is None else [m.line for m in messages if (m.line or 0) > until]
        self.lines = min((line - 1 for line in unread if line), default=None)
        self.messages = tuple(
            m
            for m in messages
            if not m.agent and (self.lines is None or (m.line or 0) <= self.lines)
        )
        self.labels, self.moves = relocated(labels, self.texts, self.user_places)
        self.problems = label_problems(self.labels, self.texts)

    @cached_property
    def texts(self) -> dict[int, str]:
        """Visible text by place."""
        found: dict[int, str] = {}
        for message in self.messages:
            if message.text.strip():
                place = place_of(message)
                before = found.get(place)
                found[place] = message.text if before is None else f"{before}\n\n{message.text}"
        return found

    @cached_property
    def agent_places(self) -> dict[int, str]:
        """Text of the agent by place."""
        return self._texts_of("assistant")

    @cached_property
    def user_places(self) -> dict[int, str]:
        """Text in the role of the user by place, typed or injected."""
        return self._texts_of("user")

    def _texts_of(self, role: str) -> dict[int, str]:
        places = {place_of(m) for m in self.messages if m.role == role and m.text.strip()}
        return {place: text for place, text in self.texts.items() if place in places}

    def beside(self, place: int, quote: str) -> str:
        """The words beside a quote that speak of the same item: a person's message is about one
        thing, an agent's holds many."""
        text = self.texts.get(place, "")
        return text if place in self.user_places else beside(text, quote)

    @cached_property
    def turns(self) -> list[tuple[int, int]]:
        """Place and message index of the first message of each agent turn."""
        seen: set[str] = set()
        found: list[tuple[int, int]] = []
        for message in self.messages:
            if message.role != "assistant":
                continue
            if message.response:
                if message.response in seen:
                    continue
                seen.add(message.response)
            found.append((place_of(message), message.index))
        return found

    def stage_at(self, place: int) -> str:
        """The labelled stage at a place; "" before the first label."""
        stages = sorted(self.labels.stages, key=lambda s: s.line)
        number = bisect_right([s.line for s in stages], place)
        return stages[number - 1].stage if number else ""

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """The last place before each random cut; the generator is seeded.

        A cut lies at or after the agent's first turn and the first labelled stage.
        """
        if not self.turns or not self.labels.stages:
            return ()
        first = max(self.turns[0][0], min(s.line for s in self.labels.stages))
        places = sorted({place_of(m) for m in self.messages if place_of(m) >= first})
        rng = random.Random(self.labels.file)  # noqa: S311 - must be repeatable
        return tuple(sorted(rng.sample(places, min(CUTS, len(places)))))
