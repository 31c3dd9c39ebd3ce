"""`leftoff ask`."""

import sys

import click

from leftoff import codec, settings
from leftoff.cli.group import complain
from leftoff.cli.output import deliver
from leftoff.cli.params import options
from leftoff.cli.poll import ended_in_order
from leftoff.errors import UsageError
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
    are used."""
    chosen = settings.load_here().settings
    reviewer = _reviewer(client or CLIENTS[0], chosen, options, time_limit)
    # Figures come from stored reviews: no client is started for them.
    if stats:
        deliver(codec.dumps(Redactor().value(reviewer.metrics()), indent=2))
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
