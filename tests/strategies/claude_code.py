"""Sessions as Claude Code records them, made line by line."""

import json
from pathlib import Path
from typing import Any

from leftoff import ContextSummary, Pass


class Recording:
    """Lines, each the answer to the one before it.

    Args:
        key: the ids of lines, and `clock` their times; `{n}` is the number of the line.
        about: what every line has, and what may be changed on the way.
    """

    def __init__(
        self, *, key: str = "u{n}", clock: str = "2026-01-02T10:00:00Z", **about: Any
    ) -> None:
        self.key = key
        self.about: dict[str, Any] = {
            "sessionId": "s",
            "cwd": "/p",
            "timestamp": clock,
            **about,
        }
        self.lines: list[dict[str, Any]] = []

    def add(self, role: str, content: Any, **more: Any) -> str:
        """A message of a role; its id."""
        n = len(self.lines)
        before = self.key.format(n=n - 1) if n else None
        message = {"role": role, "content": content, "id": f"m{n}"}
        key = {"uuid": self.key.format(n=n), "parentUuid": before, "type": role}
        time = {"timestamp": self.about["timestamp"].format(n=n % 60)}
        self.lines.append(self.about | time | key | {"message": message} | more)
        return str(self.lines[-1]["uuid"])

    def say(self, text: str, **more: Any) -> str:
        """What the person types."""
        return self.add("user", text, **more)

    def answer(self, text: str) -> str:
        """What the agent says."""
        return self.add("assistant", [{"type": "text", "text": text}])

    def call(
        self, name: str, given: Any, output: Any, *, failed: bool = False, **more: Any
    ) -> None:
        """A call of the agent and its result, none for None; `more` is of the result's line."""
        key = f"t{len(self.lines)}"
        self.add("assistant", [{"type": "tool_use", "id": key, "name": name, "input": given}])
        if output is not None:
            back = {"type": "tool_result", "tool_use_id": key, "content": output}
            self.add("user", [back | {"is_error": failed}], **more)

    def run(self, command: str, output: str = "", *, failed: bool = False) -> None:
        """A command of the shell."""
        self.call("Bash", {"command": command}, output, failed=failed)

    def edit(self, path: str, old: str = "a", new: str = "b") -> None:
        given = {"file_path": path, "old_string": old, "new_string": new}
        self.call("Edit", given, "The file has been updated.")

    @property
    def data(self) -> bytes:
        return b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)

    def save(self, path: Path) -> Path:
        path.write_bytes(self.data)
        return path

    def summary(self) -> ContextSummary:
        reading = Pass("<test>")
        reading.feed(self.data)
        return reading.summary()
