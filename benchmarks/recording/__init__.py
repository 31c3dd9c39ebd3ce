"""Real agents, driven by a scripted model on loopback, writing transcripts that are ours."""
