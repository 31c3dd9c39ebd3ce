"""The task door: `nox` runs what a change must pass, `nox -l` lists the rest.

Sessions run in the environment that nox was started from (see CONTRIBUTING.md), so that a check
takes seconds; `wheel` and `lock` make environments of their own. `.ci/run` is the full gate.
"""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "types", "imports", "tests"]
nox.options.default_venv_backend = "none"
nox.options.error_on_external_run = False


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff: rules and format. `nox -s lint -- --fix` mends what it can."""
    fix = "--fix" in session.posargs
    session.run("ruff", "check", *(["--fix"] if fix else []), ".")
    session.run("ruff", "format", *([] if fix else ["--check"]), ".")


@nox.session
def types(session: nox.Session) -> None:
    """Mypy, strict."""
    session.run("mypy", *session.posargs)


@nox.session
def imports(session: nox.Session) -> None:
    """The floors: imports go downward only."""
    session.run("lint-imports", "--no-logo", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Pytest on all processors; arguments after `--` go to pytest."""
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(venv_backend="virtualenv")
def wheel(session: nox.Session) -> None:
    """The tests against the built wheel, with src out of reach."""
    session.install(".[dev]")
    session.run("bash", ".ci/wheel", *session.posargs, external=True)


@nox.session(venv_backend="virtualenv")
def lock(session: nox.Session) -> None:
    """Writes requirements-dev.lock anew; `-- --upgrade` takes the newest releases."""
    session.install("pip-tools")
    session.run(
        "pip-compile",
        "--quiet",
        "--extra=dev",
        "--strip-extras",
        "--no-allow-unsafe",
        "--unsafe-package=leftoff",
        "--no-annotate",
        "--no-emit-index-url",
        "--no-emit-find-links",
        "--no-emit-trusted-host",
        "--no-emit-options",
        "--output-file=requirements-dev.lock",
        *session.posargs,
        "pyproject.toml",
        env={"CUSTOM_COMPILE_COMMAND": "nox -s lock"},
    )


@nox.session(venv_backend="virtualenv")
def docs(session: nox.Session) -> None:
    """The site, strictly, in site/; `nox -s docs -- serve` shows it while you write."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    session.install(*project["optional-dependencies"]["docs"])
    session.env["NO_MKDOCS_2_WARNING"] = "1"
    session.run("mkdocs", *(session.posargs or ["build", "--strict"]))


@nox.session(name="eval")
def evaluate(session: nox.Session) -> None:
    """Accuracy on the labelled sessions; see benchmarks/accuracy."""
    session.run("leftoff", "eval", "labels", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Speed as a ratio to `orjson.loads`; see benchmarks/speed."""
    session.run("python", "-m", "benchmarks.speed", *(session.posargs or ["gate"]))
