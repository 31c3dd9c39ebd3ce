"""Hooks of Claude Code and Codex: the answer, the job queue and its worker, installation."""
