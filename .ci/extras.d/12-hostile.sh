#!/usr/bin/env bash
# Hostile sessions, ids and places: nothing escapes, nothing gets out, nothing is obeyed.
set -euo pipefail

if ! command -v strace >/dev/null; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null ||
        ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends strace; } >/dev/null 2>&1; then
        echo "strace is not installed and could not be"
        exit 77
    fi
fi
if ! strace -qq -o /dev/null true 2>/dev/null; then
    echo "strace may not trace processes here"
    exit 77
fi
python=$(bash .ci/environment dev) || {
    echo "the environment dev could not be installed"
    exit 77
}
run() { "$python" -m tests.fuzz "$@"; }
run escapes ids --rounds 150
run escapes race --rounds 300
run escapes sessions --rounds 40
run escapes modes
run injections --cases 160
run terminals --cases 30
run leaks --secrets 14 --plain
