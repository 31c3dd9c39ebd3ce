"""Resume logs of running sessions: made, saved, triggered."""

from __future__ import annotations

from leftoff.live.resume_logs.generator import ResumeLogGenerator

__all__ = ["ResumeLogGenerator"]
