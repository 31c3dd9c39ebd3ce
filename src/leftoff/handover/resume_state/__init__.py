"""The resume state of a workflow and its message."""
