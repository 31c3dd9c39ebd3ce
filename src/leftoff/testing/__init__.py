"""Contract tests for people who extend leftoff."""

from leftoff.testing.checks import check_any_input as check_any_input
from leftoff.testing.checks import check_extractor as check_extractor
from leftoff.testing.checks import check_format as check_format
from leftoff.testing.checks import check_prefix as check_prefix
from leftoff.testing.checks import check_reader as check_reader
from leftoff.testing.checks import check_redactor as check_redactor
from leftoff.testing.stores import check_store as check_store
