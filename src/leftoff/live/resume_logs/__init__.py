"""Makes, saves and triggers resume logs of running sessions."""

from __future__ import annotations

from leftoff.live.resume_logs.generator import ResumeLogGenerator

__all__ = ["ResumeLogGenerator"]
