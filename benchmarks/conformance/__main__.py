"""Conformance: what the readers get out of real recordings, and whether that has changed.

    python -m benchmarks.conformance CORPUS [--write README.md]
    python -m benchmarks.conformance net PATHS... [--against TABLE] [--write]

The first prints the README's table of formats (`formats_table`). The second hashes every output
of every recording and compares the hashes with those of a committed table (`net`).
"""

from __future__ import annotations

import sys

from benchmarks.conformance import formats_table, net

if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(net.main(given[1:]) if given[:1] == ["net"] else formats_table.main(given))
