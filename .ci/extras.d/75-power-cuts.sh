#!/usr/bin/env bash
# Power cuts under writers, and disks that are full: small parts of tests/reliability. Needs root,
# loop devices and tmpfs.
set -euo pipefail

python=$(bash .ci/environment dev) || {
    echo "the environment dev could not be installed"
    exit 77
}
"$python" -m tests.reliability.cut_power --cuts 20
"$python" -m tests.reliability.full_disks --only "log create, o" --steps 4
