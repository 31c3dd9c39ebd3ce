"""`leftoff browse`, driven by textual's pilot."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textual", reason="needs textual")

from leftoff.cli import group
from leftoff.cli.browser import Browser
from leftoff.cli.params import SessionFilter

SECRET = "ghp_" + "aB3dE5fG7h" * 3 + "9Kq2wE"


@pytest.fixture
def home(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / ".claude" / "projects" / "-home-dev"
    folder.mkdir(parents=True)
    for name in ("outbox", "prorate"):
        source = root / "corpora" / "sessions" / "claude_code" / f"{name}.jsonl"
        shutil.copy(source, folder / f"{name}.jsonl")
    leaky = (folder / "prorate.jsonl").read_text("utf-8")
    leaky = leaky.replace("Support has eleven", f"Use {SECRET}. Support has eleven")
    (folder / "prorate.jsonl").write_text(leaky, "utf-8")
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_sessions_are_chosen_read_and_searched(home: Path) -> None:
    sessions = list(SessionFilter().sessions())
    assert len(sessions) == 2

    async def used() -> list[str]:
        app: Any = Browser(sessions)
        seen = []

        async def settled(pilot: Any, has: Callable[[str], bool]) -> None:
            for _ in range(200):
                await pilot.pause(0.05)
                text = str(app.query_one("#text").visual)
                if has(text):
                    seen.append(text)
                    return
            raise AssertionError(text)

        async with app.run_test(size=(140, 40)) as pilot:
            await settled(pilot, lambda text: "Began" in text)
            await pilot.press("down")
            await settled(pilot, lambda text: "Began" in text and text != seen[0])
            await pilot.press("enter")
            await settled(pilot, lambda text: "#1 · user" in text)
            await pilot.press("slash", *"inspect")
            await settled(pilot, lambda text: "Began" in text)
            assert app.query_one("#sessions").option_count == 1
            await pilot.press("enter", "escape")
            await pilot.pause()
            assert app.query_one("#sessions").option_count == 2
            await pilot.press("q")
        return seen

    seen = asyncio.run(used())
    assert SECRET not in "".join(seen)
    assert any("[REDACTED:" in text for text in seen)


def test_no_session_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert group.main(["browse"]) == 1
    assert "no session in the default places" in capsys.readouterr().err
