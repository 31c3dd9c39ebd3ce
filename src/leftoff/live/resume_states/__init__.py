"""Resume states of running workflows: tracked, saved, found again, judged, cleaned up."""

from __future__ import annotations

from leftoff.live.resume_states.states import Available, Cleaned, FileResumeStateManager, Found

__all__ = ["Available", "Cleaned", "FileResumeStateManager", "Found"]
