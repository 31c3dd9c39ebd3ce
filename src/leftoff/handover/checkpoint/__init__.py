"""The context checkpoint of a task, its markdown and its injected block."""
