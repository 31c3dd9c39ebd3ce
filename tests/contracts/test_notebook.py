"""The notebook of examples/ runs from its first cell to its last."""

from pathlib import Path
from typing import Any

import pytest

import leftoff


def test_the_notebook_runs(root: Path) -> None:
    needs = "needs nbclient, ipykernel, pandas and duckdb"
    nbclient: Any = pytest.importorskip("nbclient", reason=needs)
    nbformat: Any = pytest.importorskip("nbformat", reason=needs)
    for name in ("ipykernel", "pandas", "duckdb"):
        pytest.importorskip(name, reason=needs)
    path = root / "examples" / "many_sessions.ipynb"
    notebook = nbformat.read(path, 4)
    assert not any(cell.get("outputs") for cell in notebook.cells), (
        "it is committed without outputs"
    )
    folder = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(notebook, timeout=120, resources=folder).execute()
    results = [c.outputs[-1]["data"] for c in notebook.cells if c.cell_type == "code"]
    found = list(leftoff.summarize_all(root / "corpora" / "sessions"))
    assert results[0]["text/plain"] == str((len(found), sum(one.ok for one in found)))
    tables = [data["text/html"].count("<tr") for data in results[1:6] if "text/html" in data]
    assert len(tables) == 4
    assert tables[0] == len(found) + 1
    assert 'class="leftoff-card"' in results[6]["text/html"]
