"""Checks: which runs a command line holds, what its status says about each, the verdicts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff.analysis.check_commands import kind_of_script
from leftoff.analysis.check_runs import implied, runs_of
from leftoff.analysis.checks import checks
from leftoff.extraction.checks import MAX_TAIL, clean, read_output
from leftoff.extraction.collector import Collector
from leftoff.session_view import SessionView
from leftoff.summary import Check

PASSED = "===== 3 passed in 0.11s =====\n"
FAILED = (
    "FAILED tests/test_a.py::test_b - assert 1 == 2\n==== 1 failed, 2 passed in 0.12s ====\n"
)


def view_of(*steps: tuple[str, Any]) -> SessionView:
    """A session of calls ("run", command, output, exit code), words and edits."""
    lines: list[dict[str, Any]] = []
    key = {"sessionId": "s", "cwd": "/home/ann/shop"}

    def add(kind: str, content: Any) -> None:
        number = len(lines)
        message = {"id": f"r{number}", "role": kind, "content": content}
        lines.append({**key, "uuid": f"u{number}", "type": kind, "message": message})

    for number, (kind, value) in enumerate(steps):
        if kind == "says":
            add("assistant", [{"type": "text", "text": value}])
            continue
        name, given, output, failed = value
        call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        add("assistant", [call])
        if output is not None:
            result = {"type": "tool_result", "tool_use_id": f"t{number}"}
            add("user", [{**result, "content": output, "is_error": failed}])
    reading = Collector("test", "claude_code")
    reading.feed(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    reading.close()
    return SessionView(reading.sessions[-1][""])


def run(command: str, output: str | None, code: int = 0, **given: Any) -> tuple[str, Any]:
    text = f"Exit code {code}\n{output}" if code else output
    return "run", ("Bash", {"command": command, **given}, text, bool(code))


def edit(path: str) -> tuple[str, Any]:
    given = {"file_path": path, "old_string": "a", "new_string": "b"}
    return "edit", ("Edit", given, "The file has been updated.", False)


def judged(command: str, output: str | None, code: int = 0) -> tuple[Check, ...]:
    return checks(view_of(run(command, output, code)))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest -q", [("pytest", "test")]),
        ("cd shop && FOO=1 timeout 60 uv run python -m pytest -x", [("pytest", "test")]),
        ("npx --yes tsc --noEmit -p .", [("tsc", "typecheck")]),
        ("pnpm --filter shop exec vitest run", [("vitest", "test")]),
        ("docker compose exec web pytest", [("pytest", "test")]),
        ("bash -lc 'cd shop && cargo clippy'", [("clippy", "lint")]),
        ("nix-shell -p python3 --run 'cd shop && pytest -q'", [("pytest", "test")]),
        ("nix develop --command bash -c 'make lint'", [("make", "lint")]),
        ("sudo -u ann nice -n 5 go vet ./...", [("go vet", "lint")]),
        ("mise x go@1.22 -- go test ./...", [("go test", "test")]),
        ("pdm run test", [("", "test")]),
        ("python scripts/check.py -m fast", [("", "other")]),
        ("npm run typecheck", [("npm", "typecheck")]),
        ("yarn lint && yarn test", [("npm", "lint"), ("npm", "test")]),
        ("make test", [("make", "test")]),
        ("./gradlew :shop:test", [("gradle", "test")]),
        ("mvn -q package", [("maven", "build")]),
        ("prettier --check src", [("prettier", "format")]),
        ("gofmt -l . && go vet ./...", [("gofmt", "format"), ("go vet", "lint")]),
        ("python -m unittest; ruff check .", [("unittest", "test"), ("ruff", "lint")]),
        ("cd C:\\shop; npx tsc --noEmit | Select-Object -Last 5", [("tsc", "typecheck")]),
    ],
)
def test_the_tool_is_found_behind_wrappers(
    command: str, expected: list[tuple[str, str]]
) -> None:
    assert [(r.tool, r.kind) for r in runs_of(command).runs] == expected


@pytest.mark.parametrize(
    ("command", "scope"),
    [
        ("eslint . --max-warnings 0", ""),
        ("npm run lint -- --max-warnings 0", ""),
        ("go test -timeout 60s -count 1 ./a", "./a"),
        ("go test ./a -run Late -at 00:01", "./a Late"),
        ("pytest -p no:cacheprovider -n 4 tests/a.py", "tests/a.py"),
        ("cargo test --test --no-run", ""),
        ("python -m unittest a.b -v 2", "a.b"),
        ("dotnet build -c Release -o out", ""),
        ("cd C:\\a; dotnet build b 2>&1 | Select-Object -Last 5", "b"),
        ("prettier -c src/a.ts", "src/a.ts"),
        ("tsc -p tsconfig.json --pretty false", "tsconfig.json"),
        ("pnpm -w run lint:all", "lint:all"),
        ("yarn workspace web test", "web"),
        ("pytest -k 'a and b' -x", "a and b"),
        ("ruff check " + "src/cart.py " * 20, " ".join(["src/cart.py"] * 13) + " …"),
        (
            "go test -run '" + "|".join(["TestCart"] * 30) + "'",
            "|".join(["TestCart"] * 17) + " …",
        ),
    ],
)
def test_the_scope_is_whole_words_and_no_values_of_options(command: str, scope: str) -> None:
    assert runs_of(command).runs[0].scope == scope


@pytest.mark.parametrize(
    "command",
    [
        "prettier --write src", "npm install", "npm run dev", "pytest --version", "cat pytest.log",
        "grep -rn 'passed' logs", "git commit -m 'tests pass'", "ruff format .", "vim Makefile",
        "playwright install", "go run .", "make clean", "go test -run '^$' -bench .",
    ],
)  # fmt: skip
def test_what_judges_nothing_is_no_check(command: str) -> None:
    assert runs_of(command).runs == ()


@pytest.mark.parametrize(
    ("command", "ok", "expected"),
    [
        ("pytest", True, {0: True}),
        ("pytest", False, {0: False}),
        ("cd a && pytest", False, {0: False}),
        ("pytest | tail -3", True, {}),
        ("set -o pipefail; pytest | tail -3", False, {0: False}),
        ("pytest || true", True, {}),
        ("pytest || exit 1", True, {0: True}),
        ("pytest; echo done", True, {}),
        ("ruff check . && pytest", True, {0: True, 1: True}),
        ("ruff check . && pytest", False, {}),
        ("ruff check .; pytest", False, {1: False}),
        ("! pytest", True, {0: False}),
        ("for d in a b; do (cd $d && pytest); done", True, {}),
        ("pytest &", True, {}),
        ("set -e\nruff check .\npytest", True, {0: True, 1: True}),
    ],
)
def test_what_the_status_of_a_line_says(
    command: str, ok: bool, expected: dict[int, bool]
) -> None:
    line = runs_of(command)
    assert implied(line.tree, ok, line) == expected


@pytest.mark.parametrize(
    ("command", "output", "code", "verdict", "basis"),
    [
        ("pytest", PASSED, 0, "passed", "output"),
        ("pytest | tail -3", FAILED, 0, "failed", "output"),
        ("pytest || true", FAILED, 0, "failed", "output"),
        ("pytest | tail -3", "x", 0, "unknown", ""),
        ("pytest | grep passed", PASSED, 0, "passed", "output"),
        ("tsc --noEmit", "", 0, "passed", "recorder"),
        ("tsc --noEmit", "a.ts(1,2): error TS2304: x", 2, "failed", "output"),
        ("tsc --noEmit | tail", "", 0, "unknown", ""),
        ("eslint .; echo EXIT=$?", "EXIT=1", 0, "failed", "exit_code"),
        ("eslint . && echo LINT_OK", "LINT_OK", 0, "passed", "recorder"),
        ("pytest", "bash: pytest: command not found", 127, "unknown", ""),
        ("pytest", "Killed", 137, "unknown", ""),
        ("go test ./... | head -1", "ok  \ta/b\t0.1s", 0, "unknown", ""),
        ("go test ./... | head -3", "ok  \ta/b\t0.1s", 0, "passed", "output"),
        ("go test ./... | tail -3", "ok  \ta/b\t0.1s", 0, "passed", "output"),
        ("go test ./...", "?   \ta/b\t[no test files]", 0, "unknown", ""),
        ("pytest --cov", PASSED + "FAIL Required test coverage", 1, "unknown", ""),
        ("npm run build", "> shop@1.0.0 build\n> tsc -p .\n", 0, "passed", "recorder"),
        ("pytest", "\x1b[32m===== \x1b[1m3 passed\x1b[0m in 0.1s =====\x1b[0m", 0, "passed",
         "output"),
        ("npx tsc --noEmit 2>&1 | tail -5", "npm notice\nnpm notice New version\n", 0, "passed",
         "output"),
        ("npm run build 2>&1 | tail -9", "Debugger attached.\n> build\n> tsc && cp a b\n\n", 0,
         "passed", "output"),
        ("cd web && pytest", "bash: line 1: cd: web: No such file or directory", 1, "unknown",
         ""),
        ("go test -json ./... | python3 count.py", "Passed: 9, Failed: 1", 0, "failed", "output"),
        ("npm test", "web:test:  Tests  2 failed | 8 passed (10)", 1, "failed", "output"),
    ],
)  # fmt: skip
def test_the_verdict_and_what_it_rests_on(
    command: str, output: str, code: int, verdict: str, basis: str
) -> None:
    (check,) = judged(command, output, code)
    assert check.verdict == verdict
    assert basis in {check.basis, "exit_code" if check.basis == "recorder" else check.basis}


def test_counts_names_line_and_tail() -> None:
    (check,) = judged("pytest tests/test_a.py", FAILED, 1)
    assert (check.passed, check.failed, check.skipped) == (2, 1, None)
    assert check.failing == ("tests/test_a.py::test_b",)
    assert check.line == "==== 1 failed, 2 passed in 0.12s ===="
    assert check.scope == "tests/test_a.py"
    assert check.tail.endswith("in 0.12s ====")
    assert check.result is not None


def test_several_checks_in_one_command_are_judged_apart() -> None:
    output = "All checks passed!\n" + FAILED
    found = judged("ruff check . ; mypy . | tail -1; pytest", output, 1)
    assert [(c.tool, c.verdict) for c in found] == [
        ("ruff", "passed"), ("mypy", "unknown"), ("pytest", "failed"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "output", "code", "expected"),
    [
        ("pytest a; touch b; pytest c | tail -1", FAILED + PASSED, 0,
         [("a", "failed", 1), ("c", "passed", None)]),
        ("pytest a && pytest c", PASSED + FAILED, 1, [("a", "passed", None), ("c", "failed", 1)]),
        ("pytest a && pytest c", FAILED, 1, [("a", "failed", 1)]),
        ("npm run test:a; npm run test:b", " Tests  1 failed (1)\n Tests  2 passed (2)\n", 0,
         [("test:a", "failed", 1), ("test:b", "passed", None)]),
        ("mypy a; mypy b", "Found 2 errors in 1 file\nSuccess: no issues found in 1 source file\n",
         0, [("a", "failed", 2), ("b", "passed", None)]),
        # Whose summary is missing, nothing tells.
        ("pytest a; pytest b; pytest c", FAILED + PASSED, 0, [("a, b, c", "unknown", None)]),
        ("pytest a; pytest b; pytest c", PASSED + FAILED, 0, [("a, b, c", "failed", 1)]),
        ("for d in a b; do pytest $d; done", FAILED + PASSED, 0, [("", "unknown", None)]),
        # One run, of whose tests one printed a summary of its own.
        ("pytest -s a", FAILED + PASSED, 0, [("a", "passed", None)]),
        ("pnpm -r test", " Tests  1 failed (1)\n Tests  2 passed (2)\n", 0, [("", "failed", 1)]),
    ],
)  # fmt: skip
def test_runs_of_one_tool_in_a_command_are_judged_apart(
    command: str, output: str, code: int, expected: list[tuple[str, str, int | None]]
) -> None:
    found = judged(command, output, code)
    assert [(c.scope, c.verdict, c.failed) for c in found] == expected


def test_what_stands_after_a_failure_in_a_chain_did_not_run() -> None:
    found = judged("ruff check . && pytest", "a.py:1:1: F401 x\nFound 1 error.\n", 1)
    assert [(c.tool, c.verdict) for c in found] == [("ruff", "failed")]


def test_what_stands_before_a_run_in_a_chain_passed() -> None:
    found = judged("npx tsc --noEmit && pytest | tail -3", PASSED)
    assert [(c.tool, c.verdict) for c in found] == [("tsc", "passed"), ("pytest", "passed")]


def test_edits_after_a_check_are_noted() -> None:
    found = checks(view_of(run("pytest", PASSED), edit("shop/a.py"), run("ruff check .", "")))
    assert [(c.tool, c.edited_since) for c in found] == [("pytest", True), ("ruff", False)]


def test_a_call_that_was_refused_ran_nothing() -> None:
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    assert checks(view_of(("run", ("Bash", {"command": "pytest"}, refused, True)))) == ()


def test_a_call_without_a_result_is_unknown() -> None:
    (check,) = judged("pytest", None)
    assert (check.verdict, check.result) == ("unknown", None)


def test_a_job_in_the_background_is_judged_by_its_later_output() -> None:
    started = (
        "Command running in background with ID: b1f. Output is being written to: /x/b1f.output"
    )
    launch = run("pytest", started, run_in_background=True)
    (check,) = checks(view_of(launch))
    assert check.verdict == "unknown"
    asked = ("run", ("TaskOutput", {"task_id": "b1f"}, f"<output>\n{FAILED}</output>", False))
    (check,) = checks(view_of(launch, asked))
    assert (check.verdict, check.failed) == ("failed", 1)
    read = ("run", ("Read", {"file_path": "/x/b1f.output"}, f"     1→{PASSED}", False))
    (check,) = checks(view_of(launch, read))
    assert (check.verdict, check.passed) == ("passed", 3)


def test_a_file_that_shows_a_result_is_no_check() -> None:
    assert judged("cat pytest.log", PASSED) == ()
    assert judged("grep -c passed notes.txt", "3 passed in 0.1s") == ()


def test_an_output_is_cleaned_before_it_is_read() -> None:
    assert clean("Chunk ID: a\nWall time: 1.0\nOutput:\n\x1b[1mok\x1b[0m\r\n") == "ok\n"
    assert clean("[test] $ pytest\n@shop/web:test: FAIL a") == "$ pytest\nFAIL a"
    assert clean("a.ts(1,2): error &lt;x&gt;") == "a.ts(1,2): error <x>"


def test_the_tail_is_bounded_and_hides_what_the_whole_hides() -> None:
    secret = "ghp_" + "a1B2" * 9
    text = "x\n" * 300 + f"token: {secret}\n" + "y" * 390
    tail = read_output(text)[2]
    assert len(tail) <= MAX_TAIL
    assert secret[8:] not in tail or secret in tail


@pytest.mark.parametrize(
    ("command", "output", "verdicts"),
    [
        ("go build ./... 2>&1 | tail -5", "", ["passed"]),
        ("cd shop && tsc --noEmit 2>&1 | head --lines=20", "", ["passed"]),
        ("(cd shop && go vet ./...) 2>&1 | tee log | tail -n 20", "", ["passed"]),
        ("gofmt -l . |& cat", "", ["passed"]),
        ("bash -lc 'go vet ./... 2>&1 | tail -5'", "", ["passed"]),
        ("go build ./... 2>&1 | tail -5 && echo BUILT", "BUILT", ["passed"]),
        ("go build . 2>&1 | tail; echo ==vet; go vet . 2>&1 | head; echo done",
         "==vet\ndone", ["passed", "passed"]),
        ("echo ==build; go build . 2>&1 | tail", "==build", ["passed"]),
        ("go build . 2>&1 | head && echo BUILD OK\ncat a.go", "BUILD OK\n" + "x\n" * 300,
         ["passed"]),
        ("cat a.go; echo ==build; go build . 2>&1 | head && echo OK", "x\n" * 300 + "==build\nOK",
         ["passed"]),
        ("go test ./... 2>&1 | grep -v '^ok\\|no test files' | head", "", ["passed"]),
        ("go test ./... 2>&1 | grep -vE '^ok'; echo EXIT=${PIPESTATUS[0]}", "EXIT=", ["passed"]),
        # Nothing shown is not nothing printed.
        ("go test ./... 2>&1 | grep -v '^ok\\|FAIL' | head", "", ["unknown"]),
        ("go test ./... 2>&1 | grep -vE '(o|F|-)+'", "", ["unknown"]),
        ("go test ./... 2>&1 | grep FAIL", "", ["unknown"]),
        ("pytest 2>&1 | grep -v warning", "", ["unknown"]),
        ("go build . 2>&1 | head; echo BUILD OK\ncat a.go", "x.go\nBUILD OK\n" + "x\n" * 300,
         ["unknown"]),
        ("go build ./... | tail -5", "", ["unknown"]),
        ("go build ./... 2>/dev/null | tail -5", "", ["unknown"]),
        ("go build ./... >/dev/null 2>&1 | tail -5", "", ["unknown"]),
        ("go build ./... 2>&1 | tail -1", "", ["unknown"]),
        ("go build ./... 2>&1 | tail -n +5", "", ["unknown"]),
        ("go build ./... 2>&1 | head -c 20", "", ["unknown"]),
        ("go build ./... 2>&1 | grep shop | tail -5", "", ["unknown"]),
        ("eslint src -o report 2>&1 | tail -5", "", ["unknown"]),
        ("pytest 2>&1 | tail -5", "", ["unknown"]),
        # It may not have run, or not to its end.
        ("timeout 60 tsc --noEmit 2>&1 | tail -5", "", ["unknown"]),
        ("test -d shop && go build ./... 2>&1 | tail -5", "", ["unknown"]),
        ("grep -q shop go.mod && go vet ./... 2>&1 | tail -5", "", ["unknown"]),
        ("true || go vet ./... 2>&1 | tail -5", "", ["unknown"]),
        ("for d in a b; do go build ./$d 2>&1 | tail -5; done", "", ["unknown"]),
        # Something stands where it would have printed.
        ("go build ./... 2>&1 | tail -5 && echo BUILT", "till.go:3: odd\nBUILT", ["unknown"]),
        ("echo ==a; go build . 2>&1 | tail; echo ==b", "==a\nodd\n==b", ["unknown"]),
        ("echo ==a; go build . 2>&1 | tail; echo ==a", "==a\n==a", ["unknown"]),
    ],
)  # fmt: skip
def test_silence_is_an_output_where_all_of_it_would_be_seen(
    command: str, output: str, verdicts: list[str]
) -> None:
    found = judged(command, output)
    assert [c.verdict for c in found] == verdicts
    assert {c.basis for c in found} <= {"output", ""}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("test:unit", "test"), ("lint", "lint"), ("type-check", "typecheck"), ("build", "build"),
        ("format:check", "format"), ("verify", "other"), ("dev", ""), ("test:watch", ""),
        ("format", ""), ("latest", ""),
    ],
)  # fmt: skip
def test_scripts_by_name(name: str, kind: str) -> None:
    assert kind_of_script(name) == kind


def test_a_line_that_two_tools_print_is_that_of_the_one_that_failed() -> None:
    error = "# shop\n./a.go:3:5: undefined: x\nFAIL\tshop [build failed]\n"
    found = judged("go build ./... && go test ./... | tail -3", error)
    assert [(c.tool, c.verdict) for c in found] == [
        ("go build", "passed"), ("go test", "failed"),
    ]  # fmt: skip
