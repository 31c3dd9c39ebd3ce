"""Checkpoints, dumps and handoffs of tasks whose context window runs out."""

from leftoff.live.checkpoints.orchestrator import CheckpointOrchestrator, Outcome

__all__ = ["CheckpointOrchestrator", "Outcome"]
