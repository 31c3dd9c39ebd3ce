"""Which command lines are PowerShell's, which of those only look, and which files they write.

PowerShell is not interpreted: a command line of it may have changed any file, unless all of it
is known to read, or to write to a path that it names."""

from collections.abc import Callable
from functools import cache

from leftoff import lazy_re as re
from leftoff.shell.commands import program_rules
from leftoff.shell.heredocs import extract_heredocs

_CMDLET = (
    r"\b(?:(?:Get|Set|Remove|New|Copy|Move|Rename|Clear|Test)-(?:Item|ItemProperty|Content|Location"
    r"|ChildItem|Path|Variable|Process|Command|Help|Date|Module|Service|Object|Acl|Alias|FileHash"
    r"|Host|Random|History|ExecutionPolicy|NetTCPConnection|PSDrive|CimInstance|WmiObject|Package"
    r"|AppxPackage|Unique|Member)|(?:Select|Where|ForEach|Measure|Sort|Group|Compare|Tee|New|Add)"
    r"-(?:Object|String|Member|Content|Type|Xml)|(?:Out|Write|Read)-(?:File|Host|Output|Null|String"
    r"|Error|Warning|Verbose)|Invoke-(?:WebRequest|RestMethod|Expression|Command|Item)"
    r"|(?:Start|Stop|Wait)-(?:Process|Service|Sleep|Job|Transcript)|Format-(?:Table|List)"
    r"|(?:ConvertTo|ConvertFrom|Import|Export)-(?:Json|Csv|Module|Clixml|Html|SecureString)"
    r"|(?:Expand|Compress)-Archive|(?:Split|Join|Resolve|Convert)-Path)\b"
)
# A cmdlet at the beginning, or in parentheses, or an assignment, which bash has without blanks.
_POWERSHELL = re.compile(rf"(?:\A[\s(]*|[|;] ){_CMDLET}|\A\s*\$\w+ = ")
_POWERSHELL_NAMES = re.compile(rf"{_CMDLET}|\A[^\0]{{0,200}}\$env:")
# What stands in PowerShell alone; with a cmdlet anywhere it shows the language.
_POWERSHELL_MARKS = re.compile(r"\$env:|\$PSVersionTable|-ErrorAction|\$_\.|-LiteralPath")
QUOTED_TEXT = r"""'[^']*'|"(?:\\.|[^"\\])*\""""
_QUOTED = re.compile(QUOTED_TEXT)
# A cheap first check: all of these contain a match of this.
_POWERSHELL_SIGN = re.compile(r"-[A-Z]|\$[eP_]|\A\s*\$\w+ = ")

# Cmdlets that change no file, and methods that only read.
_READS = re.compile(
    r"(?:Get|Select|Where|Sort|Measure|Test|Resolve|Compare|Group|ConvertTo|ConvertFrom|Split"
    r"|Join)-[A-Z]\w+|ForEach-Object\s*\Z|Format-(?:Table|List|Hex|Wide)|Write-(?:Host|Output|Error|Warning|Verbose)"
    r"|Out-(?:String|Null|Host)|Start-Sleep|Stop-Process|(?:Set|Push|Pop)-Location"
)
_METHOD = re.compile(r"(?:\.|::)(\w+)\(")
_READING_METHODS = re.compile(
    r"(?:Read|Get|To|Load|Starts|Ends|Index|Last|Is)[A-Z]\w*|Contains|Split|Trim\w*|Replace"
    r"|Substring|Match(?:es)?|Exists|Equals|Join|Format"
)
# What a part of a command line may begin with, besides a cmdlet that reads.
_HARMLESS = re.compile(r"(?:cd|echo|if|else|elseif|foreach)\b|[$'\[)@,\d!]|\Z")
_TEXT = re.compile(r"""'[^']*'|"[^"]*\"""")  # a backslash escapes nothing
_ASSIGNED = re.compile(r"\A\$[\w:.]+\s*\+?=\s*")
_DROPPED = re.compile(r"(?i)\d?>(?:&1|\s*\$null\b|\s*NUL\b)")
_PROGRAM = re.compile(r"([A-Za-z][\w-]*)(?:\.exe)?(?![\w.:\\/-])")


def only_looks(command: str) -> bool:
    """Whether a command line of PowerShell runs nothing but cmdlets, methods and programs that
    change no file, without a redirection.

    >>> only_looks("Get-ChildItem src -Recurse | Where-Object { $_.Length -gt 5 }")
    True
    >>> only_looks("Get-Content a.txt | ForEach-Object { Remove-Item $_ }")
    False"""
    # Escaped quotes and texts of several lines would hide where a quoted text ends.
    if "`" in command or '@"' in command or "@'" in command:
        return False
    text = _TEXT.sub(_without_text, _DROPPED.sub("", command)).replace("&&", ";")
    if ">" in text or "&" in text:
        return False
    for method in _METHOD.finditer(text):
        if _READING_METHODS.fullmatch(method[1]) is None:
            return False
    return all(
        _HARMLESS.match(part) or _READS.match(part) or _is_inert(part)
        for piece in re.split(r"[;|{}\n(]", text)
        for part in [_ASSIGNED.sub("", piece.strip())]
    )


_ASSIGNS = re.compile(r"""(?m)\$(\w+)\s*=\s*("[^"\n]*"|'[^'\n]*')\s*(?:;|$)""")
_VARIABLE = re.compile(r"\$(\w+)")
# To the end where it is not closed: else the time would be quadratic.
_LONG_TEXT = re.compile(r"(?ms)@(['\"])[ \t]*\n.*?(?:^\1@|\Z)")
_WORD = re.compile(r"""\"([^\"\n]*)\"|'([^'\n]*)'|([^\s;&|,]+)""")
# A cmdlet that writes, with its words, not in a comment, in quotes or where another one fails.
_WRITES = re.compile(
    r"(?ims)(?:(?<=[;|])(?<!\|\|)|^)([ \t]*)"
    r"((?:Set|Add)-Content|(?:New|Copy)-Item|Out-File|Tee-Object)"
    r"""((?:[ \t,]+(?:"[^"\n]*"|'[^'\n]*'|[^\s;|&{}()"'@,]+))+)[ \t]*(?=[;|\n]|\Z)"""
    r"""|<#.*?(?:#>|\Z)|(?<!\S)#[^\n]*|"[^"]*"|'[^']*'"""
)
_SWITCHES = frozenset("-force -nonewline -append -noclobber -passthru -recurse".split())
# What is no file: the environment, the registry, a device.
_NO_FILE = re.compile(r"(?i)\w{2,}:|(?:nul|con)\Z")
_TARGETS = ("-path", "-literalpath", "-filepath")


def values_in(command: str) -> Callable[[str | None], str]:
    """What a word stands for without its quotation marks, with the variables that a command
    line sets to a text."""
    known: dict[str, str] = {}

    def value(word: str | None) -> str:
        return _VARIABLE.sub(lambda m: known.get(m[1], m[0]), (word or "").strip("\"'"))

    for name, given in _ASSIGNS.findall(command):
        known[name] = value(given)
    return value


def named_writes(command: str) -> tuple[list[tuple[str, str, str]], str]:
    """What a command line of PowerShell writes to paths that it names, as (cmdlet, path, source
    of a copy or ""), and the line without that. Nothing is said of one with blocks, which may
    not run.

    >>> named_writes("ls; New-Item -ItemType File -Path 'a b.txt' -Force | Out-Null")
    ([('New-Item', 'a b.txt', '')], "ls; ''| Out-Null")"""
    command, value = _LONG_TEXT.sub("''", command), values_in(command)
    found: list[tuple[str, str, str]] = []
    if "{" in command or '`"' in command:
        return found, command

    def cut(match: re.Match[str]) -> str:
        if not match[2]:
            return match[0]
        cmdlet, options, plain, option = match[2].title(), dict[str, str](), list[str](), ""
        word, several, end = "", set[str](), 0
        for one in _WORD.finditer(match[3]):
            listed, end = "," in match[3][end : one.start()], one.end()
            if listed:
                several.add(word)
                continue
            word = value(one[0])
            if one[3] and word[:1] == "-":
                option = word.lower()
                options[option] = ""
                option = "" if option in _SWITCHES else option
            elif option:
                options[option], option = word, ""
            else:
                plain.append(word)
        path = next(filter(None, map(options.get, _TARGETS)), "") or "".join(plain[:1])
        kind = (options.get("-itemtype") or options.get("-type") or "file").lower()
        source = ""
        if cmdlet == "New-Item" and kind == "directory" or "-variable" in options:
            return f"{match[1]}''"  # no file is made
        if cmdlet == "New-Item":
            path = "/".join(filter(None, (path, options.get("-name"))))
        elif cmdlet == "Copy-Item":
            source, path = path, options.get("-destination") or "".join(plain[-1:])
        unsure = kind != "file" or source == path or not several.isdisjoint((path, source))
        unsure = unsure or not {"-recurse", "-whatif"}.isdisjoint(options)
        unsure = unsure or _NO_FILE.match(path) is not None
        if unsure or not path or not set("$*?`@[").isdisjoint(path + source):
            return match[0]
        found.append((cmdlet, path, source))
        return f"{match[1]}''"

    return found, _WRITES.sub(cut, command)


def _is_inert(part: str) -> bool:
    program = _PROGRAM.match(part)
    if program is None:
        return False
    name = program[1].casefold()  # or with its first argument: "npx tsc"
    return name in _inert() or " ".join([name, *part.casefold().split()[1:2]]) in _inert()


@cache
def _inert() -> frozenset[str]:
    rules = program_rules().by_name
    inert = {name.casefold() for name, rule in rules.items() if rule.kind == "inert"}
    return frozenset(inert | {"ls", "dir", "cat", "gci", "gc", "select", "sort"})


def _without_text(quoted: re.Match[str]) -> str:
    """A quoted text as an empty one, but for what PowerShell runs in it."""
    return quoted[0][1:-1] if "$(" in quoted[0] and quoted[0][0] == '"' else "''"


def is_powershell(command: str) -> bool:
    """Whether a command line is PowerShell's, by its cmdlets and signs."""
    head = command[:4000]
    if _POWERSHELL_SIGN.search(head) is None or head.lstrip()[:10].lower().startswith(
        ("powershell", "pwsh")
    ):
        return False
    if _POWERSHELL.search(head) is not None:
        plain = extract_heredocs(head)[0] if "<<" in head else head
        if _POWERSHELL.search(_QUOTED.sub("''", plain)) is not None:
            return True
    marked = _POWERSHELL_MARKS.search(head) is not None and "powershell" not in head.lower()
    return marked and _POWERSHELL_NAMES.search(head) is not None
