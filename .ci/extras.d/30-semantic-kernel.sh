#!/usr/bin/env bash
# Calls of Semantic Kernel's functions are captured, and its conversations go in and out, with the
# real package.
set -euo pipefail

"$PYTHON" -m venv "$SCRATCH/environment"
python=$SCRATCH/environment/bin/python
"$python" -m pip install --quiet --editable ".[dev]"
# Its own dependencies need not be those of our lock.
if ! PIP_CONSTRAINT='' timeout 180 "$python" -m pip install --quiet 'semantic-kernel>=1.30'; then
    echo "pip could not install semantic-kernel"
    exit 77
fi
"$python" -c 'import semantic_kernel' # the tests skip where it is not there
"$python" -m pytest -q -p no:cacheprovider tests/integrations/test_semantic_kernel.py
