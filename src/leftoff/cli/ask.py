"""`leftoff ask`."""

from __future__ import annotations

import sys

import click

from leftoff import codec, settings
from leftoff.cli.group import complain
from leftoff.cli.output import deliver
from leftoff.cli.params import options
from leftoff.cli.poll import ended_in_order
from leftoff.errors import UsageError
from leftoff.handover.review_metrics import ReviewMetrics
from leftoff.handover.wording import duration, inline, number, plural
from leftoff.integrations.claude_cli import ClaudeClient
from leftoff.integrations.codex_cli import CodexClient
from leftoff.live.reviews.reviewer import Reviewer, ReviewRequest
from leftoff.redaction.redactor import Redactor
from leftoff.settings import Settings
from leftoff.stores.files import store_for

CLIENTS = ("claude", "codex")

# What became of resuming, in words; other failures are one.
WHY = {
    "": "",
    "off": "asked with the full prompt, resuming is switched off",
    "elsewhere": "asked with the full prompt, the conversation belongs to another folder",
    "resumed": "the conversation was resumed",
    "unknown": "asked with the full prompt, the client no longer has the conversation",
    "wrong_model": "asked with the full prompt, the conversation is not this model's",
    "full": "asked with the full prompt, the conversation filled its window",
}

FAILED = "asked with the full prompt, resuming failed"


@click.command(params=options("ask"))
def ask(
    review: str | None,
    client: str | None,
    model: str | None,
    allowed_tools: str,
    time_limit: float,
    options: tuple[str, ...],
    *,
    no_resume: bool,
    stats: bool,
    as_json: bool,
) -> None:
    """Send standard input to an agent's client (Claude Code, Codex) and print its answer.

    Example: git diff | leftoff ask --client claude

    The answer goes to stdout, the review's id to stderr. With --continue the client resumes
    its own conversation and gets only what is new; if it no longer has the conversation,
    everything said before is sent again. Without --client and --model, those of the last round
    are used.
    """
    chosen = settings.load_here().settings
    reviewer = _reviewer(client or CLIENTS[0], chosen, options, time_limit)
    if stats:
        figures = reviewer.metrics()
        plain = codec.dumps(figures.to_dict(), indent=2).decode() if as_json else ""
        deliver(Redactor().text(plain or metrics_text(figures)))
        return
    if review is not None:
        review = reviewer.latest() if review == "latest" else review
        rounds = reviewer.load(review).rounds
        if rounds and client is None and rounds[-1].client in CLIENTS[1:]:
            client = rounds[-1].client
            reviewer = _reviewer(client, chosen, options, time_limit)
        if rounds and model is None and rounds[-1].client == (client or CLIENTS[0]):
            model = rounds[-1].model
    request = ReviewRequest(
        _prompt(),
        previous_review_id=review or "",
        model=model or "",
        allowed_tools=allowed_tools,
        resume=not no_resume,
    )
    # The client is in a process group of its own: a signal to us alone would leave it.
    with ended_in_order():
        result = reviewer.review(request)
    gate = Redactor()
    made = result.round
    if result.unsaved:
        complain(f"the answer could not be saved: {gate.text(result.unsaved)}")
    if as_json:
        value: codec.JsonObject = {
            "review_id": result.review_id,
            "resumed": result.resumed,
            "text": result.text,
            **{name: getattr(made, name) for name in ("client", "model", "resume", "failure")},
            "seconds": made.seconds,
            "unsaved": result.unsaved,
            "usage": codec.to_builtins(made.usage),
        }
        deliver(codec.dumps(gate.value(value), indent=2))
        return
    deliver(gate.shown(result.text).rstrip("\n") + "\n")
    why = WHY.get(made.resume, FAILED)
    if result.review_id:
        print(f"review {result.review_id}" + (f" ({why})" if why else ""), file=sys.stderr)


def _prompt() -> str:
    if sys.stdin.isatty():
        raise UsageError("the prompt is read from standard input: leftoff ask < prompt.txt")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _reviewer(
    client: str, chosen: Settings, options: tuple[str, ...], time_limit: float
) -> Reviewer:
    called = CodexClient if client == "codex" else ClaudeClient
    store = store_for(chosen)
    return Reviewer(called(options=options), store, settings=chosen, limit=time_limit)


def metrics_text(figures: ReviewMetrics) -> str:
    """The figures in words, one line each."""
    resume, day, times = figures.resume, figures.resume_within_day, figures.response_time
    mean = (
        "" if figures.rounds_per_review is None else f", {figures.rounds_per_review:.1f} each"
    )
    lines = [
        ("Reviews", number(figures.reviews)),
        ("Rounds", number(figures.rounds) + mean),
        ("With resume", plural(figures.reviews_with_resume, "review")),
        ("Resumed", f"{resume.resumed} of {resume.tried} tried{_percent(resume.rate)}"),
        ("  in 24 hours", f"{day.resumed} of {day.tried} tried{_percent(day.rate)}"),
        ("Prompt tokens", _reduced(figures, "tokens") + ", estimated"),
        ("Prompt bytes", _reduced(figures, "bytes")),
        (
            "Follow-up takes",
            f"{_seconds(times.resumed)} resumed, {_seconds(times.full)} in full",
        ),
        ("Fallbacks", number(figures.fallbacks)),
        ("No answer", plural(figures.failed, "round")),
    ]
    for kind, failures in figures.failures.items():
        lines.append((f"  {kind}", f"{failures.count}, last: {inline(failures.words)}"))
    expiry = figures.expiry
    if expiry.youngest is not None and expiry.oldest is not None:
        ages = f"{duration(round(expiry.youngest))} to {duration(round(expiry.oldest))}"
        lines.append(("Expired", f"{expiry.expired}, unused for {ages}"))
    if expiry.oldest_alive is not None:
        alive = duration(round(expiry.oldest_alive))
        lines.append(("Found alive", f"the oldest unused for {alive}"))
    for name, model in figures.by_model.items():
        tries = f"resumed {model.resume.resumed} of {model.resume.tried}"
        what = f"{plural(model.rounds, 'round')}, {tries}, {_seconds(model.median_seconds)}"
        lines.append((inline(name), what))
    if figures.unreadable:
        lines.append(("Unreadable", plural(figures.unreadable, "review")))
    width = max(len(name) for name, _ in lines)
    return "".join(f"{name:<{width}}  {text}\n" for name, text in lines)


def _reduced(figures: ReviewMetrics, unit: str) -> str:
    resumed, later = figures.resumed_prompts, figures.follow_up_prompts
    sent, full = getattr(resumed, f"sent_{unit}"), getattr(resumed, f"full_{unit}")
    shares = [getattr(p, f"{unit[:-1]}_reduction") for p in (resumed, later)]
    if shares[0] is None:
        return "nothing was resumed"
    overall = "" if shares[1] is None else f", {shares[1]:.0%} over all follow-ups"
    return f"{sent:,} sent for {full:,} where resumed: {shares[0]:.0%} less{overall}"


def _percent(share: float | None) -> str:
    return "" if share is None else f", {share:.0%}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} s"
