#!/usr/bin/env bash
# The judge of checks agrees with what the newest test runners, linters and type checkers print.
#
#   LEFTOFF_CHECK_TOOLS  a folder with node_modules in which the JavaScript tools are installed
set -euo pipefail

python=$(bash .ci/environment dev) || {
    echo "the environment dev could not be installed"
    exit 77
}
checks=$(bash .ci/environment checks) || {
    echo "the environment checks could not be installed"
    exit 77
}
wanted=(pytest unittest mypy ruff)
node=()
tools=${LEFTOFF_CHECK_TOOLS:-$SCRATCH/node}
if [ -e "$tools/node_modules/.bin/vitest" ] || {
    command -v npm >/dev/null && timeout 180 npm install --prefix "$tools" --no-audit --no-fund \
        --loglevel=error vitest typescript eslint
}; then
    wanted+=(vitest node:test tsc eslint)
    node=(--node "$tools")
fi
PATH="$(dirname "$checks"):$PATH" "$python" -m benchmarks.accuracy.checks \
    --out "$SCRATCH/outputs" "${node[@]}" "${wanted[@]}"
LEFTOFF_CHECKS_OUTPUTS="$SCRATCH/outputs" "$python" -m pytest -q -p no:cacheprovider \
    tests/rules/test_checks_against_real_tools.py
