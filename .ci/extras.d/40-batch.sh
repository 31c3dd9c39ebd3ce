#!/usr/bin/env bash
# The tables of a batch in Parquet, DuckDB, pandas and polars, and the notebook; its engine for clusters, with
# Ray on this machine.
set -euo pipefail

python=$(bash .ci/environment tables) || {
    echo "the environment tables could not be installed"
    exit 77
}
"$python" -m pytest -q -p no:cacheprovider tests/contracts/test_batch_tables.py \
    tests/contracts/test_notebook.py tests/unit/test_linear_baseline.py
LEFTOFF_RAY=1 RAY_USAGE_STATS_ENABLED=0 timeout 150 "$python" -m pytest -q -p no:cacheprovider \
    tests/contracts/test_batch_cluster.py
