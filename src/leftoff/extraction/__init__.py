"""Finding: the pass over a recording and the extractors that it shows each message to."""
