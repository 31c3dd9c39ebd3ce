"""What a command line asks git or a forge to do: its steps, by the shell's grammar."""

from sys import intern

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.shell.ast import (
    UNKNOWN,
    Command,
    Document,
    Group,
    Logical,
    Pipeline,
    Script,
    Sequence,
    Statement,
    Substitution,
    Variable,
    Word,
    named_commands,
)
from leftoff.shell.commands import unwrapped
from leftoff.shell.paths import absolute, is_within
from leftoff.shell.per_command import per_command
from leftoff.shell.quoting import unmark_patterns

_PROGRAMS = frozenset({"git", "gh", "glab", "hub"})
# Options before the subcommand whose value would be taken for it.
_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "-R", "--repo"})
# A quiet one prints no line with its hash, so its success alone must do.
_QUIET = re.compile(r"-[a-zA-Z]*q[a-zA-Z]*|--quiet")
# `-m` may end other short options (`-am`), and its text may hold the other kind of quote.
_QUOTED = re.compile(r"-[a-z]*m\s*([\"'])((?:(?!\1)[^\\]|\\.)*)", re.DOTALL)


class GitStep(Struct, frozen=True):
    """One invocation of git or of a forge's command line.

    Attributes:
        program, verb: e.g. ("git", "commit"), ("gh", "pr create").
        words: what stands after the verb, None for a word that depends on variables.
        subject: the first line of the message given on the command line, "" if there is none.
        certain: the command line as a whole succeeds only if this step did.
        counted: False in a loop or a branch: it may have run any number of times.
        silent: its output is dropped or it was asked to be quiet.
        folder: where the command line itself went before (`cd`, `git -C`), "" for nowhere."""

    program: str
    verb: str
    words: tuple[str | None, ...] = ()
    subject: str = ""
    certain: bool = True
    counted: bool = True
    silent: bool = False
    folder: str = ""

    def has(self, *flags: str) -> bool:
        """Whether one of these options is given."""
        return any(word in flags for word in self.words)

    def value(self, *flags: str) -> str:
        """The value of an option, "" if it is not given or not literal."""
        for word, following in zip(self.words, (*self.words[1:], None), strict=True):
            option, _, value = (word or "").partition("=")
            if option in flags and (value or following):
                return value or following or ""
        return ""

    @property
    def operands(self) -> tuple[str, ...]:
        """The literal words that are no options; values of options are among them."""
        return tuple(w for w in self.words if w and not w.startswith("-"))


@per_command
def git_steps(command: str, script: Script) -> tuple[GitStep, ...]:
    """The steps of a command line in order."""
    if not any(name in command for name in _PROGRAMS):
        return ()
    walk = _Walk(command)
    walk.visit(script.body, certain=True, counted=True, strict="pipefail" in command)
    return tuple(walk.found)


class _Walk:
    """The steps found so far, and the folder that the last `cd` went to."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.found: list[GitStep] = []
        self.folder = ""

    def visit(self, node: Statement, *, certain: bool, counted: bool, strict: bool) -> None:
        if isinstance(node, Command):
            self.add(node, certain, counted)
        elif isinstance(node, Sequence):
            stops = strict
            for at, item in enumerate(node.items):
                ends = at == len(node.items) - 1 or stops
                self.visit(item, certain=certain and ends, counted=counted, strict=strict)
                if isinstance(item, Command) and item.words[:1] == ("set",):
                    flags = item.words[1] if len(item.words) > 1 else ""
                    stops |= isinstance(flags, str) and "e" in flags and flags[:1] == "-"
        elif isinstance(node, Logical):
            sure = certain and node.both
            self.visit(node.left, certain=sure, counted=counted, strict=strict)
            self.visit(node.right, certain=sure, counted=counted and node.both, strict=strict)
        elif isinstance(node, Group) and not node.subshell:
            self.visit(node.item, certain=certain, counted=counted, strict=strict)
        else:
            before = self.folder  # what follows is there again, or may be
            if isinstance(node, Pipeline):
                for at, item in enumerate(node.items):
                    ends = at == len(node.items) - 1 or strict
                    self.visit(item, certain=certain and ends, counted=counted, strict=strict)
            elif isinstance(node, Group):
                self.visit(node.item, certain=certain, counted=counted, strict=strict)
            else:  # loops, branches, functions, background
                for _, inner in named_commands(node):
                    self.add(inner, False, False)
            self.folder = before

    def add(self, node: Command, certain: bool, counted: bool) -> None:
        words = list(node.words)
        if words[:1] == ["cd"] and len(words) == 2:
            self.folder = _within(self.folder, words[1])
            return
        inner, _ = unwrapped([w if isinstance(w, str) else "$" for w in words])
        start = len(words) - len(inner)
        if not inner or _name(words[start]) not in _PROGRAMS:
            return
        program, folder = _name(words[start]), self.folder
        rest = words[start + 1 :]
        while rest and isinstance(rest[0], str) and rest[0].startswith("-"):
            if rest[0] == "-C" and rest[1:]:
                folder = _within(folder, rest[1])
                if not isinstance(rest[1], str):
                    certain = counted = False  # a repository that only a variable names
            rest = rest[2:] if rest[0] in _WITH_VALUE else rest[1:]
        if not rest or not isinstance(rest[0], str):
            return
        verb, rest = rest[0], rest[1:]
        if program != "git" and verb in {"pr", "mr", "release"} and rest:
            verb, rest = f"{verb} {rest[0]}", rest[1:]
        # Thousands of commands are held; their words are few.
        literal = tuple(word and intern(word) for word in map(_literal, rest))
        dropped = any(
            isinstance(r.target, str) and r.target == "/dev/null" and r.descriptor in {-1, 1}
            for r in node.redirects
        )
        titled = verb in {"commit", "pr create", "mr create"}
        subject = _subject(rest, node, self.command) if titled else ""
        quiet = dropped or any(w and _QUIET.fullmatch(w) for w in literal)
        self.found.append(
            GitStep(program, verb, literal, subject, certain, counted, quiet, folder)
        )


def _within(folder: str, word: str | Word) -> str:
    """A folder as seen from another one, with the names of variables that stand for it."""
    word = word if isinstance(word, str) else "".join(map(_folder_part, word.parts))
    rooted = word[:1] in {"/", "~", "$"} or word[1:2] == ":"
    return word if rooted or not folder else f"{folder}/{word}"


# Variables and commands that give the folder that a shell is in, or the root of its repository.
_GIVEN = {"PWD": ".", "HOME": "~"}
_HERE = (("pwd",), ("git", "rev-parse", "--show-toplevel"))


def _folder_part(part: str | Variable | Substitution) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Variable):
        return _GIVEN.get(part.name, f"${part.name}")
    here = isinstance(part.body, Command) and part.body.words in _HERE
    return "." if here else "$(…)"


def folder_outside(step: GitStep, cwd: str, root: str) -> str:
    """The folder in which a step ran, "" where it is the session's `root`, one below it or one
    above it, which hold the same repository most of the time, or where the `root` is not known.
    A variable or a command that gives a folder stands for it.

    Args:
        cwd: the folder of the call, "" where it is that of the session."""
    if not step.folder and not cwd:
        return ""
    if "$" in step.folder:
        return step.folder
    folder = absolute(step.folder or ".", absolute(cwd, root) or root)
    near = is_within(folder, root) or is_within(root, folder)
    return "" if near or not root or folder[:1] == "." else folder


def _name(word: str | Word) -> str:
    return word.rpartition("/")[2].removesuffix(".exe") if isinstance(word, str) else ""


def _literal(word: str | Word) -> str | None:
    """The text of a word, None where it is not known; a pattern stands for itself, as where no
    file fits it."""
    pieces = [_piece(part) for part in ((word,) if isinstance(word, str) else word.parts)]
    text = UNKNOWN if None in pieces else "".join(p or "" for p in pieces)
    return None if UNKNOWN in text else unmark_patterns(text)


def _piece(part: object) -> str | None:
    """The text of a part of a word: itself, or a here-document that `cat` prints."""
    if isinstance(part, str):
        return part
    if isinstance(part, Substitution) and isinstance(part.body, Command):
        for redirect in part.body.redirects:
            if isinstance(redirect.target, Document):
                return redirect.target.text
    return None


def _subject(rest: list[str | Word], node: Command, command: str) -> str:
    """The first line of the message; of one that the parser cannot give, by its text."""
    message: str | None = None
    for at, word in enumerate(rest):
        if not isinstance(word, str):
            continue
        if re.fullmatch(r"-[a-zA-Z]*m|--message|--title|-t", word) and at + 1 < len(rest):
            message = _literal(rest[at + 1])
            break
        if word.startswith(("--message=", "--title=")):
            message = _literal(word.partition("=")[2])
            break
        if word in {"-F", "--file"} and rest[at + 1 : at + 2] == ["-"]:
            documents = [r.target for r in node.redirects if isinstance(r.target, Document)]
            message = documents[0].text if documents else None
            break
    else:
        return ""
    if message is None:
        quoted = _QUOTED.search(command, max(0, command.find(" commit")))
        message = quoted[2] if quoted else ""
        if "$" in message.partition("\n")[0]:
            return ""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[0] if lines else ""
