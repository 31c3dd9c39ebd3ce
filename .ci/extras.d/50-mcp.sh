#!/usr/bin/env bash
# The tools of `leftoff mcp` are listed and called by the official client library, over stdio.
set -euo pipefail

"$PYTHON" -m venv "$SCRATCH/environment"
python=$SCRATCH/environment/bin/python
"$python" -m pip install --quiet --editable ".[dev]"
# Its own dependencies need not be those of our lock.
if ! PIP_CONSTRAINT='' timeout 180 "$python" -m pip install --quiet 'mcp>=1.10'; then
    echo "pip could not install mcp"
    exit 77
fi
"$python" -c 'import mcp' # the tests skip where it is not there
"$python" -m pytest -q -p no:cacheprovider tests/integrations/test_mcp.py
