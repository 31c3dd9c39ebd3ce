"""The program in forked processes, as the tests of the command line have it."""

from tests.cli.conftest import Run, loaded, run

__all__ = ["Run", "loaded", "run"]
