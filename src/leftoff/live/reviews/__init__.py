"""Reviews: prompts to an agent's client that resume the client's own conversation."""

from leftoff.live.reviews.reviewer import Reviewer, ReviewRequest, ReviewResult

__all__ = ["ReviewRequest", "ReviewResult", "Reviewer"]
