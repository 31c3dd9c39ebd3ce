"""What a successor must know: the documents and prompts that hand a session over."""
