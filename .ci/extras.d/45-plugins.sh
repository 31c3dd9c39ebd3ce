#!/usr/bin/env bash
# A package of its own brings formats: it is built and installed beside leftoff, its formats are
# found by content and by name, and keep leftoff's promises.
set -euo pipefail

python=$(bash .ci/environment dev) || {
    echo "the environment dev could not be installed"
    exit 77
}
plugin=examples/plugins/leftoff-datasets
# In a folder of its own: other scripts count what is installed in the environment that they share.
if ! "$python" -m pip install --quiet --no-deps --target "$SCRATCH/plugins" "./$plugin"; then
    echo "pip could not build $plugin"
    exit 77
fi
export PYTHONPATH="$SCRATCH/plugins"
"$python" -m pytest -q -p no:cacheprovider "$plugin/tests" tests/unit/test_format_cases.py
"$python" -m leftoff plugins | grep -q leftoff-datasets
"$python" -m leftoff summarize "$plugin/tests/examples/tau_bench.json" >"$SCRATCH/summary"
