"""Conformance: what the readers get out of real recordings, and whether that has changed.

    python -m benchmarks.conformance CORPUS [--write docs/formats/README.md]
    python -m benchmarks.conformance net PATHS... [--against TABLE] [--write]
    python -m benchmarks.conformance speakers PATHS... [--list] [--write]

The first prints the table of docs/formats/README.md (`formats_table`). The second hashes every
output of every recording and compares the hashes with those of a committed table (`net`). The
third compares turns, speakers and owners with an account that shares nothing with the readers
(`speakers`).
"""

from __future__ import annotations

import sys

from benchmarks.conformance import formats_table, net, speakers

if __name__ == "__main__":
    given = sys.argv[1:]
    commands = {"net": net.main, "speakers": speakers.main}
    command = commands.get(given[0]) if given else None
    sys.exit(command(given[1:]) if command else formats_table.main(given))
