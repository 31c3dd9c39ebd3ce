"""Makes, saves and triggers resume logs of running sessions."""

from leftoff.live.resume_logs.generator import ResumeLogGenerator

__all__ = ["ResumeLogGenerator"]
