"""Services for running sessions; unlike the documents, they use the disk and the clock."""
