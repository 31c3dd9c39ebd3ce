"""Text: sanitising, truncation, blocks and sentences, hashes of lines."""
