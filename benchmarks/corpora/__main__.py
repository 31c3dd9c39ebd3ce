"""The command line of `python -m benchmarks.corpora fetch [NAME]... --into DIR`."""

from __future__ import annotations

import sys

from benchmarks.corpora.fetch import corpora

if __name__ == "__main__":
    with corpora.make_context("python -m benchmarks.corpora", sys.argv[1:]) as context:
        sys.exit(corpora.invoke(context))
