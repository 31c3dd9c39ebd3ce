"""The documents that an agent leaves to the next one: resume log, checkpoint, resume state."""
