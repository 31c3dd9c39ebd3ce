"""Scratch homes in which the real clients ask a model on loopback."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_FOLDERS = {"claude": ".claude", "codex": ".codex"}


def environment(client: str, home: Path, url: str) -> dict[str, str]:
    """The environment of a client with nothing but a scratch home, asking the model at `url`.

    The client's folder is made in `home`.
    """
    config = home / _FOLDERS[client]
    config.mkdir(parents=True, exist_ok=True)
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    if client == "claude":
        return environ | {
            "CLAUDE_CONFIG_DIR": str(config),
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "scripted",
            "IS_SANDBOX": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
        }
    (config / "config.toml").write_text(
        'model = "scripted"\nmodel_provider = "scripted"\n'
        '[model_providers.scripted]\nname = "scripted"\n'
        f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "STUB_KEY"\n'
        "request_max_retries = 1\nstream_max_retries = 1\n",
        encoding="utf-8",
    )
    return environ | {"CODEX_HOME": str(config), "STUB_KEY": "x"}


def expire(client: str, home: Path) -> None:
    """The client loses all conversations."""
    config = home / _FOLDERS[client]
    shutil.rmtree(config / ("projects" if client == "claude" else "sessions"))
    for index in config.glob("state*"):
        index.unlink()
