#!/usr/bin/env bash
# Recordings that grow and are rotated, and followers and hooks' workers that are killed over them.
set -euo pipefail

"$PYTHON" -m venv "$SCRATCH/environment"
python=$SCRATCH/environment/bin/python
"$python" -m pip install --quiet --editable .
timeout 120 "$python" -m tests.reliability.follow --seconds 30 --each 2000
timeout 60 "$python" -m tests.reliability.hooked --trials 3 --records 1500
timeout 60 "$python" -m tests.reliability.prefixes corpora/sessions --cuts 6
