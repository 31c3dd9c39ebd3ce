"""Many recordings at once, as tables; restartable."""

from leftoff.batch.summarize_many import (
    Summarized,
    summarize_all,
    summarize_all_async,
    to_dataframe,
)

__all__ = ["Summarized", "summarize_all", "summarize_all_async", "to_dataframe"]
