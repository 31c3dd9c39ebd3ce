"""Preloaded by the server that worker processes are forked from: imports what every worker
needs and builds its automata."""

import gc
import signal

from leftoff import api
from leftoff.analysis.summary_json import to_plain
from leftoff.batch import pool
from leftoff.formats.reader import formats
from leftoff.incremental import accounts
from leftoff.rendering import budget

# Ctrl-C is for the program that started the batch; processes forked from here inherit this.
signal.signal(signal.SIGINT, signal.SIG_IGN)

for _name in formats.names():
    formats.get(_name)

# Summarize one small session: patterns compile when they are first used.
to_plain(
    api.create_context_summary(
        [
            {"role": "user", "content": "Let us use the faster parser, and run the tests."},
            {"role": "assistant", "content": "I decided to use it. All 12 tests pass now."},
        ]
    )
)

# Exclude all loaded objects from garbage collection: in the forked processes it would touch
# them, and so copy their memory pages.
gc.collect()
gc.freeze()

__all__ = ["accounts", "budget", "pool"]
