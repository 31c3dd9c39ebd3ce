"""Gemini CLI: session documents, and the same as JSON lines."""

from leftoff.formats.gemini_cli import FORMAT


def test_the_name_of_the_format_is_the_registry_s() -> None:
    assert (FORMAT.name, FORMAT.shape) == ("gemini_cli", "document")
