"""Settings: every key of every design, five places, one precedence, helpful errors."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from leftoff.errors import squashed
from leftoff.settings import load, setting_types

# The keys of the designs as they write them, with the defaults that they give.
RESUME_LOG = {
    "context_management.enabled": True,
    "context_management.budget_total": 200000,
    "context_management.thresholds.caution": 0.70,
    "context_management.thresholds.warning": 0.85,
    "context_management.thresholds.critical": 0.95,
    "context_management.resume_logs.enabled": True,
    "context_management.resume_logs.auto_generate": True,
    "context_management.resume_logs.max_tokens": 10000,
    "context_management.resume_logs.storage_dir": ".claude-mpm/resume-logs",
    "context_management.resume_logs.format": "markdown",
    "context_management.resume_logs.triggers": [
        "model_context_window_exceeded",
        "max_tokens",
        "manual_pause",
        "threshold_critical",
        "threshold_warning",
    ],
    "context_management.resume_logs.cleanup.enabled": True,
    "context_management.resume_logs.cleanup.keep_count": 10,
    "context_management.resume_logs.cleanup.auto_cleanup": True,
}
CHECKPOINT = {
    "TOKEN_BUDGET_CONFIG.ENABLED": True,
    "TOKEN_BUDGET_CONFIG.PROVIDER_LIMITS": {
        "gemini-2.0-pro": 1_800_000,
        "gemini-1.5-pro": 1_800_000,
        "gpt-4-turbo": 120_000,
        "claude-3.5-sonnet": 180_000,
        "copilot": 4_096,
    },
    "TOKEN_BUDGET_CONFIG.THRESHOLDS.WARNING": 0.80,
    "TOKEN_BUDGET_CONFIG.THRESHOLDS.CHECKPOINT_90": 0.90,
    "TOKEN_BUDGET_CONFIG.THRESHOLDS.CHECKPOINT_95": 0.95,
    "TOKEN_BUDGET_CONFIG.THRESHOLDS.CHECKPOINT_98": 0.98,
    "TOKEN_BUDGET_CONFIG.CONTEXT_DUMP.ENABLED": True,
    "TOKEN_BUDGET_CONFIG.CONTEXT_DUMP.MARKDOWN_UPDATE": True,
    "TOKEN_BUDGET_CONFIG.CONTEXT_DUMP.CHECKPOINT_DIR": "./tmp/context-checkpoints",
    "TOKEN_BUDGET_CONFIG.CONTEXT_DUMP.MAX_HISTORY_LINES": 500,
    "TOKEN_BUDGET_CONFIG.CONTEXT_DUMP.COMPRESSION": "gzip",
    "TOKEN_BUDGET_CONFIG.CONTEXT_DUMP.RETENTION_DAYS": 7,
    "TOKEN_BUDGET_CONFIG.HANDOFF.ENABLED": True,
    "TOKEN_BUDGET_CONFIG.HANDOFF.FORCE_AT_98_PERCENT": True,
    "TOKEN_BUDGET_CONFIG.HANDOFF.FALLBACK_PROVIDER_SELECTION": "by_role_priority",
    "TOKEN_BUDGET_CONFIG.HANDOFF.TIMEOUT_MS": 30000,
    "TOKEN_BUDGET_CONFIG.LOGGING.VERBOSE": False,
    "TOKEN_BUDGET_CONFIG.LOGGING.LOG_THRESHOLDS": True,
    "TOKEN_BUDGET_CONFIG.LOGGING.LOG_HANDOFFS": True,
}
WORKFLOW = {
    "Resume.StorageLocation": "./.dotnet-prompt/resume",
    "Resume.RetentionDays": 7,
    "Resume.EnableCompression": False,
    "Resume.MaxFileSizeBytes": 1024 * 1024,
    "Resume.CheckpointFrequency": 1,
    "Resume.EnableAtomicWrites": True,
    "Resume.EnableBackup": True,
}
REVIEW = {"enableResume": True}
ALL: dict[str, Any] = {**RESUME_LOG, **CHECKPOINT, **WORKFLOW, **REVIEW}

# Where leftoff keeps things by default is its own decision.
PLACES = {
    "context_management.resume_logs.storage_dir": ".leftoff/resume-logs",
    "TOKEN_BUDGET_CONFIG.CONTEXT_DUMP.CHECKPOINT_DIR": ".leftoff/context-checkpoints",
    "Resume.StorageLocation": ".leftoff/resume",
}


def ours(key: str) -> str:
    known = {squashed(path): path for path, _ in setting_types()}
    return known[squashed(key.replace("TOKEN_BUDGET_CONFIG", "token_budget"))]


def other(value: Any) -> Any:
    """A valid value that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return 0.5
    if isinstance(value, int):
        return value + 3
    if isinstance(value, list):
        return value[:1]
    if isinstance(value, dict):
        return {"house": 5}
    return {"markdown": "json", "gzip": "none", "by_role_priority": value}.get(value, "./here")


def toml(key: str, value: Any) -> str:
    shown = msgspec.json.encode(value).decode()
    if isinstance(value, dict):
        shown = "{" + ", ".join(f'"{k}" = {v}' for k, v in value.items()) + "}"
    return f"{key} = {shown}\n"


def spellings(key: str) -> list[str]:
    """The key in snake, camel, Pascal and upper case, and as written."""
    words = [part.split("_") for part in ours(key).split(".")]
    return [
        key,
        ours(key),
        ".".join(w[0] + "".join(x.title() for x in w[1:]) for w in words),
        ".".join("".join(x.title() for x in w) for w in words),
        ours(key).upper(),
    ]


@pytest.mark.parametrize("key", ALL)
def test_every_key_of_every_design_is_a_setting_with_its_default(key: str) -> None:
    assert load().values()[ours(key)] == PLACES.get(key, ALL[key])


def test_there_are_no_settings_beyond_the_designs_but_these() -> None:
    more = {path for path, _ in setting_types()} - {ours(key) for key in ALL}
    resume = "similarity_warning similarity_reset minimum_score missing_tool_factor"
    assert more == {
        *"home preset thresholds windows prices extractors redactors".split(),
        *(f"resume.{name}" for name in resume.split()),
        *("hooks.recall", "hooks.recall_tokens", "hooks.memory", "hooks.reader"),
    }


@pytest.mark.parametrize("spelling", range(5))
def test_every_key_can_be_set_in_a_file_in_any_case(spelling: int, tmp_path: Path) -> None:
    lines = [toml(spellings(key)[spelling], other(value)) for key, value in ALL.items()]
    path = tmp_path / "leftoff.toml"
    path.write_text("".join(lines), encoding="utf-8")
    loaded = load(project=tmp_path)
    for key, before in ALL.items():
        value = other(before)
        expected = {**before, **value} if isinstance(value, dict) else value
        assert loaded.values()[ours(key)] == expected, key
        assert loaded.origins[ours(key)] == str(path)


@pytest.mark.parametrize("key", ALL)
def test_every_key_can_be_set_in_the_environment_and_on_the_command_line(key: str) -> None:
    value = other(ALL[key])
    words = {True: "yes", False: "off"}.get(value) if isinstance(value, bool) else str(value)
    if isinstance(value, list):
        words = ",".join(value)
    if isinstance(value, dict):
        words = ",".join(f"{k}={v}" for k, v in value.items())
    expected = {**ALL[key], **value} if isinstance(value, dict) else value
    variable = "LEFTOFF_" + key.replace(".", "_").upper()
    loaded = load(environ={variable: words or ""})
    assert loaded.values()[ours(key)] == expected
    assert loaded.origins[ours(key)] == f"environment {variable}"
    assert load(flags={ours(key): value}).values()[ours(key)] == expected


def test_precedence_is_flag_environment_project_user_default(tmp_path: Path) -> None:
    project, user = tmp_path / "project", tmp_path / "user"
    (project / "deep" / "deeper").mkdir(parents=True)
    user.mkdir()
    key = "context_management.budget_total"
    setting = "[context_management]\nbudget_total = {}\n"
    (user / "leftoff.toml").write_text(setting.format(2), encoding="utf-8")
    places: dict[str, Any] = {"user": user}
    found = [load(**places).values()[key]]
    places["project"] = project / "deep" / "deeper"
    (project / "pyproject.toml").write_text("[tool.leftoff]\n" + setting.format(3).replace(
        "[context", "[tool.leftoff.context"), encoding="utf-8")  # fmt: skip
    found.append(load(**places).values()[key])
    (project / "leftoff.toml").write_text(setting.format(4), encoding="utf-8")
    found.append(load(**places).values()[key])
    places["environ"] = {"LEFTOFF_CONTEXT_MANAGEMENT_BUDGET_TOTAL": "5"}
    found.append(load(**places).values()[key])
    places["flags"] = {key: 6}
    found.append(load(**places).values()[key])
    assert found == [2, 3, 4, 5, 6]
    assert load().values()[key] == 200_000
