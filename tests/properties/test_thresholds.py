"""No threshold is lost and none fires twice, whatever is counted and whenever it restarts."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff import codec
from leftoff.budget.thresholds import (
    RESTART,
    FiredThresholds,
    Preset,
    Threshold,
    crossings,
    preset,
)
from leftoff.live.session import SessionManager
from leftoff.live.telemetry import CONTEXT_THRESHOLD, Event
from leftoff.settings import from_mapping

counts = st.one_of(
    st.integers(-5, 260_000),
    st.sampled_from([0, 139_999, 140_000, 170_000, 189_999, 190_000, 196_000, 200_000]),
    st.sampled_from([math.nan, math.inf, -math.inf]),
    st.none(),
)
steps = st.lists(st.tuples(counts, st.booleans().filter(bool) | st.just(False)), max_size=40)
shares = st.lists(
    st.floats(0.01, 1.0).map(lambda x: round(x, 2)), min_size=1, max_size=6, unique=True
)
TOTAL = 200_000


def expected(
    given_steps: list[tuple[float | None, bool]], at: list[float]
) -> list[list[float]]:
    """What each step has to fire, told in the plainest way: by looking back at all counts
    since the thresholds were armed."""
    fired: list[list[float]] = []
    since: list[float] = []
    for used, compacted in given_steps:
        if compacted:
            since = []
        if used is None or not math.isfinite(used) or used < 0:
            fired.append([])
            continue
        top = max(since, default=0)
        low = bool(since) and since[-1] < max(since) * RESTART
        if used < top * RESTART and low:
            since, top = [], 0
        before = max(since, default=-1)
        since.append(used)
        fired.append(
            sorted(a for a in at if before < a * TOTAL - 1e-6 <= used or _on(a, before, used))
        )
    return fired


def _on(share: float, before: float, used: float) -> bool:
    edge = share * TOTAL
    return before < edge - 2e-4 and used >= edge - 2e-4


@given(steps, shares)
def test_each_fires_once_in_order_through_save_and_restart_at_every_step(
    given_steps: list[tuple[float | None, bool]], at: list[float]
) -> None:
    own = Preset("own", tuple(Threshold(str(a), a) for a in sorted(at)))
    armed = FiredThresholds()
    fired: list[list[float]] = []
    for used, compacted in given_steps:
        armed = codec.unpack_state(codec.pack_state(armed), FiredThresholds)  # a restart
        found, armed = crossings(own, armed, used, TOTAL, compacted=compacted)
        fired.append([c.threshold.at for c in found])
    assert fired == expected(given_steps, at)


@given(st.lists(st.integers(0, 250_000), max_size=25))
def test_nothing_is_lost_between_two_compactions(used: list[int]) -> None:
    armed, seen = FiredThresholds(), []
    for count in sorted(used):
        found, armed = crossings(preset("handoff"), armed, count, TOTAL)
        seen += [c.threshold.at for c in found]
    top = max(used, default=0)
    assert seen == [t.at for t in preset("handoff").thresholds if t.at * TOTAL <= top]


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.integers(0, 210_000), st.sampled_from(["call", "compaction"])), max_size=8
    )
)
def test_a_manager_restarted_at_every_step_says_what_one_that_runs_on_says(
    given_steps: list[tuple[int, str]],
) -> None:
    def run(manager: SessionManager, step: tuple[int, str], number: int) -> list[float]:
        told: list[Event] = []
        leave = manager.subscribe(told.append)
        tokens, kind = step
        if kind == "compaction":
            manager.note_compaction()
        manager.update_token_usage(tokens, 0, message_id=f"m{number}")
        leave()
        return [e.fields["threshold"] for e in told if e.name == CONTEXT_THRESHOLD]

    with TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        quiet = from_mapping({"context_management": {"resume_logs": {"enabled": False}}})
        one = SessionManager(session_id="s", settings=quiet.settings)
        for number, step in enumerate(given_steps):
            again = SessionManager(
                path, session_id="s" if number == 0 else None, settings=quiet.settings
            )
            assert run(again, step, number) == run(one, step, number)
            assert again.get_context_metrics()["used_tokens"] == step[0] or step[0] == 0
