"""The resume log: what it says of a session, the seed's own forms, and its page."""

from leftoff.budget.tasks import ContextMetrics
from leftoff.handover.resume_log.document import OwnSection, ResumeLog
from leftoff.tokens import max_tokens

METRICS = ContextMetrics.of(200_000, 170_000, timestamp="2025-11-01T11:50:00")


# -- the design's own document -----------------------------------------------------------------


def test_an_oversized_mission_is_cut_and_says_so() -> None:
    long = ResumeLog(session_id="s", context_metrics=METRICS, mission_summary="x" * 100_000)
    text = long.to_markdown()
    assert max_tokens(text) <= ResumeLog.MAX_TOTAL_TOKENS == 10_000
    assert "[... truncated to fit budget ...]" in text
    assert sum(ResumeLog.TOKEN_BUDGET.values()) == 10_000


def test_the_budget_is_used_where_there_is_more_to_say() -> None:
    many = tuple(f"Finding {n} about the parser and its table of names." for n in range(3000))
    log = ResumeLog(session_id="s", context_metrics=METRICS, key_findings=many)
    for budget in (1000, 10_000, 50_000):
        assert 0.95 * budget <= max_tokens(log.to_markdown(budget)) <= budget


# -- recorded sessions -------------------------------------------------------------------------


def test_sections_of_ones_own_take_their_share() -> None:
    own = OwnSection("Code Changes", 1500, "```diff\n" + "+ line\n" * 5000 + "```")
    findings = tuple(f"Finding {n} about the parser." for n in range(3000))
    log = ResumeLog(
        session_id="s", context_metrics=METRICS, key_findings=findings, sections=(own,)
    )
    text = log.to_markdown()
    part = text.partition("## Code Changes")[2].partition("\n## ")[0]
    assert max_tokens(text) <= 10_000
    assert 0 < max_tokens(part) <= 1500
    assert part.count("```") == 2
    assert ResumeLog.from_dict(log.to_dict()) == log
