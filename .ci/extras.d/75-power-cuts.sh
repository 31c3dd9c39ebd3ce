#!/usr/bin/env bash
# Power cuts under writers, and disks that are full: small parts of tests/reliability. Needs root,
# loop devices and tmpfs.
set -euo pipefail

"$PYTHON" -m venv "$SCRATCH/environment"
python=$SCRATCH/environment/bin/python
"$python" -m pip install --quiet --editable .
"$python" -m tests.reliability.cut_power --cuts 20
"$python" -m tests.reliability.full_disks --only "log create, o" --steps 4
