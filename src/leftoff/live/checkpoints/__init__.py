"""A task whose window runs out: checkpoint, dump, decision, handoff."""

from __future__ import annotations

from leftoff.live.checkpoints.orchestrator import CheckpointOrchestrator, Outcome

__all__ = ["CheckpointOrchestrator", "Outcome"]
