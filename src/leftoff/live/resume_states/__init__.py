"""Tracks, saves, loads, assesses and cleans up resume states of running workflows."""

from leftoff.live.resume_states.states import Available, Cleaned, FileResumeStateManager, Found

__all__ = ["Available", "Cleaned", "FileResumeStateManager", "Found"]
