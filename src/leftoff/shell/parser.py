"""Parses a shell command by the tree-sitter grammar for bash; compiles it to a `Script`."""

from collections.abc import Callable
from typing import Any

from leftoff import lazy_re as re
from leftoff.shell import ast, quoting
from leftoff.shell.heredocs import HEREDOC_PATH, extract_heredocs
from leftoff.shell.statements import (
    COMMON_REDIRECTS,
    MAX_WORD,
    attach_redirects,
    grammar,
    heredoc,
    make_pipeline,
    simple_command,
    without_long_words,
)

# Characters outside here-documents above which a command is not analysed: error recovery of the
# grammar takes quadratic time on hostile text.
MAX_SYNTAX = 10_000
# Nested statements and words that are compiled; chosen by hand.
MAX_DEPTH = 60
_EXPANDS = frozenset("$`\\")
# U+E000 to U+E00F in a text would be taken for our marks (`ast.UNKNOWN`, patterns, braces).
_PRIVATE_USE = dict.fromkeys(range(57344, 57360), "�")
_EMPTY = ast.Sequence(())


def parse(command: str, *, home: str | None = None) -> ast.Script:
    """Parse a command. Any string is accepted; unsupported syntax becomes `Opaque`."""
    if not command.isascii():
        command = command.translate(_PRIVATE_USE)
    # Of a command typed on Windows the `\r` would end the last word of each line.
    if "\r" in command:
        command = command.replace("\r\n", "\n")
    plain = simple_command(command)
    if plain is not None:
        return ast.Script(plain, None, home)
    documents: list[tuple[str, bool]] = []
    text = command
    if "<<" in command:
        # Before the limit: the body of a here-document may be a whole file.
        text, documents = extract_heredocs(command)
    # Longer ones are generated, or are no commands.
    if len(text) > MAX_SYNTAX:
        return ast.Script(ast.Opaque("long"), None, home, True)
    raw = text.encode("utf-8", "replace")
    root = grammar().parse(raw).root_node
    # Nodes count bytes, which in ASCII are places in the text: no piece is decoded.
    compiler = _Compiler(text if len(raw) == len(text) else raw, documents, home)
    body = compiler.sequence(root.children)
    return ast.Script(body, None, home, root.has_error or compiler.broken)


_PROGRAM = re.compile(r"[^\W_][^=]*\Z")
_LITERAL = frozenset(("word", "number", "variable_name", "extglob_pattern", "file_descriptor"))
_JOINED = frozenset(
    ("concatenation", "unary_expression", "binary_expression", "parenthesized_expression")
)
_SKIP = frozenset((";", "\n", ";;", "comment", "&", "|", "|&", "&&", "||", "heredoc_body"))


class _Compiler:
    """Turns syntax nodes into statements. One instance for each command."""

    __slots__ = ("broken", "depth", "documents", "home", "source")

    def __init__(
        self, source: str | bytes, documents: list[tuple[str, bool]], home: str | None
    ) -> None:
        self.source = source
        self.documents = documents
        self.home = home
        self.depth = 0
        self.broken = False

    def text(self, node: Any) -> str:
        return self.span(node.start_byte, node.end_byte)

    def span(self, start: int, end: int) -> str:
        piece = self.source[start:end]
        return piece if isinstance(piece, str) else piece.decode("utf-8", "replace")

    def sequence(self, nodes: list[Any]) -> ast.Statement:
        items: list[ast.Statement] = []
        for node in nodes:
            kind = node.type
            if kind in _SKIP:
                if kind == "&" and items:
                    items[-1] = ast.Background(items[-1])
                continue
            if not node.is_named:
                continue
            items.append(self.statement(node, kind))
        if len(items) == 1:
            return items[0]
        return ast.Sequence(tuple(items))

    def statement(self, node: object, kind: str) -> ast.Statement:
        handler = _HANDLERS.get(kind)
        if handler is None:
            self.broken = True
            return ast.Opaque(kind)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.depth -= 1
            self.broken = True
            return ast.Opaque("deep")
        result = handler(self, node)
        self.depth -= 1
        return result

    def command(self, node: Any) -> ast.Statement:
        """A simple command. Where the grammar took the next line for more words of it, as it
        does in error recovery, these are a command of their own."""
        children = node.children
        if "\n" not in self.text(node):
            return self.simple(children)
        chunks: list[list[Any]] = [[]]
        for child in children:
            gap = self.span(chunks[-1][-1].end_byte, child.start_byte) if chunks[-1] else ""
            # A line end behind a backslash continues the command; any other begins one.
            if "\n" in gap.replace("\\\n", ""):
                chunks.append([])
            chunks[-1].append(child)
        items: list[ast.Statement] = []
        for item in map(self.simple, chunks):
            first = item.words[0] if item.words else ""
            # What does not begin like a program's name is the rest of a broken text.
            if items and not (isinstance(first, str) and _PROGRAM.match(first)):
                self.broken = True
                return ast.Sequence((*items, ast.Opaque("lines")))
            items.append(item)
        return items[0] if len(items) == 1 else ast.Sequence(tuple(items))

    def simple(self, children: list[Any]) -> ast.Command:
        words: list[str | ast.Word] = []
        assignments: list[tuple[str, str | ast.Word]] = []
        redirects: list[ast.Redirect] = []
        span = self.span
        plain = True
        end = -1
        for child in children:
            kind, start, before, end = child.type, child.start_byte, end, child.end_byte
            # The grammar ends a word at a dollar sign that names no variable.
            if start == before and words and span(start - 1, start) == "$":
                words[-1] = ast.UNKNOWN  # what the two make together is not followed
                plain = False
                continue
            if kind == "command_name":
                child = child.children[0]
                kind = child.type
            # The most frequent words first: this is the hot loop.
            if kind == "word" or kind == "number":
                raw = span(start, end)
                if quoting.ESCAPED_OR_PATTERN.isdisjoint(raw) and raw[:1] != "~":
                    words.append(raw)
                    continue
            elif kind == "raw_string":
                words.append(span(start + 1, end - 1))
                continue
            elif kind == "string":
                raw = span(start + 1, end - 1)
                if _EXPANDS.isdisjoint(raw):
                    words.append(raw)
                    continue
            elif kind == "file_redirect":
                redirects.append(self.redirect(child))
                continue
            elif kind == "variable_assignment":
                found = self.assignment(child)
                if found is not None:
                    assignments.append(found)
                continue
            word = self.word(child, kind)
            plain = plain and isinstance(word, str) and ast.PATTERN_MARKS.isdisjoint(word)
            words.append(word)
        if children and end - children[0].start_byte > MAX_WORD:
            return ast.Command(without_long_words(words), tuple(assignments), tuple(redirects))
        return ast.Command(tuple(words), tuple(assignments), tuple(redirects), plain)

    def redirected(self, node: Any) -> ast.Statement:
        body: ast.Statement = ast.Command(())
        redirects: list[ast.Redirect] = []
        for child in node.children:
            kind = child.type
            if kind == "file_redirect":
                redirects.append(self.redirect(child))
                # The words behind the target of `cmd > out arg`, which the grammar takes for
                # targets, are not followed.
                targets = [c for c in child.named_children if c.type != "file_descriptor"]
                self.broken = self.broken or len(targets) > 1
            elif kind in ("ERROR", "heredoc_redirect", "herestring_redirect"):
                self.broken = True
            elif child.is_named:
                body = self.statement(child, kind)
        return attach_redirects(body, tuple(redirects))

    def redirect(self, node: Any) -> ast.Redirect:
        if node.end_byte - node.start_byte < 14:
            usual = COMMON_REDIRECTS.get(self.text(node))
            if usual is not None:
                return usual
        operator, descriptor = ">", -1
        target: str | ast.Word | ast.Document = ""
        seen = False
        for child in node.children:
            kind = child.type
            if kind == "file_descriptor":
                digits = self.text(child)
                # `int` refuses thousands of digits, which hostile text may have.
                descriptor = int(digits) if digits.isdecimal() and len(digits) < 4 else -1
            elif not child.is_named:
                operator = kind
            elif not seen:
                seen = True
                target = self.word(child, kind)
        # Of `2>&-` the grammar makes one token of operator and dash.
        if operator in (">&-", "<&-"):
            return ast.Redirect(operator[:2], descriptor, "-")
        # `extract_heredocs` puts such paths in place of the documents.
        if operator == "<" and isinstance(target, str) and target.startswith(HEREDOC_PATH):
            document = heredoc(target[len(HEREDOC_PATH) :], self.documents)
            return ast.Redirect("<<", descriptor, document)
        return ast.Redirect(operator, descriptor, target)

    def assignment(self, node: Any) -> tuple[str, str | ast.Word] | None:
        name = ""
        value: str | ast.Word = ""
        for child in node.children:
            kind = child.type
            if kind == "variable_name" and not name:
                name = self.text(child)
            elif kind == "subscript":  # `a[1]=x`
                return None
            elif kind in ("array", "+="):  # neither lists nor what is appended are followed
                return name, ast.UNKNOWN
            elif child.is_named:
                value = self.word(child, kind)
        return (name, value) if name else None

    def assignments(self, node: Any) -> ast.Statement:
        """Assignments alone, or behind ``export`` and its like."""
        children = [node] if node.type == "variable_assignment" else node.children
        found = [self.assignment(c) for c in children if c.type == "variable_assignment"]
        words = [self.text(c) for c in children if c.type != "variable_assignment"][:1]
        return ast.Command(tuple(words), tuple(filter(None, found)))

    def logical(self, node: Any) -> ast.Statement:
        children = node.children
        left: ast.Statement | None = None
        both = True
        for child in children:
            kind = child.type
            if kind == "&&":
                both = True
            elif kind == "||":
                both = False
            elif child.is_named and kind != "comment":
                item = self.statement(child, kind)
                left = item if left is None else ast.Logical(both, left, item)
        return left if left is not None else _EMPTY

    def pipeline(self, node: Any) -> ast.Statement:
        named = [c for c in node.children if c.is_named and c.type != "comment"]
        return make_pipeline([self.statement(child, child.type) for child in named])

    def negated(self, node: Any) -> ast.Statement:
        return ast.Negated(self.sequence(node.children[1:]))

    def subshell(self, node: Any) -> ast.Statement:
        return ast.Group(self.sequence(node.children), (), True)

    def compound(self, node: Any) -> ast.Statement:
        children = node.children
        if children and children[0].type == "((":
            return ast.Command(("((", self.text(node)[2:-2].strip()))
        return ast.Group(self.sequence(children), (), False)

    def for_loop(self, node: Any) -> ast.Statement:
        """``for x in …``; how often ``for ((i=A; i<B; i++))`` runs is not followed."""
        counted = True  # `for x; do` runs over arguments, which are not followed either
        name, body = "", _EMPTY
        values: list[str | ast.Word] = []
        for child in node.children:
            kind = child.type
            if kind in ("do_group", "compound_statement"):
                body = self.sequence(child.children)  # type: ignore[assignment]
            elif kind == "variable_name" and not name:
                name = self.text(child)
            elif kind == "in":
                counted = False
            elif child.is_named and kind != "comment" and not counted:
                values.append(self.word(child, kind))
        return ast.Loop(name, None if counted else tuple(values), body)

    def branches(self, node: Any) -> ast.Statement:
        """``if``, ``while`` and ``case``: which of their parts run is not decided."""
        items: list[ast.Statement] = []
        statements: list[Any] = []
        for child in node.children:
            kind = child.type
            if kind in ("elif_clause", "else_clause", "do_group", "case_item"):
                items.append(self.branches(child))
            elif kind in _HANDLERS:
                statements.append(child)
            elif child.is_named and kind != "comment":  # words of ``case``
                word = self.word(child, kind)
                if isinstance(word, ast.Word):  # it may run a command
                    items.append(ast.Command((":", word)))
            elif kind == "&":
                statements.append(child)
        return ast.Branches((self.sequence(statements), *items))

    def function(self, node: Any) -> ast.Statement:
        name, body = "", _EMPTY
        for child in node.children:
            if child.type == "word" and not name:
                name = self.text(child)
            elif child.is_named:
                body = self.statement(child, child.type)  # type: ignore[assignment]
        return ast.Function(name, body)

    def test(self, node: Any) -> ast.Statement:
        """What a condition says is not followed, but what is substituted in it is run."""
        parts: list[str | ast.Variable | ast.Substitution] = [""]
        for child in node.children[1:-1]:
            self.collect(child, child.type, parts, True)
        return ast.Command((self.text(node.children[0]), quoting.make_word(parts)))

    def word(self, node: object, kind: str) -> str | ast.Word:
        """The word that a syntax node stands for."""
        parts: list[str | ast.Variable | ast.Substitution] = []
        self.collect(node, kind, parts, False)
        if not parts:
            return ""  # `rm ""` has an operand
        first = parts[0]
        if isinstance(first, str) and first[:1] == "~" and kind in ("word", "concatenation"):
            if first[1:2] not in ("", "/"):  # whose home `~name` is, is not known
                parts[0] = ast.UNKNOWN
            elif self.home is not None:
                parts[0] = self.home + first[1:]
        return quoting.make_word(quoting.without_braces(parts))

    def collect(
        self,
        node: Any,
        kind: str,
        parts: list[str | ast.Variable | ast.Substitution],
        quoted: bool,
    ) -> None:
        if kind == "string_content":
            quoting.append_text(parts, quoting.unescape_quoted(self.text(node)))
        elif kind in _LITERAL:
            text = self.text(node)
            quoting.append_text(parts, text if quoted else quoting.mark_unquoted(text))
        elif kind == "raw_string":
            quoting.append_text(parts, self.text(node)[1:-1])
        elif kind == "string":
            position = node.start_byte + 1
            children = node.children
            for child in children[1:]:
                if child.start_byte > position:
                    quoting.append_text(
                        parts, quoting.unescape_quoted(self.span(position, child.start_byte))
                    )
                position = child.end_byte
                if child.is_named:
                    self.collect(child, child.type, parts, True)
                elif child.type != '"':
                    quoting.append_text(parts, self.text(child))
        elif kind in _JOINED:
            for child in node.children:
                if child.is_named:
                    self.collect(child, child.type, parts, quoted)
                else:
                    quoting.append_text(parts, self.text(child))
        elif kind == "simple_expansion":
            parts.append(ast.Variable(self.text(node)[1:], "", quoted))
        elif kind == "expansion":
            parts.append(quoting.parse_expansion(self.text(node)[2:-1], quoted))
        elif kind in ("command_substitution", "process_substitution"):
            body = self.sequence(node.children)
            process = kind == "process_substitution"
            parts.append(ast.Substitution(body, quoted, process))
        elif kind == "arithmetic_expansion":
            parts.append(ast.Variable("((", self.text(node)[3:-2].strip(), True))
        elif kind in ("brace_expression", "regex"):
            quoting.append_text(parts, quoting.mark_unquoted(self.text(node)))
        else:
            if kind == "ERROR":
                self.broken = True
            quoting.append_text(parts, ast.UNKNOWN)


_HANDLERS: dict[str, Callable[[_Compiler, Any], ast.Statement] | None] = {
    "command": _Compiler.command,
    "redirected_statement": _Compiler.redirected,
    "variable_assignment": _Compiler.assignments,
    "variable_assignments": _Compiler.assignments,
    "declaration_command": _Compiler.assignments,
    "unset_command": lambda self, node: ast.Command(tuple(map(self.text, node.children))),
    "list": _Compiler.logical,
    "pipeline": _Compiler.pipeline,
    "negated_command": _Compiler.negated,
    "subshell": _Compiler.subshell,
    "compound_statement": _Compiler.compound,
    "for_statement": _Compiler.for_loop,
    "c_style_for_statement": _Compiler.for_loop,
    "while_statement": _Compiler.branches,
    "if_statement": _Compiler.branches,
    "case_statement": _Compiler.branches,
    "function_definition": _Compiler.function,
    "test_command": _Compiler.test,
    "ERROR": None,
    # A redirection alone, as in ``$(< file)``.
    "file_redirect": lambda self, node: ast.Command((), (), (self.redirect(node),)),
}
