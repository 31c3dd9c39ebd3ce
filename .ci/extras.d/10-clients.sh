#!/usr/bin/env bash
# Sessions recorded now, with the real clients, are read without one record of an unknown kind;
# hooks and the tools of the memory in them.
#
#   LEFTOFF_CLIENTS           a folder in which they are installed already
#   LEFTOFF_CLIENTS_NEWEST=1  the newest versions instead of the pinned ones:
#       LEFTOFF_CLIENTS_NEWEST=1 SCRATCH=$(mktemp -d) PYTHON=python3 bash .ci/extras.d/10-clients.sh
set -euo pipefail

claude=2.1.197
codex=0.169.0
if [ -n "${LEFTOFF_CLIENTS_NEWEST:-}" ]; then
    claude=latest
    codex=latest
fi

clients=${LEFTOFF_CLIENTS:-$SCRATCH/clients}
if [ ! -e "$clients/node_modules/.bin/claude" ] || [ ! -e "$clients/node_modules/.bin/codex" ]; then
    if ! command -v npm >/dev/null; then
        echo "the clients are not installed, and there is no npm to install them with"
        exit 77
    fi
    if ! timeout 240 npm install --prefix "$clients" --no-audit --no-fund --loglevel=error \
        "@anthropic-ai/claude-code@$claude" "@openai/codex@$codex"; then
        echo "npm could not install @anthropic-ai/claude-code@$claude and @openai/codex@$codex"
        exit 77
    fi
fi

python=$(bash .ci/environment integrations) || { # with the server of the tools
    echo "the environment integrations could not be installed"
    exit 77
}
LEFTOFF_CLIENTS=$clients "$python" -m pytest -q -p no:cacheprovider tests/clients
