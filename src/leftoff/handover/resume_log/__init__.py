"""The resume log: seven sections within a token budget."""
