"""Effects of programs on files, by handler."""
