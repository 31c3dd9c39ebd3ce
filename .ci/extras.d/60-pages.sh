#!/usr/bin/env bash
# The pages in a real browser: no request, nothing in the console, every link resolves, nothing
# too wide at 400 and 1400 px, contrast, print, search, and a session of 20 MB.
#
#   LEFTOFF_CHROMIUM      the program, where it is installed already
#   LEFTOFF_SCREENSHOTS   a folder for pictures of every page
set -euo pipefail

if [ -z "${LEFTOFF_CHROMIUM:-}" ]; then
    if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive timeout 240 \
            apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } \
            >/dev/null 2>&1 || true
    fi
    if ! LEFTOFF_CHROMIUM=$(command -v chromium); then
        echo "chromium is not installed and could not be"
        exit 77
    fi
fi

python=$(bash .ci/environment dev) || {
    echo "the environment dev could not be installed"
    exit 77
}
LEFTOFF_CHROMIUM=$LEFTOFF_CHROMIUM "$python" -m pytest -q -p no:cacheprovider tests/pages
