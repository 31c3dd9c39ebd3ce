"""File effects of a Python script on literal paths, from its syntax tree."""

import ast
import functools
import posixpath
import warnings
from collections.abc import Iterable

from leftoff import lazy_re as re
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.embedded.steps import MAX_SCRIPT, MAX_STEPS, ScriptSteps
from leftoff.tables import table

_Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp
# What is known of an expression: a text, several, or nothing.
Value = str | list[str] | None
# Methods of a ``Path`` that give another one, or several; which one, is not followed.
PATH_METHODS = frozenset(
    "joinpath with_suffix with_name with_stem resolve absolute expanduser"
    " glob rglob iterdir".split()
)


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
    """Walks a syntax tree in order, with the values of names that are plain strings."""

    def __init__(self, arguments: tuple[str, ...], code: str = "") -> None:
        self.code = code
        self.steps: list[tuple[str, str, str]] = []
        self.partial = False
        self.values: dict[str, Value] = {"sys.argv": ["", *arguments]}
        self.paths: set[str] = set()
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.modules: dict[str, str] = {}
        self.depth = 0
        self.ended = False
        # Statements and expressions that are walked; chosen by hand, not measured.
        self.budget = 4_000

    def add(self, verb: str, first: Value, second: Value = "") -> None:
        if verb == "none":
            return
        if verb == "cd":
            # Where it is not known, relative names are of an unknown directory from here on.
            first, second = first if isinstance(first, str) else UNKNOWN, ""
        elif (
            not isinstance(first, str)
            or not isinstance(second, str)
            or UNKNOWN in first
            or UNKNOWN in second
            or len(self.steps) >= MAX_STEPS
        ):
            if verb not in ("read", "mkdir"):
                self.partial = True
            return
        self.steps.append((verb, first, second))

    def block(self, body: Iterable[ast.stmt]) -> None:
        for item in body:
            self.budget -= 1
            # Nested blocks; chosen by hand. Python's own limit is caught in `python_effects`.
            if self.budget <= 0 or self.depth > 30:
                self.partial = True
            elif not self.ended:
                self.depth += 1
                self.statement(item)
                self.depth -= 1

    def statement(self, item: ast.stmt) -> None:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            self.functions[item.name] = item
            if item.decorator_list:  # what calls it is not known
                self.aside([item])
        elif isinstance(item, ast.ClassDef):
            self.aside(item.body)
        elif isinstance(item, ast.Import | ast.ImportFrom):
            above = f"{item.module}." if isinstance(item, ast.ImportFrom) else ""
            for alias in item.names:
                self.modules[alias.asname or alias.name] = above + alias.name
        elif isinstance(item, ast.Assign | ast.AnnAssign | ast.AugAssign):
            source = item.value or ast.Constant(None)
            self.expression(source)
            if isinstance(item, ast.AugAssign):
                source = ast.BinOp(item.target, item.op, source)  # ``a += b`` is ``a = a + b``
            value = self.value(source)
            for target in item.targets if isinstance(item, ast.Assign) else [item.target]:
                self.bind(target, value, source)
                if isinstance(target, ast.Subscript | ast.Attribute):
                    self.forget(target)
        elif isinstance(item, ast.For | ast.AsyncFor):
            self.loop(item)
        elif isinstance(item, ast.With | ast.AsyncWith):
            for context in item.items:
                self.expression(context.context_expr)
                if context.optional_vars is not None:
                    self.bind(context.optional_vars, None, context.context_expr)
            # `with suppress(FileNotFoundError):` ignores errors as `try` does.
            if any("suppress(" in ast.unparse(part.context_expr) for part in item.items):
                self.branches([item.body])
            else:
                self.block(item.body)
        elif isinstance(item, ast.If):
            # `if __name__ == "__main__":` holds in a script that is run.
            if isinstance(item.test, ast.Compare) and "__name__" in ast.unparse(item.test):
                self.block(item.body)
            else:
                self.expression(item.test)
                self.branches([item.body, item.orelse])
        elif isinstance(item, ast.Try | ast.TryStar):
            # How far a part came whose errors do not end the script is not known.
            self.branches([item.body, *(h.body for h in item.handlers), item.orelse])
            self.block(item.finalbody)
        elif isinstance(item, ast.While):
            self.expression(item.test)
            self.forget(item)
            self.branches([item.body, item.orelse])
        elif isinstance(item, ast.Match):
            self.partial = True
        else:
            for child in ast.iter_child_nodes(item):
                if isinstance(child, ast.expr):
                    self.expression(child)
            self.ended = self.ended or _ends(item)

    def aside(self, body: Iterable[ast.AST]) -> None:
        """Functions whose calls are not followed (methods, callbacks): if they change files,
        the script is partial."""
        if self.depth > 25:
            return
        inner = _PythonReader(())
        inner.depth, inner.budget = self.depth + 1, self.budget
        inner.modules, inner.functions = self.modules, self.functions
        for item in body:
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                inner.block(item.body)
            elif isinstance(item, ast.expr):
                inner.expression(item)
        self.budget = inner.budget
        if inner.partial or any(step[0] not in ("read", "mkdir", "cd") for step in inner.steps):
            self.partial = True
        verbs = [step[0] for step in inner.steps]
        if inner.ended or verbs.count("maybe") > verbs.count("surely"):
            self.steps.append(("maybe", "", ""))  # it may end the script

    def branches(self, bodies: Iterable[Iterable[ast.AST]]) -> None:
        """Parts of which it is not known which ran: what they do is not known, nor are the
        values that they set. If one of them may end the script, the rest may not run."""
        before, ended = self.values, False
        changed: set[str] = set()
        for body in bodies:
            self.values = dict(before)
            start, shown = len(self.steps), ""
            for item in body:
                shown = shown or self.printed(item)
                if isinstance(item, ast.stmt):
                    self.block([item])
                elif isinstance(item, ast.expr):
                    self.expression(item)
            now = self.values
            changed |= {name for name in now if now[name] != before.get(name)}
            ended, self.ended = ended or self.ended, False
            if any(step[0] != "read" for step in self.steps[start:]):
                self.steps.insert(start, ("maybe", shown, ""))
                self.steps.append(("surely", "", ""))
        self.values = {**before, **dict.fromkeys(changed)}
        if ended:
            self.steps.append(("maybe", "", ""))

    def printed(self, item: ast.AST) -> str:
        """The text that a statement prints, if no other prints it: it shows what ran."""
        call = item.value if isinstance(item, ast.Expr) else None
        if not isinstance(call, ast.Call) or self.name(call.func) != "print" or not call.args:
            return ""
        text = self.value(call.args[0])
        alone = isinstance(text, str) and len(text) > 3 and self.code.count(text) == 1
        return text if alone and isinstance(text, str) else ""

    def forget(self, item: ast.AST) -> None:
        """The values of names that a part sets, or that it changes, are not known."""
        changed = isinstance(item, ast.Subscript | ast.Attribute)
        for node in ast.walk(item):
            if isinstance(node, ast.Name) and (changed or isinstance(node.ctx, ast.Store)):
                self.values[node.id] = None

    def loop(self, item: ast.For | ast.AsyncFor) -> None:
        self.expression(item.iter)
        values = self.values_of(item.iter)
        jumps = any(isinstance(node, ast.Break | ast.Continue) for node in ast.walk(item))
        if values is None or jumps:
            self.forget(item)
            self.bind(item.target, None, item.iter)
            self.branches([item.body])
        for value in values[:MAX_STEPS] if values and not jumps else ():
            if isinstance(item.target, ast.Tuple) and isinstance(value, list):
                for part, inner in zip(item.target.elts, value, strict=False):
                    self.bind(part, inner, item.iter)
            else:
                self.bind(item.target, value, item.iter)
            self.block(item.body)
        self.block(item.orelse)

    def bind(self, target: ast.expr, value: Value, source: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.values[target.id] = value
            if self.is_path(source):
                self.paths.add(target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:  # several names at once are not followed
                self.bind(part, None, source)

    def is_path(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.paths
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, ast.Div)
        if isinstance(node, ast.Attribute):
            return node.attr == "parent"
        if not isinstance(node, ast.Call):
            return False
        name = self.name(node.func)
        if name in ("sorted", "list", "reversed") and node.args:
            return self.is_path(node.args[0])
        if name.endswith(("Path", "Path.cwd", "Path.home")):
            return True
        if not isinstance(node.func, ast.Attribute) or name in ("glob.glob", "glob.iglob"):
            return False
        return node.func.attr in PATH_METHODS

    def values_of(self, node: ast.expr) -> list[str | list[str]] | None:
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return [
                [self.text(part) for part in item.elts]
                if isinstance(item, ast.Tuple | ast.List)
                else self.text(item)
                for item in node.elts
            ]
        value = self.values.get(node.id) if isinstance(node, ast.Name) else None
        return list(value) if isinstance(value, list) else None

    def text(self, node: ast.expr) -> str:
        value = self.value(node)
        return value if isinstance(value, str) else UNKNOWN

    def value(self, node: ast.expr | None) -> Value:
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            return self.values.get(node.id)
        if isinstance(node, ast.FormattedValue):
            formatted = node.conversion != -1 or node.format_spec is not None
            return None if formatted else self.value(node.value)
        if isinstance(node, ast.JoinedStr):
            pieces = [self.value(part) for part in node.values]
            texts = [piece for piece in pieces if isinstance(piece, str)]
            return "".join(texts) if len(texts) == len(pieces) else None
        if isinstance(node, ast.BinOp):
            left, right = self.value(node.left), self.value(node.right)
            if isinstance(left, str) and isinstance(right, str):
                if isinstance(node.op, ast.Div):
                    return posixpath.join(left, right)
                if isinstance(node.op, ast.Add):
                    return left + right
            return None
        if isinstance(node, ast.List | ast.Tuple):
            return [self.text(item) for item in node.elts]
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            index, listed = node.slice.value, self.values["sys.argv"]
            if self.name(node.value) == "sys.argv" and isinstance(index, int):
                if isinstance(listed, list) and 0 <= index < len(listed):
                    return listed[index]
        if isinstance(node, ast.Attribute) and node.attr == "parent":
            whole = self.value(node.value)
            if not isinstance(whole, str):
                return None
            return posixpath.dirname(whole.rstrip("/")) or ("/" if whole[:1] == "/" else ".")
        if isinstance(node, ast.Call):
            name = self.name(node.func)
            if name in ("Path", "pathlib.Path", "str", "PurePath", "os.fspath", "os.path.join"):
                parts = [self.value(arg) for arg in node.args]
                joined = [part for part in parts if isinstance(part, str)]
                if not parts:
                    return "." if name.endswith("Path") else None
                return str(posixpath.join(*joined)) if len(joined) == len(parts) else None
        return None

    def name(self, node: ast.expr) -> str:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            parts.append(self.modules.get(node.id, node.id))
        elif not parts:
            return ""
        else:
            parts.append("?")
        return ".".join(reversed(parts)).removeprefix("builtins.")

    def expression(self, node: ast.expr) -> None:
        self.budget -= 1
        if self.budget <= 0 or self.depth > 60:
            self.partial = True
            return
        self.depth += 1
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                self.expression(node.func.value)
            for arg in node.args:
                self.expression(arg)
            for keyword in node.keywords:
                self.expression(keyword.value)
            self.call(node)
        elif isinstance(node, ast.Lambda):
            self.aside([node.body])
        elif isinstance(node, ast.NamedExpr):
            self.expression(node.value)
            self.bind(node.target, self.value(node.value), node.value)
        elif isinstance(node, ast.BoolOp):
            self.expression(node.values[0])
            self.branches([node.values[1:]])
        elif isinstance(node, ast.IfExp):
            self.expression(node.test)
            self.branches([[node.body], [node.orelse]])
        elif isinstance(node, ast.Name) and node.id in self.functions:
            self.aside([self.functions.pop(node.id)])  # handed to another function
        elif isinstance(node, _Comprehension):
            self.expression(node.generators[0].iter)
            self.forget(node)
            conditions = [test for part in node.generators for test in part.ifs]
            values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            self.branches([[*conditions, *values]])
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.expression(child)
        self.depth -= 1

    def call(self, node: ast.Call) -> None:
        name = self.name(node.func)
        if name.endswith("basicConfig") and "filename=" in ast.unparse(node):
            self.partial = True
        if name in _CALLS:
            self._call_known(_CALLS[name], node)
        elif isinstance(node.func, ast.Name) and node.func.id in self.functions:
            self.aside([self.functions.pop(node.func.id)])
        elif isinstance(node.func, ast.Attribute):
            self._call_method(node.func, node)

    def _call_known(self, verb: str, node: ast.Call) -> None:
        first = self.value(node.args[0]) if node.args else None
        second = self.value(node.args[1]) if len(node.args) > 1 else ""
        if verb == "open":
            self._open(first, node, 1)
        elif verb == "shell":
            if isinstance(first, list):
                # No shell splits the words of `subprocess.run(["rm", "a b"])`.
                quoted = ["'" + part.replace("'", "'\\''") + "'" for part in first]
                first = None if any(UNKNOWN in part for part in first) else " ".join(quoted)
            for keyword in node.keywords:
                if keyword.arg == "cwd" and isinstance(first, str):
                    place = self.value(keyword.value)
                    first = f"cd '{place}' && {first}" if isinstance(place, str) else None
            self.add("shell", first)
        elif verb == "link":
            self.add("add", second)
        elif verb == "partial":
            self.partial = True
        else:
            self.add(verb, first, second if verb.startswith(("move", "copy")) else "")

    def _open(self, path: Value, node: ast.Call, at: int) -> None:
        mode = self.value(node.args[at]) if len(node.args) > at else "r"
        for keyword in node.keywords:
            if keyword.arg == "mode":
                mode = self.value(keyword.value)
            elif keyword.arg == "file":
                path = self.value(keyword.value)
        if not isinstance(mode, str):
            self.partial = True
        # With the compression of a tar file, too: `r:gz`, `w|bz2`.
        elif re.fullmatch(r"[rwax+bt]+(?:[:|][\w*]*)?", mode) is not None:  # else no file
            verbs = {"w": "write", "x": "write", "a": "append", "+": "modify"}
            self.add(next((verbs[sign] for sign in verbs if sign in mode), "read"), path)

    def _call_method(self, func: ast.Attribute, node: ast.Call) -> None:
        verb = _METHODS.get(func.attr)
        if isinstance(func.value, ast.Name) and func.attr in _MUTATORS:
            self.forget(func)
        if verb is None:
            return
        given = self.value(node.args[0]) if node.args else ""
        if verb == "write_argument":
            if given and isinstance(given, str) and "." in posixpath.basename(given):
                self.add("write", given)
            elif given != "":
                self.partial = True  # it may add a suffix
            return
        if verb in ("partial", "perhaps"):
            self.partial = self.partial or verb == "partial" or _names_a_file(given)
            return
        owner = func.value
        path = self.value(owner)
        is_path = isinstance(owner, ast.BinOp | ast.Call | ast.Attribute) or (
            isinstance(owner, ast.Name)
            and (owner.id in self.paths or "path" in owner.id.lower())
        )
        if func.attr in ("replace", "rename", "open", "touch", "mkdir", "unlink", "rmdir"):
            # `text.replace("a", "b")` changes a string, `path.replace(target)` moves a file.
            if not is_path or (func.attr == "replace" and len(node.args) != 1):
                if isinstance(owner, ast.Name) and path is None and not node.keywords:
                    moves = func.attr == "rename" and len(node.args) == 1
                    self.partial = self.partial or moves or func.attr == "unlink"
                return
        if verb == "move":
            target = self.value(node.args[0]) if node.args else None
            if path is not None or isinstance(target, str):
                self.add("move", path, target)
            self.partial = self.partial or func.attr == "rename" and path is None
        elif verb == "open_method":
            self._open(path, node, 0)
        else:
            missing = any(word.arg == "missing_ok" for word in node.keywords)
            self.add("delete_if" if verb == "delete" and missing else verb, path)


def _names_a_file(given: Value) -> bool:
    return (
        isinstance(given, str)
        and re.fullmatch(r"[\w./-]+\.(?:xml|html|svg)", given) is not None
    )


_MUTATORS = frozenset(
    "append extend insert pop remove clear update setdefault add sort".split()
)


def _ends(item: ast.stmt) -> bool:
    """Whether a statement ends the script. An exit as a failure does not count: a script that
    succeeded did not come there. Nor does the end of a loop: what a loop with one does is not
    decided."""
    if isinstance(item, ast.Raise):
        return re.fullmatch(r"raise SystemExit(?:\(0?\))?", ast.unparse(item)) is not None
    call = item.value if isinstance(item, ast.Expr) else None
    names = ("sys.exit", "exit", "quit", "os._exit", "os.abort")
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name | ast.Attribute):
        return False
    return ast.unparse(call.func) in names and (
        not call.args or ast.unparse(call.args[0]) in ("0", "None")
    )


def plain_python(code: str) -> str:
    """A notebook cell as plain Python: ``!command`` is a call, magics are left out."""
    if "\n!" not in code and "\n%" not in code and code[:1] not in "!%":
        return code
    lines: list[str] = []
    for line in code.split("\n"):
        if line[:1] == "!":
            line = f"os.system({line[1:]!r})"
        elif line[:1] == "%":
            line = f"os.system({line[2:]!r})" if line.startswith("%%bash") else ""
        lines.append(line)
    return "\n".join(lines)
