"""The version, alone in its file so that `--version` costs nothing."""

__version__ = "0.2.0.dev0"
