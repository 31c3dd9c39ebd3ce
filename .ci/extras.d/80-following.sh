#!/usr/bin/env bash
# Recordings that grow and are rotated, and followers and hooks' workers that are killed over them.
set -euo pipefail

python=$(bash .ci/environment dev) || {
    echo "the environment dev could not be installed"
    exit 77
}
"$python" -m tests.fuzz follow --seconds 30 --each 2000
"$python" -m tests.fuzz crowds kills --kills 25
"$python" -m tests.fuzz prefixes corpora/sessions --cuts 6
