"""TAB offers no word that a shell would run.

bash puts an offered word on the line as it is. A repository that came with a resume log, or another
agent's recording, of the name `$(…)` had it run by who pressed TAB and Enter.
"""

from pathlib import Path

import click
import pytest

from leftoff.cli import completions, params

ODD = [
    "$(id)", "`id`", "a b", "a;b", "x&", "~", "a'b", 'a"b', "a\nb", "\x1b[2J", "a|b", "{a,b}",
    "*",
]  # fmt: skip
FINE = ["one", "2026-01-01_at-1", "größer", "a+b@c,d=e%f.g"]


def test_ids_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, sessions = tmp_path / ".leftoff/resume-logs", tmp_path / "claude/projects/p"
    for folder, begin, ending in ((kept, "session-", ".json"), (sessions, "", ".jsonl")):
        folder.mkdir(parents=True)
        for name in (*ODD, *FINE):
            (folder / f"{begin}{name}{ending}").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("HOME", str(tmp_path))
    command = click.Command("show")
    context = click.Context(command, info_name="leftoff log show")
    offer = completions.Offer(completions._documents)
    found = offer.shell_complete(context, click.Argument(["id"]), "")
    assert [item.value for item in found] == sorted(FINE)
    told = params.complete(context, click.Argument(["session"]), "")
    assert {item.value for item in told} - {"", "latest"} == set(FINE)
