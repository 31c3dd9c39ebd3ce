"""Settings: every key of every design, five places, one precedence, helpful errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from leftoff.budget.thresholds import preset
from leftoff.errors import SourceError, UsageError
from leftoff.settings import Settings, load, normalized_key, setting_types

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
    known = {normalized_key(path): path for path, _ in setting_types()}
    return known[normalized_key(key.replace("TOKEN_BUDGET_CONFIG", "token_budget"))]


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


def yaml_or_toml(value: Any) -> str:
    """An inline value that TOML and YAML both understand, once separators are chosen."""
    return msgspec.json.encode(value).decode()


def toml(key: str, value: Any) -> str:
    section, _, name = key.rpartition(".")
    shown = yaml_or_toml(value)
    if isinstance(value, dict):
        shown = "{" + ", ".join(f'"{k}" = {v}' for k, v in value.items()) + "}"
    return (f"[{section}]\n" if section else "") + f"{name} = {shown}\n"


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
        *("hooks.recall", "hooks.recall_tokens", "hooks.memory"),
    }


@pytest.mark.parametrize("key", ALL)
def test_every_key_can_be_set_in_a_file_in_any_case(key: str, tmp_path: Path) -> None:
    value = other(ALL[key])
    for number, spelled in enumerate(spellings(key)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "leftoff.toml").write_text(toml(spelled, value), encoding="utf-8")
        loaded = load(project=folder)
        found = loaded.values()[ours(key)]
        assert found == ({**ALL[key], **value} if isinstance(value, dict) else value), spelled
        assert loaded.origins[ours(key)] == str(folder / "leftoff.toml")


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


def test_the_yaml_tree_is_read_and_the_rest_of_that_file_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / ".claude-mpm").mkdir()
    (tmp_path / ".claude-mpm" / "configuration.yaml").write_text(
        "agents:\n  anything: [1, 2]\n"
        "context_management:\n  budget_total: 123456\n  resume_logs:\n"
        '    storage_dir: ".claude-mpm/resume-logs"\n    triggers:\n      - "max_tokens"\n',
        encoding="utf-8",
    )
    values = load(project=tmp_path).values()
    assert values["context_management.budget_total"] == 123456
    assert values["context_management.resume_logs.storage_dir"] == ".claude-mpm/resume-logs"
    assert values["context_management.resume_logs.triggers"] == ["max_tokens"]


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


def test_settings_above_a_repository_are_another_projects(tmp_path: Path) -> None:
    (tmp_path / "leftoff.toml").write_text('preset = "handoff"\n', encoding="utf-8")
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    assert load(project=tmp_path / "repository").settings.preset == "advisory"
    assert load(project=tmp_path).settings.preset == "handoff"


@pytest.mark.parametrize(
    "text,message",
    [
        ("[context_managment]\n", "nearest valid one is 'context_management'"),
        ("[context_management]\nbuget_total = 5\n", "'context_management.budget_total'"),
        ("[resume]\nretain_days = 5\n", "'resume.retention_days'"),
        ("[context_management]\nbudget_total = 0\n", "nearest valid value is 1"),
        ('[context_management]\nbudget_total = "many"\n', "nearest valid value is 200000"),
        ("[context_management.thresholds]\ncaution = 7\n", "nearest valid value is 1"),
        ("[context_management.thresholds]\ncaution = 0\n", "nearest valid value is 0.7"),
        ('[context_management]\nenabled = "ture"\n', "nearest valid value is True"),
        ('preset = "handof"\n', "nearest valid value is 'handoff'"),
        ('[token_budget.context_dump]\ncompression = "GZIP2"\n', "value is 'gzip'"),
        (
            '[context_management.resume_logs]\ntriggers = ["max_token"]\n',
            r"nearest valid value is \['max_tokens'\]",
        ),
        ('[token_budget.provider_limits]\nhouse = "x"\n', "nearest valid value"),
        ("context_management = 5\n", "must be a table"),
        ("[[windows]]\nmach = 'x'\nwindow = 5\n", "unknown field `mach`"),
        (
            "[[thresholds]]\nname = 'a'\nat = 0.5\n[[thresholds]]\nname = 'a'\nat = 0.6\n",
            "same",
        ),
        ("a = \n", "no TOML"),
    ],
)
def test_a_mistake_names_the_file_and_the_nearest_valid_one(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "leftoff.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message) as error:
        load(project=tmp_path)
    if "same" not in message:
        assert "leftoff.toml" in str(error.value)


def test_mistakes_elsewhere_are_found_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nearest valid one is LEFTOFF_TOKEN_BUDGET_HANDOFF"):
        load(environ={"LEFTOFF_TOKEN_BUDGET_HANDOF_TIMEOUT_MS": "5"})
    with pytest.raises(
        UsageError, match=r"environment LEFTOFF_ENABLE_RESUME.*valid value is True"
    ):
        load(environ={"LEFTOFF_ENABLE_RESUME": "perhaps"})
    with pytest.raises(UsageError, match="option --pre-set"):
        load(flags={"pre.pre_set": 5})
    (tmp_path / ".claude-mpm").mkdir()
    file = tmp_path / ".claude-mpm" / "configuration.yaml"
    file.write_text("a: [1\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no YAML"):
        load(project=tmp_path)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match="cannot be read"):
        load(project=tmp_path)


def test_the_thresholds_that_are_watched_follow_the_settings(tmp_path: Path) -> None:
    assert Settings().watched() == preset("advisory")
    moved = load(flags={"context_management.thresholds.caution": 0.5}).settings.watched()
    assert [t.at for t in moved.thresholds] == [0.5, 0.85, 0.95]
    text = 'preset = "own"\n[[thresholds]]\nname = "half"\nat = 0.5\nsays = "Half."\n'
    (tmp_path / "leftoff.toml").write_text(text, encoding="utf-8")
    assert [t.name for t in load(project=tmp_path).settings.watched().thresholds] == ["half"]
    with pytest.raises(UsageError, match="needs"):
        load(flags={"preset": "own"}).settings.watched()
