#!/usr/bin/env bash
# The tables of a batch in Parquet, DuckDB, pandas and polars; and its engine for clusters, with
# Ray on this machine.
set -euo pipefail

"$PYTHON" -m venv "$SCRATCH/environment"
python=$SCRATCH/environment/bin/python
"$python" -m pip install --quiet --editable ".[dev]"
# These need not be those of our lock.
if ! PIP_CONSTRAINT='' timeout 120 "$python" -m pip install --quiet pyarrow duckdb pandas polars; then
    echo "pip could not install pyarrow, duckdb, pandas and polars"
    exit 77
fi
"$python" -m pytest -q -p no:cacheprovider tests/contracts/test_batch_tables.py
if ! PIP_CONSTRAINT='' timeout 120 "$python" -m pip install --quiet 'ray>=2.40'; then
    echo "pip could not install ray; the tables passed"
    exit 77
fi
LEFTOFF_RAY=1 RAY_USAGE_STATS_ENABLED=0 timeout 150 "$python" -m pytest -q -p no:cacheprovider \
    tests/contracts/test_batch_cluster.py
