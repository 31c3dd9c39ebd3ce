"""Takes here-documents and here-strings out of a command before it is parsed."""

from __future__ import annotations

__all__ = ["HEREDOC_PATH", "HERESTRING_PATH", "extract_heredocs"]

HEREDOC_PATH = "/dev/here-document/"
HERESTRING_PATH = "/dev/here-string/"


def extract_heredocs(command: str) -> tuple[str, list[tuple[str, bool]]]:
    """The command with ``< /dev/here-document/N`` in place of each body, and the bodies."""
    out: list[str] = []
    documents: list[tuple[str, bool]] = []
    pending: list[tuple[str, bool, bool, int]] = []  # delimiter, expands, strip tabs, index
    stack: list[str] = [""]
    i, size = 0, len(command)
    while i < size:
        char = command[i]
        quote = stack[-1]
        if char == "\\":
            out.append(command[i : i + 2])
            i += 2
        elif char == '"':
            if quote == '"':
                stack.pop()
            else:
                stack.append('"')
            out.append(char)
            i += 1
        elif char == "'" and quote != '"':
            end = command.find("'", i + 1)
            if i and command[i - 1] == "$":
                while end > 0 and command[end - 1] == "\\":
                    end = command.find("'", end + 1)
            end = size if end < 0 else end + 1
            out.append(command[i:end])
            i = end
        elif char == "$" and command.startswith("$((", i):
            end = command.find("))", i)
            end = size if end < 0 else end + 2
            out.append(command[i:end])
            i = end
        elif char == "$" and command.startswith("$(", i):
            stack.append("(")
            out.append("$(")
            i += 2
        elif char == "(" and quote != '"':
            stack.append("(")
            out.append(char)
            i += 1
        elif char == ")" and quote == "(":
            stack.pop()
            out.append(char)
            i += 1
        elif char == "#" and quote != '"' and (i == 0 or command[i - 1] in " \t\n;"):
            end = command.find("\n", i)
            i = size if end < 0 else end
        elif char == "<" and quote != '"' and command.startswith("<<<", i):
            i += 3
            while i < size and command[i] in " \t":
                i += 1
            out.append("< " + HERESTRING_PATH)
        elif char == "<" and quote != '"' and command.startswith("<<", i):
            found = _delimiter(command, i + 2)
            if found is None:
                out.append("<<")
                i += 2
                continue
            word, expands, strip, i = found
            out.append(f"< {HEREDOC_PATH}{len(documents)}")
            pending.append((word, expands, strip, len(documents)))
            documents.append(("", expands))
        elif char == "\n":
            out.append(char)
            i += 1
            for n, (word, expands, strip, index) in enumerate(pending):
                if (
                    n and command[i : i + 1] == "\n"
                ):  # after the delimiter line of the body before
                    i += 1
                body, i = _body(command, i, word, strip)
                documents[index] = (body, expands)
            pending.clear()
        else:
            out.append(char)
            i += 1
    return "".join(out), documents


def _delimiter(command: str, i: int) -> tuple[str, bool, bool, int] | None:
    size = len(command)
    strip = i < size and command[i] == "-"
    if strip:
        i += 1
    while i < size and command[i] in " \t":
        i += 1
    word: list[str] = []
    expands = True
    while i < size:
        char = command[i]
        if char in "'\"":
            end = command.find(char, i + 1)
            if end < 0:
                return None
            word.append(command[i + 1 : end])
            expands = False
            i = end + 1
        elif char == "\\" and i + 1 < size:
            word.append(command[i + 1])
            expands = False
            i += 2
        elif char in " \t\n;&|<>()`":
            break
        else:
            word.append(char)
            i += 1
    if not word:
        return None
    return "".join(word), expands, strip, i


def _body(command: str, i: int, word: str, strip: bool) -> tuple[str, int]:
    start, size = i, len(command)
    lines: list[str] = []
    while i < size:
        end = command.find("\n", i)
        line_end = size if end < 0 else end
        line = command[i:line_end]
        after = size if end < 0 else end + 1
        if strip:
            line = line.lstrip("\t")
        if line == word:
            body = "".join(lines) if strip else command[start:i]
            return body, line_end
        if strip:
            lines.append(line + "\n")
        i = after
    return ("".join(lines) if strip else command[start:]), size
