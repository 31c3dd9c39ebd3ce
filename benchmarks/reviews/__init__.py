"""What resuming a client's conversation is worth, measured with the real clients offline."""
