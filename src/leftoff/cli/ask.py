"""`leftoff ask`."""

import sys

from leftoff import codec, settings
from leftoff.cli.group import complain
from leftoff.cli.output import deliver
from leftoff.cli.params import command
from leftoff.cli.poll import ended_in_order
from leftoff.errors import UsageError
from leftoff.handover.wording import duration, inline, number, plural
from leftoff.integrations.claude_cli import ClaudeClient
from leftoff.integrations.codex_cli import CodexClient
from leftoff.live.reviews import Reviewer, ReviewRequest
from leftoff.redaction.redactor import Redactor
from leftoff.settings import Settings
from leftoff.stores.files import store_for

# The first is asked where neither an option nor an earlier round names one.
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


@command("ask")
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
    are used."""
    chosen = settings.load_here().settings
    reviewer = _reviewer(client or CLIENTS[0], chosen, options, time_limit)
    # Figures come from stored reviews: no client is started for them.
    if stats:
        figures = reviewer.metrics()
        plain = codec.dumps(figures, indent=2).decode() if as_json else ""
        deliver(Redactor().text(plain or metrics_text(figures)))
        return
    # A conversation belongs to its client and model: another one would have to be sent
    # everything again.
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
    # A person who forgot the redirection would wait for an answer that never comes.
    if sys.stdin.isatty():
        raise UsageError("the prompt is read from standard input: leftoff ask < prompt.txt")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _reviewer(
    client: str, chosen: Settings, options: tuple[str, ...], time_limit: float
) -> Reviewer:
    called = CodexClient if client == "codex" else ClaudeClient
    store = store_for(chosen)
    return Reviewer(called(options=options), store, settings=chosen, limit=time_limit)


def metrics_text(figures: codec.JsonObject) -> str:
    """The figures in words, one line each."""
    mean = figures["rounds_per_review"]
    each = "" if mean is None else f", {mean:.1f} each"
    resumed, full = (_seconds(figures["response_time"][how]) for how in ("resumed", "full"))
    lines = [
        ("Reviews", number(figures["reviews"])),
        ("Rounds", number(figures["rounds"]) + each),
        ("With resume", plural(figures["reviews_with_resume"], "review")),
        ("Resumed", _tried(figures["resume"])),
        ("  in 24 hours", _tried(figures["resume_within_day"])),
        ("Prompt tokens", _reduced(figures, "token") + ", estimated"),
        ("Prompt bytes", _reduced(figures, "byte")),
        ("Follow-up takes", f"{resumed} resumed, {full} in full"),
        ("Fallbacks", number(figures["fallbacks"])),
        ("No answer", plural(figures["failed"], "round")),
    ]
    for kind, failures in figures["failures"].items():
        lines.append((f"  {kind}", f"{failures['count']}, last: {inline(failures['words'])}"))
    expiry = figures["expiry"]
    if expiry["youngest"] is not None:
        ages = [duration(round(expiry[age])) for age in ("youngest", "oldest")]
        lines.append(("Expired", f"{expiry['expired']}, unused for {' to '.join(ages)}"))
    if expiry["oldest_alive"] is not None:
        alive = duration(round(expiry["oldest_alive"]))
        lines.append(("Found alive", f"the oldest unused for {alive}"))
    for name, model in figures["by_model"].items():
        tries = f"resumed {model['resume']['resumed']} of {model['resume']['tried']}"
        rounds = plural(model["rounds"], "round")
        lines.append((inline(name), f"{rounds}, {tries}, {_seconds(model['median_seconds'])}"))
    if figures["unreadable"]:
        lines.append(("Unreadable", plural(figures["unreadable"], "review")))
    width = max(len(name) for name, _ in lines)
    return "".join(f"{name:<{width}}  {text}\n" for name, text in lines)


def _tried(attempts: codec.JsonObject) -> str:
    rate = "" if attempts["rate"] is None else f", {attempts['rate']:.0%}"
    return f"{attempts['resumed']} of {attempts['tried']} tried{rate}"


def _reduced(figures: codec.JsonObject, unit: str) -> str:
    resumed, later = figures["resumed_prompts"], figures["follow_up_prompts"]
    sent, full = resumed[f"sent_{unit}s"], resumed[f"full_{unit}s"]
    less, overall = (sizes[f"{unit}_reduction"] for sizes in (resumed, later))
    if less is None:
        return "nothing was resumed"
    more = "" if overall is None else f", {overall:.0%} over all follow-ups"
    return f"{sent:,} sent for {full:,} where resumed: {less:.0%} less{more}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} s"
