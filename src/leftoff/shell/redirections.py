"""Opens the redirections of a command, and tracks the text that it prints into a file."""

from __future__ import annotations

from leftoff.shell.ast import UNKNOWN, Document, Redirect, Substitution, Variable, Word
from leftoff.shell.operations import FileOperations
from leftoff.shell.paths import join
from leftoff.shell.state import MAX_TEXT

__all__ = ["Redirections"]


class Redirections(FileOperations):
    """The redirections of commands and groups."""

    def redirect(self, redirects: tuple[Redirect, ...]) -> bool:
        """Open the redirections; False where one of them fails."""
        for item in redirects:
            target = item.target
            operator = item.operator
            if isinstance(target, Document):
                if target.text is not None and target.expands:
                    self.stdin = self._expand_document(target.text)
                else:
                    self.stdin = target.text
                continue
            if operator == "<<<":
                text = self.text(target)
                self.stdin = None if UNKNOWN in text else text + "\n"
                continue
            if isinstance(target, Word):
                inner = [part for part in target.parts if isinstance(part, Substitution)]
                if inner and inner[0].process:
                    self._run_substitution(inner[0].body)
                    if operator == "<":
                        self.stdin = self.stdout
                    continue
            found = self.fields((target,))
            name = found[0] if len(found) == 1 else UNKNOWN
            if operator in (">&", "<&") and (name.isdecimal() or name == "-"):
                if item.descriptor == 2 and name == "-":
                    self.stderr_hidden = True
                continue
            if operator == "<":
                self.stdin = "" if name == "/dev/null" else self.known_content(name)
                if self.read(name, "<") is False:
                    return False
                continue
            if item.descriptor == 2 or operator in ("&>", "&>>", ">&"):
                self.stderr_hidden = True
            if name.startswith("/dev/"):
                continue
            append = operator in (">>", "&>>")
            if self.reports_error(">", name) and self.write_blocked(name) is not False:
                return False
            where = self.path(name) or ""
            before = self.contents.get(where) if append else None
            if not self.write(name, ">>" if append else ">", guess_append=append):
                return False
            if before is not None:
                self.contents[where] = before  # what is printed comes after it
        return True

    def _expand_document(self, text: str) -> str | None:
        if "$(" in text or "`" in text:
            return None
        out: list[str] = []
        i, size = 0, len(text)
        while i < size:
            char = text[i]
            if char == "\\" and i + 1 < size and text[i + 1] in "$`\\\n":
                out.append(text[i + 1].strip("\n"))  # a line that goes on
                i += 2
            elif char == "$" and i + 1 < size:
                end = i + 1
                braces = text[end] == "{"
                end += braces
                start = end
                while end < size and (text[end].isalnum() or text[end] == "_"):
                    end += 1
                if end == start:
                    out.append(char)
                    i += 1
                    continue
                value = self.variable(Variable(text[start:end], "", True))
                if len(value) != 1 or UNKNOWN in value[0]:
                    return None
                if braces and text[end : end + 1] != "}":
                    return None
                out.append(value[0])
                i = end + braces
            else:
                out.append(char)
                i += 1
        return "".join(out)

    def store_stdout(self, redirects: tuple[Redirect, ...]) -> None:
        """Track the text that a command printed into a file, where it is known and short."""
        taken = False
        for item in redirects:
            if item.descriptor not in (-1, 1) or isinstance(item.target, Document):
                continue
            if item.operator not in (">", ">>", ">|", "&>", "&>>"):
                continue
            taken = True
            found = self.fields((item.target,))
            path = join(self.cwd, found[0]) if len(found) == 1 else None
            if path is None or UNKNOWN in path:
                continue
            text = self.stdout
            if item.operator in (">>", "&>>"):
                before = self.contents.get(path)
                text = None if before is None or text is None else before + text
            if text is None or len(text) > MAX_TEXT or item.operator[0] == "&":
                self.contents.pop(path, None)
            else:
                self.contents[path] = text
        if taken:
            self.stdout = ""
