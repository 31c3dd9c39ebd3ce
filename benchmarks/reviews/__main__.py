"""What resuming is worth, with a real client and a scripted model.

    python -m benchmarks.reviews CLIENTS [--client claude|codex] [--reviews 6] [--rounds 5]
                                         [--json FILE]

CLIENTS is a folder with node_modules. Half of the reviews are resumed and half are sent in
full, in turns, with the same words; then the client loses its conversations, and every resumed
review is continued once more. Bytes and tokens are those of the prompts that we send: the
client sends the conversation to the model itself. The model answers at once, so times are the
client's own. The first question has about 6 kB, as a small change under review has, an answer
1.5 kB, a follow-up 300 bytes: `--change`, `--answer` and `--follow-up` set others.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.recording.scripted_model import ScriptedModel, Turn
from benchmarks.reviews.homes import environment, expire
from leftoff.handover.review import ReviewRound, attempts, sizes
from leftoff.integrations.claude_cli import ClaudeReviewer
from leftoff.integrations.codex_cli import CodexClient
from leftoff.live.reviews import Reviewer, ReviewRequest
from leftoff.settings import Settings
from leftoff.stores.files import FileStore

CHANGE = (
    "+    total = sum(row.amount for row in rows if row.booked)  # line {n} of the change\n"
)
ANSWER = "Finding {n}: the total leaves out bookings that are booked later, see line {n}. "
FOLLOW = "I have mended finding {n} as you proposed, please look at it again. "


def filled(line: str, size: int) -> str:
    """Numbered lines up to a size in bytes."""
    text, number = "", 0
    while len(text) < size:
        number += 1
        text += line.format(n=number)
    return text[:size]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    turns = [
        Turn(text=(filled(ANSWER, options.answer),))
        for _ in range(2 * options.reviews * (options.rounds + 2))
    ]
    with tempfile.TemporaryDirectory() as scratch, ScriptedModel(turns) as model:
        root = Path(scratch).resolve()
        home, project = root / "home", root / "home" / "ledger"
        project.mkdir(parents=True)
        environ = environment(options.client, home, model.url)
        store = FileStore(root / "kept")
        program = options.clients.resolve() / "node_modules" / ".bin" / options.client

        def reviewer(*, resume: bool) -> Reviewer:
            given: dict[str, Any] = {
                "program": program,
                "settings": Settings(enable_resume=resume),
                "folder": project,
                "environ": environ,
            }
            if options.client == "codex":
                client = CodexClient(options=("--skip-git-repo-check",))
                return Reviewer(client, store, **given)
            return ClaudeReviewer(store, **given)

        arms = {True: reviewer(resume=True), False: reviewer(resume=False)}
        question = "Review this change.\n" + filled(CHANGE, options.change)
        follow_up = filled(FOLLOW, options.follow_up)
        rounds: dict[bool, list[ReviewRound]] = {True: [], False: []}
        resumed_reviews: list[str] = []
        for _ in range(options.reviews):
            ids = {arm: r.review(ReviewRequest(question)).review_id for arm, r in arms.items()}
            for _ in range(options.rounds - 1):
                for arm, asked in arms.items():
                    again = ReviewRequest(follow_up, previous_review_id=ids[arm])
                    rounds[arm].append(asked.review(again).round)
            resumed_reviews.append(ids[True])
        expire(options.client, home)
        lost = [
            arms[True].review(ReviewRequest(follow_up, previous_review_id=review_id)).round
            for review_id in resumed_reviews
        ]
        return figures_of(options, rounds, lost)


def figures_of(
    options: argparse.Namespace, rounds: dict[bool, list[ReviewRound]], lost: list[ReviewRound]
) -> dict[str, Any]:
    live, gone = attempts(rounds[True]), attempts(lost)
    sent = sizes(rounds[True])
    seconds = {arm: [r.seconds for r in listed] for arm, listed in rounds.items()}
    ratios = [a / b for a, b in zip(seconds[True], seconds[False], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    spent = [r.seconds + r.lost_seconds for r in lost]
    return {
        "client": options.client,
        "version": version(options),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "reviews": options.reviews,
        "rounds": options.rounds,
        "bytes": {
            "change": options.change,
            "answer": options.answer,
            "next": options.follow_up,
        },
        "live_tried": live["tried"],
        "live_resumed": live["resumed"],
        "live_share": live["rate"],
        "lost_tried": gone["tried"],
        "lost_answered_in_full": sum(r.resume == "unknown" and not r.error for r in lost),
        "sent_bytes": sent["sent_bytes"],
        "full_bytes": sent["full_bytes"],
        "byte_reduction": sent["byte_reduction"],
        "token_reduction": sent["token_reduction"],
        "seconds_resumed": round(statistics.median(seconds[True]), 3),
        "seconds_full": round(statistics.median(seconds[False]), 3),
        "time_ratio": round(middle, 3),
        "time_ratio_quartiles": [round(low, 3), round(high, 3)],
        "seconds_fallback": round(statistics.median(spent), 3),
    }


def version(options: argparse.Namespace) -> str:
    program = options.clients.resolve() / "node_modules" / ".bin" / options.client
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return next(word for word in said.stdout.split() if word[0].isdigit())


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("clients", type=Path)
    parser.add_argument("--client", choices=("claude", "codex"), default="claude")
    parser.add_argument("--reviews", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--change", type=int, default=6_000)
    parser.add_argument("--answer", type=int, default=1_500)
    parser.add_argument("--follow-up", type=int, default=300)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = measure(options)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name:22} {value}")


if __name__ == "__main__":
    main()
