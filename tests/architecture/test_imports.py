"""The import contracts of pyproject.toml hold, and they are the floors of the package."""

import pkgutil
import subprocess
import sys
from pathlib import Path


def test_the_import_contracts_hold(root: Path) -> None:
    # A process of its own: import-linter imports the package and changes sys.path.
    done = subprocess.run(
        [
            sys.executable, "-c",
            "from importlinter.cli import lint_imports_command as run; run()", "--no-cache",
            "--no-logo", "--config", str(root / "pyproject.toml"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_has_a_floor(package: Path, floors: list[str]) -> None:
    children = {module.name for module in pkgutil.iter_modules([str(package)])}
    assert children - set(floors) == set()


def test_no_module_has_two_floors(floors: list[str]) -> None:
    assert sorted(floors) == sorted(set(floors))
