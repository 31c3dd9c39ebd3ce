#!/usr/bin/env bash
# Redis and S3-compatible stores keep the promises of a store, on real servers on this machine;
# and savers are killed at their system calls.
set -euo pipefail

# install COMMAND PACKAGE: from Debian, where that may be done.
install() {
    command -v "$1" >/dev/null && return
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$2"; } >/dev/null 2>&1
}

if ! install redis-server redis-server; then
    echo "redis-server is not installed and could not be"
    exit 77
fi
install strace strace || echo "strace could not be installed: no kills at system calls"

python=$(bash .ci/environment dev) || {
    echo "the environment dev could not be installed"
    exit 77
}
moto=$(bash .ci/environment objects) || {
    echo "the environment objects could not be installed"
    exit 77
}
LEFTOFF_SERVERS=1 LEFTOFF_MOTO=$moto "$python" -m pytest -q -p no:cacheprovider \
    tests/contracts/test_server_stores.py tests/contracts/test_stores.py \
    tests/contracts/test_faults.py
