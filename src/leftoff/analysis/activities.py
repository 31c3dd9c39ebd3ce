"""The activity of each tool call, by its kind, its command, its paths.

Activities: ask, build, commit, delegate, deploy, edit, edit_doc, edit_scratch, edit_test,
fetch, inspect_change, install, issue, lint, look, other, plan, pull_request, push,
read_pull_request, run, run_scratch, search, skill, sync, test, tidy, wait.

An activity is finer than a stage and never depends on other calls: `stages` derives stages from
activities, `progress` looks for edits, test runs and deliveries.
"""

from __future__ import annotations

from functools import lru_cache

from leftoff import lazy_re as re
from leftoff.extraction.evidence import Called, Ran, Touched
from leftoff.session_view import SessionView, once
from leftoff.shell import analyze, command_facts
from leftoff.shell.paths import is_test

# Activities that change the work itself, scratch files left out.
EDITING = frozenset({"edit", "edit_doc", "edit_test"})

_KINDS = {
    "read": "look",
    "list": "look",
    "search": "search",
    "fetch": "fetch",
    "poll": "wait",
    "plan": "plan",
    "ask": "ask",
    "subagent": "delegate",
    "skill": "skill",
    "think": "plan",
    "browser": "run",
    "finish": "pull_request",
}
_EDITS = frozenset({"edit", "create", "patch", "notebook", "delete", "move"})

_GIT = {
    "commit": "commit",
    "add": "commit",
    "tag": "deploy",
    "push": "push",
    "diff": "inspect_change",
    "show": "inspect_change",
    "log": "inspect_change",
    "blame": "inspect_change",
    "status": "inspect_change",
    "range-diff": "inspect_change",
    "merge": "sync",
    "rebase": "sync",
    "pull": "sync",
    "fetch": "sync",
    "checkout": "sync",
    "switch": "sync",
    "branch": "sync",
    "stash": "sync",
    "reset": "sync",
    "restore": "sync",
    "cherry-pick": "sync",
    "worktree": "sync",
    "merge-base": "inspect_change",
    "rev-parse": "look",
    "rev-list": "look",
    "mv": "tidy",
    "rm": "tidy",
    "clean": "tidy",
    "apply": "edit",
    "am": "sync",
    "revert": "sync",
}
_LOOKERS = frozenset(
    "cat head tail sed nl less more bat awk cut sort uniq wc ls tree stat file pwd jq yq od xxd"
    " view open scroll_down scroll_up goto which type realpath readlink du strings".split()
)
_SEARCHERS = frozenset("grep rg ag find fd ack search_dir search_file find_file ugrep".split())
# Programs that stand beside the one that a command line is about.
IDLE = frozenset(
    "cd echo printf export true false set test [ exit source . read sleep pushd popd unset"
    " local nvm eval : kill pkill if return basename dirname date tee xargs".split()
)
_TESTERS = frozenset(
    "pytest py.test unittest nose2 jest vitest mocha ava tap rspec phpunit ctest tox nox"
    " playwright cypress karma gotestsum nextest bats busted prove runtests.py".split()
)
_LINTERS = frozenset(
    "ruff flake8 pylint mypy pyright black isort eslint prettier biome tslint stylelint"
    " golangci-lint gofmt goimports staticcheck clippy-driver rubocop shellcheck hadolint"
    " markdownlint markdownlint-cli2 vale swiftlint ktlint checkstyle clang-format clang-tidy"
    " tsc tsgo pre-commit yamllint gopls".split()
)
_BUILDERS = frozenset(
    "make cmake ninja bazel esbuild webpack rollup vite gcc clang javac".split()
)
_RUNNERS = frozenset(
    "npm pnpm yarn bun mise just task gradle gradlew mvn mvnw dotnet swift mix deno go cargo"
    " make rake hatch pdm turbo nx lerna ninja bundle composer".split()
)
_INSTALLERS = frozenset("pip pip3 apt apt-get brew uv poetry gem conda yum dnf apk".split())
_DEPLOYERS = frozenset(
    "kubectl helm terraform vercel netlify fly flyctl wrangler twine".split()
)
_INTERPRETERS = frozenset("python python3 node deno ruby php perl tsx ts-node java npx".split())

_NAMED = (
    (re.compile(r"test|spec|e2e|vitest|jest|nextest|verify|coverage"), "test"),
    (re.compile(r"lint|check|fmt|format|vet|clippy|typecheck|tsc|types?\b"), "lint"),
    (re.compile(r"publish|release|deploy"), "deploy"),
    (re.compile(r"build|compile|bundle|package|assemble|generate"), "build"),
    (re.compile(r"^(?:install|ci|add|i|restore|update|get|mod)$"), "install"),
    (re.compile(r"^(?:run|start|dev|serve|exec|x|preview|cli|storybook)$"), "run"),
)
_SCRATCH = re.compile(r"repro|(?:^|/)(?:debug|scratch|tmp|temp|try)[^/]*\.\w+$|^/tmp/|test_fix")
# Where clients put the plans that they show to the person.
_PLAN = re.compile(r"(?:^|[/\\])\.\w+[/\\]plans[/\\][^/\\]+\.md$")
_DOC = re.compile(
    r"\.(?:md|mdx|rst|adoc|txt)$|(?:^|/)(?:README|CHANGELOG|LICENSE)", re.IGNORECASE
)
_CMD = re.compile(r"""\bcmd\s*:\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`([^`]*)`)""")
_PATCHED = re.compile(r"\*\*\* (?:Add|Update|Delete) File: ([^\n\\]+)")
_ISSUE = re.compile(r"issue|ticket|linear|jira|comment", re.IGNORECASE)


@once
def activities(view: SessionView) -> dict[tuple[int, int], tuple[str, ...]]:
    """The activities of every call on the active branch, by message and part."""
    ran = {(r.ref.message, r.part): (r.command, r.language) for r in view.each(Ran)}
    touched: dict[tuple[int, int], list[str]] = {}
    for item in view.each(Touched):
        if item.verb != "read":
            touched.setdefault((item.ref.message, item.part), []).append(item.path)
    found: dict[tuple[int, int], tuple[str, ...]] = {}
    for call in view.each(Called):
        place = (call.message, call.part)
        command = ran.get(place)
        if command is not None:
            found[place] = of_command(*command)
        elif place in touched:
            found[place] = tuple(sorted({of_edit(path) for path in touched[place]}))
        else:
            found[place] = (of_call(call.kind, call.name, call.text),)
    return found


def of_call(kind: str, name: str, text: str) -> str:
    """The activity of a call that runs no command."""
    if kind in _EDITS:
        return of_edit(text)
    known = _KINDS.get(kind)
    if known is not None:
        return known
    return "issue" if _ISSUE.search(name) else "other"


def of_edit(path: str) -> str:
    """The kind of edit, by the path: edit, edit_test, edit_doc, edit_scratch or plan."""
    if _PLAN.search(path):
        return "plan"
    if _SCRATCH.search(path):
        return "edit_scratch"
    if _DOC.search(path):
        return "edit_doc"
    return "edit_test" if is_test(path) else "edit"


@lru_cache(maxsize=1024)
def of_command(command: str, language: str = "bash") -> tuple[str, ...]:
    """The activities of a command line, sorted; ("look",) if none is recognised."""
    found: set[str] = set()
    if language == "javascript":
        found |= {of_edit(path) for path in _PATCHED.findall(command)}
        for groups in _CMD.findall(command):
            found.update(of_command(next(filter(None, groups), "").replace('\\"', '"')))
        if not found:
            return ("wait",) if "write_stdin" in command or "wait" in command else ("run",)
    elif language == "python":
        found.add("run")
    else:
        found |= {_of_program(name, sub, command) for name, sub in programs_in(command)} - {""}
    # Looking is what the rest of a pipeline does.
    if len(found) > 1:
        found -= {"look", "search"}
    return tuple(sorted(found)) or ("look",)


def programs_in(command: str) -> list[tuple[str, str]]:
    """The programs of a command line with their subcommands."""
    return command_facts(analyze(command))


def _of_program(name: str, sub: str, command: str) -> str:
    name = name.removesuffix(".exe").removesuffix(".cmd")
    if name in IDLE:
        return ""
    if name == "git":
        return _GIT.get(sub, "inspect_change")
    if name in {"gh", "glab", "hub"}:
        return _of_hub(sub, command)
    if name in _TESTERS:
        return "test"
    if name in _LINTERS:
        return "lint"
    if name in _RUNNERS:
        return _of_task(name, sub, command)
    if name in _BUILDERS:
        return "build"
    if name in _INSTALLERS:
        return "install"
    if name in _DEPLOYERS:
        return "deploy"
    if name in _SEARCHERS:
        return "search"
    if name in _LOOKERS:
        return (
            "edit"
            if name == "sed" and re.search(r"\bsed\s+(?:-\w+\s+)*-i", command)
            else "look"
        )
    if name in {"apply_patch", "patch"}:
        return "edit"
    if name in {"rm", "mv", "cp", "mkdir", "touch", "chmod", "ln", "unlink"}:
        return "tidy"
    if name in _INTERPRETERS:
        if re.search(r"runtests|\btest|pytest|unittest|vitest|jest|mocha", f"{name} {sub}"):
            return "run_scratch" if _SCRATCH.search(sub) else "test"
        return "run_scratch" if _SCRATCH.search(sub) or not sub else "run"
    if name in {"curl", "wget", "http"}:
        return "fetch"
    return "run"


def _of_hub(sub: str, command: str) -> str:
    match = re.search(r"\b(?:gh|glab|hub)\s+(?:pr|mr)\s+(\w[\w-]*)", command)
    if sub in {"pr", "mr"} and match:
        if match[1] in {"create", "merge", "ready", "edit", "close", "reopen"}:
            return "pull_request"
        return "read_pull_request"
    if sub == "release":
        return "deploy"
    if sub == "issue":
        return "issue"
    return "read_pull_request"


def _of_task(name: str, sub: str, command: str) -> str:
    """The activity of a task runner, by the words after its name."""
    start = command.find(name)
    words = re.split(r"[\s;&|]+", command[start : start + 160])[1:7]
    for word in words:
        if word.startswith("-") or "/" in word:
            continue
        for pattern, activity in _NAMED:
            if activity != "run" and pattern.search(word):
                return activity
    if sub in {"run", "exec"} or name in {"make", "just", "task", "mise"}:
        return "build" if name == "make" else "run"
    for pattern, activity in _NAMED:
        if pattern.search(sub):
            return activity
    return "run"
