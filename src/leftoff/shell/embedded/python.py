"""File effects of a Python script on literal paths, from its syntax tree."""

import ast
import functools
import posixpath
import shlex
import warnings
from collections.abc import Iterable

from leftoff import lazy_re as re
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.embedded.steps import MAX_SCRIPT, MAX_STEPS, ScriptSteps
from leftoff.tables import table

# What is known of an expression: a text, several values, or nothing.
Value = str | list["Value"] | None
# Expressions of whose parts some may not run, or run often.
_PERHAPS = (
    ast.BoolOp,
    ast.IfExp,
    ast.NamedExpr,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
# Calls that join their arguments.
_TEXTS = frozenset("Path pathlib.Path str PurePath os.fspath os.path.join".split())
# How a script changes a database.
_CHANGES_DATABASE = re.compile(
    r"(?i)\b(?:create|insert|update|delete|drop|alter|vacuum|replace)\s+\w"
    r"|\.commit\(|\bto_sql\(|\bexecutescript\("
)
_MUTATORS = frozenset("append extend insert pop remove clear add sort".split())


def _verbs(kind: str) -> dict[str, str]:
    rows = table(__file__, "python.toml")[kind]
    return {name: verb for verb, names in rows.items() for name in names}


_CALLS, _METHODS = _verbs("calls"), _verbs("methods")
# What a script that works on files has in it; most others are not parsed.
_HINTS = re.compile(
    r"open|writ|copy|re(?:mov|nam|plac)|link|shutil|subproc|system|touch|sql|fileinput|exec|sav"
    r"|dump|runpy|import_|[_zF]ile|read_|retrieve|tract|trunc|filename|create|append|edit|insert|to_"
)


@functools.lru_cache(maxsize=256)
def python_effects(code: str, arguments: tuple[str, ...] = ()) -> ScriptSteps:
    """What a Python script does to files whose paths are literals."""
    if len(code) > MAX_SCRIPT or _HINTS.search(code) is None:
        return ScriptSteps((), len(code) > MAX_SCRIPT)
    try:
        # Python warns of `"\d"` in the script as if it were ours.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
        reader = _PythonReader(arguments, code)
        reader.block(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ScriptSteps((), True)
    return ScriptSteps(tuple(reader.steps), reader.partial)


class _PythonReader:
    """Walks a syntax tree in order, with the values of names that are plain strings or lists of
    such. Functions, methods and lambdas are not followed: if one changes files, the script may
    have changed any."""

    def __init__(self, arguments: tuple[str, ...], code: str) -> None:
        self.code = code
        self.arguments = {f"sys.argv[{i}]": text for i, text in enumerate(arguments, 1)}
        self.steps: list[tuple[str, str, str]] = []
        self.partial = False
        self.values: dict[str, Value] = {}
        self.modules: dict[str, str] = {}
        self.depth = 0
        self.ended = False
        # Statements and expressions that are walked; chosen by hand, not measured.
        self.budget = 4_000

    def add(self, verb: str, first: Value, second: Value = "") -> None:
        known = isinstance(first, str) and isinstance(second, str)
        if known and UNKNOWN not in f"{first}{second}" and len(self.steps) < MAX_STEPS:
            self.steps.append((verb, str(first), str(second)))
        elif verb not in ("read", "mkdir"):
            self.partial = True

    def block(self, body: Iterable[ast.AST]) -> None:
        for item in body:
            self.budget -= 1
            # How deep is chosen by hand. Python's own limit is caught in `python_effects`.
            if self.budget <= 0 or self.depth > 40:
                self.partial = True
            elif not self.ended:
                self.depth += 1
                if isinstance(item, ast.expr):
                    self.expression(item)
                else:
                    self.statement(item)
                self.depth -= 1

    def statement(self, item: ast.AST) -> None:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.aside(item.body)
        elif isinstance(item, ast.Import | ast.ImportFrom):
            above = f"{item.module}." if isinstance(item, ast.ImportFrom) else ""
            for alias in item.names:
                self.modules[alias.asname or alias.name] = above + alias.name
        elif isinstance(item, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self.block(_expressions(item))
            value = self.value(item.value)
            self.forget(item)
            if isinstance(item, ast.Assign):  # what is appended is not followed
                self.bind(item.targets[0], value)
        elif isinstance(item, ast.With | ast.AsyncWith):
            self.block(part.context_expr for part in item.items)
            self.forget(item)
            # `with suppress(FileNotFoundError):` ignores errors as `try` does.
            if any("suppress(" in ast.unparse(part.context_expr) for part in item.items):
                self.branches(item, [item.body])
            else:
                self.block(item.body)
        # `if __name__ == "__main__":` holds in a script that is run.
        elif isinstance(item, ast.If) and ast.unparse(item.test).startswith("__name__ =="):
            self.block(item.body)
        elif isinstance(item, ast.For) and self.unrolled(item):
            self.block(item.orelse)
        elif isinstance(item, ast.Raise) and ast.unparse(item) == "raise SystemExit":
            self.ended = True
        else:
            self.block(_expressions(item))
            parts = [item, *getattr(item, "handlers", ()), *getattr(item, "cases", ())]
            bodies = [part.body for part in parts if hasattr(part, "body")]
            if bodies:
                self.branches(item, [*bodies, getattr(item, "orelse", [])])
                self.block(getattr(item, "finalbody", ()))

    def aside(self, body: Iterable[ast.AST]) -> None:
        """Code that may never run, or often."""
        steps, values, self.steps, self.values = self.steps, self.values, [], {}
        self.block(body)
        looks = ("read", "database", "mkdir", "maybe", "surely")
        if any(step[0] not in looks for step in self.steps):
            self.partial = True
        verbs = [step[0] for step in self.steps]
        ended = self.ended or verbs.count("maybe") > verbs.count("surely")
        self.steps, self.values, self.ended = steps, values, False
        if ended:
            self.steps.append(("maybe", "", ""))  # it may end the script

    def branches(self, item: ast.AST, bodies: Iterable[Iterable[ast.AST]]) -> None:
        """Parts of which it is not known which ran, nor how often: what they do is not known,
        nor are the values that they set. If one may end the script, the rest may not run."""
        ended = False
        for body in bodies:
            self.forget(item)
            start, shown = len(self.steps), ""
            for part in body:
                shown = shown or self.printed(part)
                self.block([part])
            ended, self.ended = ended or self.ended, False
            if any(step[0] not in ("read", "database") for step in self.steps[start:]):
                self.steps.insert(start, ("maybe", shown, ""))
                self.steps.append(("surely", "", ""))
        self.forget(item)
        if ended:
            self.steps.append(("maybe", "", ""))

    def printed(self, item: ast.AST) -> str:
        """The text that a statement prints, if no other prints it: it shows what ran."""
        call = item.value if isinstance(item, ast.Expr) else None
        text = None
        if isinstance(call, ast.Call) and self.name(call.func) == "print" and call.args:
            text = self.value(call.args[0])
        return text if isinstance(text, str) and self.code.count(text) == 1 else ""

    def forget(self, item: ast.AST) -> None:
        """The values of names that a part sets, or whose items it sets, are not known."""
        for node in ast.walk(item):
            if isinstance(getattr(node, "ctx", None), ast.Store):
                self.values |= {n.id: None for n in ast.walk(node) if isinstance(n, ast.Name)}

    def unrolled(self, item: ast.For) -> bool:
        """Whether a loop runs over a list that is known; then its rounds are walked."""
        values = self.value(item.iter)
        jumps = any(isinstance(node, ast.Break | ast.Continue) for node in ast.walk(item))
        if not isinstance(values, list) or jumps or len(values) > MAX_STEPS:
            return False
        for value in values:
            self.forget(item.target)
            self.bind(item.target, value)
            self.block(item.body)
        return True

    def bind(self, target: ast.expr, value: Value) -> None:
        """Give a name, or several of them, a value that is known."""
        if isinstance(target, ast.Name):
            self.values[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, list):
            if len(target.elts) == len(value):
                for name, part in zip(target.elts, value, strict=True):
                    self.bind(name, part)

    def value(self, node: ast.expr | None) -> Value:
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            return self.values.get(node.id)
        if isinstance(node, ast.FormattedValue):
            formatted = node.conversion != -1 or node.format_spec is not None
            return None if formatted else self.value(node.value)
        if isinstance(node, ast.List | ast.Tuple):
            return [UNKNOWN if v is None else v for v in map(self.value, node.elts)]
        if isinstance(node, ast.Subscript):
            return self.arguments.get(ast.unparse(node))
        name = self.name(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Attribute) and node.attr == "parent":
            return _folder(self.value(node.value))
        if isinstance(node, ast.Call) and name == "os.path.dirname" and node.args:
            return _folder(self.value(node.args[0]))
        parts = node.values if isinstance(node, ast.JoinedStr) else []
        if isinstance(node, ast.Call) and name in _TEXTS:
            parts = node.args
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Div):
            name, parts = "/" * isinstance(node.op, ast.Div), [node.left, node.right]
        texts = [text for text in map(self.value, parts) if isinstance(text, str)]
        # A text that is put together from itself again and again grows without end.
        if not texts or len(texts) < len(parts) or sum(map(len, texts)) > MAX_SCRIPT:
            return None
        return posixpath.join(*texts) if name else "".join(texts)

    def name(self, node: ast.expr) -> str:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        parts.append(self.modules.get(node.id, node.id) if isinstance(node, ast.Name) else "?")
        return ".".join(reversed(parts)).removeprefix("builtins.")

    def expression(self, node: ast.expr) -> None:
        if isinstance(node, ast.Lambda):
            self.aside([node.body])
        elif isinstance(node, _PERHAPS):
            self.branches(node, [_expressions(node)])
        else:
            self.block(_expressions(node))
            if isinstance(node, ast.Call):
                self.call(node)

    def call(self, node: ast.Call) -> None:
        name = self.name(node.func)
        verb = _CALLS.get(name)
        first = self.value(node.args[0]) if node.args else None
        second = self.value(node.args[1]) if len(node.args) > 1 else ""
        if verb is None:
            if isinstance(node.func, ast.Attribute):
                self._call_method(node.func, node)
        # An exit as a failure does not count: a script that succeeded did not come there.
        elif verb == "exit":
            failure = node.args and ast.unparse(node.args[0]) not in ("0", "None")
            self.ended = self.ended or not failure
        elif verb == "open":
            self._open(self.value(_argument(node, 0, "file")), _argument(node, 1, "mode"))
        elif verb == "read" and any(keyword.arg == "inplace" for keyword in node.keywords):
            self.partial = True
        elif verb == "stop":  # names are of another directory from here on
            self.partial = self.ended = True
        elif verb == "partial":
            self.partial = True
        elif verb == "database":
            self.add("append" if _CHANGES_DATABASE.search(self.code) else verb, first)
        elif verb == "shell":
            elsewhere = any(keyword.arg == "cwd" for keyword in node.keywords)
            if isinstance(first, list) and first and not elsewhere:
                words = [part if isinstance(part, str) else UNKNOWN for part in first]
                self.steps.append(("program", shlex.join(words), ""))
            else:
                self.add("shell", None if elsewhere else first)
        else:
            self.add(verb, first, second if verb.startswith(("move", "copy")) else "")

    def _open(self, path: Value, given: ast.expr | None) -> None:
        mode = self.value(given) if given is not None else "r"
        if not isinstance(mode, str):
            self.partial = True
        # With the compression of a tar file, too: `r:gz`, `w|bz2`.
        elif re.fullmatch(r"[rwax+bt]+(?:[:|][\w*]*)?", mode) is not None:  # else no file
            verbs = {"w": "write", "x": "write", "a": "append", "+": "modify"}
            self.add(next((verbs[sign] for sign in verbs if sign in mode), "read"), path)

    def _call_method(self, func: ast.Attribute, node: ast.Call) -> None:
        verb = _METHODS.get(func.attr)
        if isinstance(func.value, ast.Name) and func.attr in _MUTATORS:
            self.values[func.value.id] = None
        if verb in ("partial", "given"):
            self.partial = self.partial or verb == "partial" or bool(node.args)
        # `path.replace(target)`, as against `text.replace("a", "b")`.
        elif verb == "move":
            self.partial = self.partial or len(node.args) == 1 and not node.keywords
        elif verb == "open":
            # `gzip.open(path)` of a module that was imported, or `path.open()`.
            of_module = isinstance(func.value, ast.Name) and func.value.id in self.modules
            path = _argument(node, 0, "") if of_module else func.value
            self._open(self.value(path), _argument(node, int(of_module), "mode"))
        elif verb is not None:
            missing = any(word.arg == "missing_ok" for word in node.keywords)
            self.add("delete_if" if missing else verb, self.value(func.value))


def _argument(node: ast.Call, at: int, name: str) -> ast.expr | None:
    """What a call gives as an argument, by its place or its name."""
    named = (keyword.value for keyword in node.keywords if keyword.arg == name)
    return node.args[at] if len(node.args) > at else next(named, None)


def _folder(path: Value) -> Value:
    if not isinstance(path, str):
        return None
    return posixpath.dirname(path.rstrip("/") or "/") or "."


def _expressions(node: ast.AST) -> list[ast.expr]:
    """The expressions directly inside a node, in order."""
    found: list[ast.expr] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            found.append(child)
        elif isinstance(child, ast.keyword | ast.comprehension):
            found += _expressions(child)
    return found


def plain_python(code: str) -> str:
    """A notebook cell as plain Python: ``!command`` is a call, magics are left out; one for the
    whole cell (``%%bash``) may do anything with it."""
    if code[:2] == "%%":
        return "exec(cell)"
    if "\n!" not in code and "\n%" not in code and code[:1] not in "!%":
        return code
    calls = [
        f"os.system({line[1:]!r})" if line[:1] == "!" else line for line in code.split("\n")
    ]
    return "\n".join("" if line[:1] == "%" else line for line in calls)
