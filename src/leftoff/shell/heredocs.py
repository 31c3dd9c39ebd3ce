"""Takes here-documents out of a command before it is parsed."""

import re

from leftoff import lazy_re

HEREDOC_PATH = "/dev/here-document/"


# The first alternative that fits is taken: `$((` before `$(`, `<<<` before `<<`. A run of other
# characters is one token, so that the walk takes linear time.
_TOKEN = lazy_re.compile(r"""\\.?|["'()#\n]|\$\(\(|\$\(|<<<|<<|[^\\"'()#\n$<]+|.""", re.DOTALL)
# A part of a delimiter: quoted in one of three ways, or plain.
_PIECE = lazy_re.compile(r"""'([^']*)'|"([^"]*)"|\\(.)|([^ \t\n;&|<>()`])""", re.DOTALL)


def extract_heredocs(command: str) -> tuple[str, list[tuple[str, bool]]]:
    """The command with ``< /dev/here-document/N`` in place of each body, and the bodies."""
    out: list[str] = []
    documents: list[tuple[str, bool]] = []
    pending: list[tuple[str, bool, bool, int]] = []  # delimiter, expands, strip tabs, index
    stack: list[str] = [""]  # the quotes and parentheses that are open
    i, size = 0, len(command)
    while found := _TOKEN.match(command, i):
        piece, start, i = found[0], i, found.end()
        quote = stack[-1]
        if piece == '"' and quote == '"' or piece == ")" and quote == "(":
            stack.pop()
        elif piece == '"' or piece == "$(" or piece == "(" and quote != '"':
            stack.append(piece[-1])
        elif piece == "$((":
            # In arithmetic `<<` shifts: `$((1 << 4))`.
            end = command.find("))", start)
            i = size if end < 0 else end + 2
            piece = command[start:i]
        elif piece == "\n":
            # Bodies follow the line in the order of their operators: `cat <<A - <<B`.
            for n, (word, expands, strip, index) in enumerate(pending):
                if n and command[i : i + 1] == "\n":
                    i += 1  # after the delimiter line of the body before
                body, i = _body(command, i, word, strip)
                documents[index] = (body, expands)
            pending.clear()
        elif quote == '"':
            pass
        elif piece == "'":
            end = command.find("'", i)
            # Only in `$'it\'s'` a backslash escapes the quote.
            if start and command[start - 1] == "$":
                while end > 0 and command[end - 1] == "\\":
                    end = command.find("'", end + 1)
            i = size if end < 0 else end + 1
            piece = command[start:i]
        elif piece == "#" and (start == 0 or command[start - 1] in " \t\n;"):
            # A comment is dropped: the apostrophe of `# don't` opens no quote.
            end = command.find("\n", start)
            i = size if end < 0 else end
            continue
        elif piece == "<<<":  # what a here-string gives is read as from a device
            while i < size and command[i] in " \t":
                i += 1
            piece = "< /dev/here-string/"
        elif piece == "<<" and (delimiter := _delimiter(command, i)) is not None:
            word, expands, strip, i = delimiter
            piece = f"< {HEREDOC_PATH}{len(documents)}"
            pending.append((word, expands, strip, len(documents)))
            documents.append(("", expands))
        out.append(piece)
    return "".join(out), documents


def _delimiter(command: str, i: int) -> tuple[str, bool, bool, int] | None:
    # `<<-EOF` takes tabs from before its lines and its delimiter.
    strip = command.startswith("-", i)
    i += strip
    while command[i : i + 1] in (" ", "\t"):
        i += 1
    start, word, expands = i, "", True
    while found := _PIECE.match(command, i):
        plain = found[4]
        if plain is not None and plain in "'\"":
            return None  # its end is missing
        # A quote around any part makes the body literal: `<<'EOF'`, `<<E"O"F`.
        expands = expands and plain is not None
        word += found[found.lastindex or 0]
        i = found.end()
    return None if i == start else (word, expands, strip, i)


def _body(command: str, i: int, word: str, strip: bool) -> tuple[str, int]:
    """The body of a document, and where its delimiter ends; without one it goes to the end,
    where bash adds a line end and a warning."""
    tabs = "\t*" if strip else ""
    found = re.compile(f"^{tabs}{re.escape(word)}$", re.MULTILINE).search(command, i)
    body = command[i : found.start() if found else None]
    body = re.sub(r"^\t+", "", body, flags=re.MULTILINE) if strip else body
    if found is None and body[-1:] not in ("", "\n"):
        body += "\n"
    return body, found.end() if found else len(command)
