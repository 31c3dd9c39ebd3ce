"""Key decisions: which sentences are decisions, and why."""
