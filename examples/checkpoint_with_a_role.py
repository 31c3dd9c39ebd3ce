"""Checkpoints of a task for a role of one's own, and the block that tells the next agent."""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory

from leftoff.handover.checkpoint.roles import roles
from leftoff.live.checkpoints import CheckpointOrchestrator
from leftoff.live.session import SessionManager
from leftoff.stores import open_store

SESSION = Path(__file__).parents[1] / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"

ROLES = roles("""
[forms]
checkpoint_sections = ["FORMS", "OFFLINE", "TESTS"]
files_to_track = ["src/**/*.js", "**/*.test.js"]
instruction = "Say of each form whether it works without a network."
providers = ["small", "big"]
""")


def agent(instruction: str) -> str:
    """The agent, asked for its dump. A real one answers; this one has no time."""
    asked = "each form" in instruction
    print("asked for a dump", "in the words of its role" if asked else "")
    return ""


def main() -> None:
    """A task reaches 98 % with one provider, and another goes on."""
    # The manager says what it notices as log records; this program only wants the outcome.
    logging.getLogger("leftoff").setLevel(logging.CRITICAL + 1)
    with TemporaryDirectory() as name:
        folder = Path(name)
        manager = SessionManager(folder / "session.json")
        orchestrator = CheckpointOrchestrator(
            manager,
            open_store(folder / "kept"),
            providers={"big": 180_000, "small": 120_000},
            known_roles=ROLES,
        )
        orchestrator.add(
            "outbox",
            goal="Keep inspections in an outbox",
            provider="big",
            role="forms",
            directory=folder,
            recording=SESSION,
            agent=agent,
        )
        manager.update_token_usage(900, 40, cache_read_tokens=177_000, task_id="outbox")
        last = orchestrator.handle("outbox", prompt="Go on with the form.")[-1]
        checkpoint, decision = last.checkpoint, last.decision
        print(checkpoint.capacity_threshold, decision.type, decision.provider)
        prompt = last.prompt("Go on with the form.")
        print(prompt.splitlines()[0].partition("-2")[0], "...", prompt.splitlines()[-1])


if __name__ == "__main__":
    main()
