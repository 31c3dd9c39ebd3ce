#!/usr/bin/env bash
# Power cuts under writers, and disks that are full: small parts of tests/fuzz. Needs root,
# loop devices and tmpfs.
set -euo pipefail

python=$(bash .ci/environment dev) || {
    echo "the environment dev could not be installed"
    exit 77
}
"$python" -m tests.fuzz saves power --trials 20
"$python" -m tests.fuzz disturbed limits --only "log create, o"
"$python" -m tests.fuzz disturbed disks --only "log create, o" --steps 4
