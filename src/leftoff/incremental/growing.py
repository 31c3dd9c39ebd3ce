"""The recording of a session that grows, read in memory: a read feeds only what was added."""

import hashlib
import os
from collections.abc import Callable
from typing import TypeVar

from leftoff import api
from leftoff.analysis.session_pass import Pass
from leftoff.errors import FormatError, SourceError
from leftoff.incremental.cursor import Cursor, NotResumable, Tail, retried
from leftoff.session_reading import SessionReading, session_with
from leftoff.sources.multi_file import is_multi_file, join_files
from leftoff.sources.open import STDIN, open_regular, session_paths
from leftoff.stores.atomic import file_stamp

T = TypeVar("T")


class NoMessageYet(FormatError):
    """The recording is too short to hold a message in a known format."""


class GrowingSession:
    """The session at a path (a file or a session's directory), with its subagents' files.

    A recording that was rewritten or replaced is read from its beginning. One that is a
    document, compressed, not in UTF-8, or made of several files is read whole whenever it
    changes.

    Attributes:
        size, read: bytes of the main recording, and how many of them were read so far.

    Raises:
        SourceError: standard input cannot be followed."""

    def __init__(self, path: str, format: str | None = None) -> None:
        if path == STDIN:
            raise SourceError("standard input cannot be followed; name a file")
        self.path, self._format = path, format
        self.size = self.read = 0
        self._pass: Pass | None = None
        self._cursor: Cursor | None = None
        self._seen: list[object] = []

    def read_on(self, use: Callable[[SessionReading], T]) -> T | None:
        """Reads what was added and returns what `use` makes of the session; None if nothing was
        written since `use` last returned.

        Raises:
            SourceError: the recording cannot be read.
            FormatError: it is no recording in a known format; `NoMessageYet`: it may become
                one."""
        main, beside = session_paths(self.path)
        # Taken before it is read: what is written meanwhile gives another stamp.
        seen: list[object] = [
            file_stamp(path) for path in (main, *(side for _, side in beside))
        ]
        several = is_multi_file(self.path)
        seen.append(hashlib.blake2b(join_files(self.path)).digest() if several else b"")
        if seen == self._seen:
            return None
        made = use(session_with(self.path, self._read_whole if several else self._read_new))
        # Only now: where `use` raised, the same bytes are new at the next call.
        self._seen = seen
        return made

    def _read_whole(self, main: str) -> Pass:
        return api.open_pass(main, format=self._format)

    def _read_new(self, main: str) -> Pass:
        try:
            reading, cursor = retried(lambda: self._feed(main))
        except NotResumable:
            return self._read_whole(main)
        # The copy is closed; the pass itself goes on with the next line.
        closed = reading.fork()
        try:
            closed.close()
        except FormatError as error:
            # These bytes are read: the next call goes on behind them.
            self._pass, self._cursor = reading, cursor
            raise NoMessageYet(str(error)) from error
        if closed.format is None or closed.format.shape != "document":
            self._pass, self._cursor = reading, cursor
        return closed

    def _feed(self, main: str) -> tuple[Pass, Cursor]:
        reading, self._pass = self._pass, None  # if it fails, all is read again
        with open_regular(main, any_encoding=True) as file:
            tail = Tail(file, main, self._cursor if reading else None)
            if tail.is_new or reading is None:
                reading = Pass(main, self._format)
            self.size = os.fstat(file.fileno()).st_size
            for data in tail:
                reading.feed(data)
                self.read = tail.offset
            return reading, tail.cursor()
