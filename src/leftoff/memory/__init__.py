"""The memory of projects: an index over all recorded sessions of this machine.

>>> from leftoff import memory
>>> memory.open  # doctest: +ELLIPSIS
<function open at ...>
"""

from leftoff.memory.memory import Memory, open  # noqa: A004 - as programs say it
from leftoff.memory.search import Filters, Hit

__all__ = ["Filters", "Hit", "Memory", "open"]
