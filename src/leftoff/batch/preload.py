"""Loaded once by the server that worker processes are forked from: what every worker needs,
with its automata built."""

from __future__ import annotations

import gc

import pebble

from leftoff import api
from leftoff.analysis.summary_json import to_plain
from leftoff.batch import work
from leftoff.formats.reader import formats
from leftoff.rendering import budget

for _name in formats.names():
    formats.get(_name)

# One small session through everything: patterns compile when they are first needed.
to_plain(
    api.create_context_summary(
        [
            {"role": "user", "content": "Let us use the faster parser, and run the tests."},
            {"role": "assistant", "content": "I decided to use it. All 12 tests pass now."},
        ]
    )
)

# What is loaded stays: collections in the forked processes need not look at it, nor copy it.
gc.collect()
gc.freeze()

__all__ = ["budget", "pebble", "work"]
