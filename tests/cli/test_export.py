"""`export`, `convert`, `summarize --since` and `--strict`, and compressed input."""

import json
import re
import sys
from html import unescape
from pathlib import Path

import pytest
from tests.cli.conftest import Call

from leftoff import api
from leftoff.model import Text, ToolResult

CLAUDE = Path("corpora") / "sessions" / "claude_code"


# -- export ----------------------------------------------------------------------------------


def test_a_page_is_not_printed_on_a_terminal(
    call: Call, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = str(root / CLAUDE / "prorate.jsonl")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, err = call("export", session, "-f", "html")
    assert (code, out) == (2, "")
    assert "-o session.html" in err
    assert call("export", session, "-f", "html", "-o", "-")[1].startswith("<!doctype html>")


def test_the_whole_session_is_exported(call: Call, session: Path) -> None:
    code, out, err = call("export", str(session))
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("# Support has eleven tickets")
    assert "- Directory: /home/dev/billing" in lines
    assert any(line.startswith("- Tokens: ") for line in lines)
    heads = [line for line in lines if line.startswith("### #")]
    assert heads[0] == "### #1 User · 2026-03-02 09:14:07"
    assert any(" tokens in, " in head and head.startswith("### #2 Agent") for head in heads)
    for message in api.read(str(session)):
        if message.origin in {"prompt", "agent"} and message.text:
            first = message.text.splitlines()[0].lstrip("#").split("<")[0]
            assert first in out


def test_tools_are_folded_shown_or_hidden(call: Call, session: Path) -> None:
    folded = call("export", str(session))[1]
    shown = call("export", str(session), "--tools", "shown")[1]
    hidden = call("export", str(session), "--tools", "hidden")[1]
    assert "<details>" not in shown
    assert "**→ " in shown
    assert "→ " not in hidden
    assert len(hidden) < len(shown) < len(folded)


def test_the_page_holds_every_word_and_no_link_away(call: Call, root: Path) -> None:
    folder = root / "corpora/sessions/claude_code/tenants"
    code, out, _ = call("export", str(folder), "-f", "html")
    assert code == 0
    assert 'id="show-call"' in out
    assert out.count('<h2 id="agent') == 2
    assert all(link.startswith("#") for link in re.findall('href="([^"]*)"', out))
    seen = " ".join(unescape(re.sub("<[^>]*>|[*`]", "", out)).split())
    for message in api.read(str(next(folder.glob("*.jsonl")))):
        for part in message.parts:
            if isinstance(part, Text | ToolResult):
                for line in re.sub("[*`#]", "", part.text).splitlines():
                    assert " ".join(line.split()) in seen
    assert '<td class="words">reports/daily.py:3</td>' in out
    # An edit shows what it removes and what it adds.
    code, out, _ = call(
        "export", str(root / CLAUDE / "outbox.jsonl"), "-f", "html", "--tools", "shown"
    )
    assert '<span class="removed">- ' in out
    assert '<span class="added">+ ' in out
    assert "<details>" not in out


# -- since and strict ------------------------------------------------------------------------


def test_only_what_is_new_is_said(call: Call, session: Path) -> None:
    whole = json.loads(call("summarize", str(session), "--json")[1])
    line = whole["user_requests"][-1]["ref"]["line"]
    new = json.loads(call("summarize", str(session), "--json", "--since", str(line))[1])
    assert new["user_requests"] == [
        r for r in whole["user_requests"] if r["ref"]["line"] > line
    ]
    assert new["stats"] == whole["stats"]
    for name in ("key_decisions", "key_findings", "errors", "next_steps"):
        assert [i["text"] for i in new[name]] == [
            i["text"] for i in whole[name] if i["ref"]["line"] > line
        ]
    touched = {f["path"] for f in new["file_modifications"]}
    assert touched < {f["path"] for f in whole["file_modifications"]}
    assert json.loads(call("summarize", str(session), "--json", "--since", "0")[1]) == whole


def test_since_a_message(call: Call, session: Path) -> None:
    whole = json.loads(call("summarize", str(session), "--json")[1])
    at = whole["user_requests"][1]["ref"]["message"] + 1
    new = json.loads(call("summarize", str(session), "--json", "--since", f"#{at}")[1])
    assert new["user_requests"] == [
        r for r in whole["user_requests"] if r["ref"]["message"] >= at
    ]
    assert call("summarize", str(session), "--since", "Tuesday")[0] == 2


def test_a_changed_format_is_an_error_when_strict(
    call: Call, session: Path, tmp_path: Path
) -> None:
    strange = b'{"type":"thought-graph","sessionId":"x","uuid":"u","parentUuid":null}\n'
    path = tmp_path / "newer.jsonl"
    path.write_bytes(session.read_bytes() + strange * 20)
    code, out, err = call("summarize", str(path), "--json", "--strict")
    assert code == 2
    assert "thought-graph" in err
    assert json.loads(out)["user_requests"]
    (fault,) = [i for i in json.loads(out)["issues"] if i["severity"] == "error"]
    assert "thought-graph" in fault["what"]
    assert "2.1.197" in fault["what"]
    assert call("summarize", str(path))[0] == 0
    path.write_bytes(session.read_bytes() + strange * 2)
    assert call("summarize", str(path), "--strict")[0] == 0
    assert call("summarize", str(session), "--strict")[0] == 0


# -- compressed ------------------------------------------------------------------------------


def test_zst_is_read_as_what_it_holds(call: Call, session: Path, tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard", reason="needs the extra zst")
    packed = tmp_path / "session.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(session.read_bytes()))
    value, want = (
        json.loads(call("summarize", str(p), "--json")[1]) for p in (packed, session)
    )
    del value["session"], want["session"]
    assert value == want
    packed.write_bytes(packed.read_bytes()[:-2000])
    code, out, err = call("summarize", str(packed))
    assert (code, out) == (2, "") or "Asked" in out
    assert "Traceback" not in err
    packed.write_bytes(b"\x28\xb5\x2f\xfd" + b"\x00" * 50)
    code, out, err = call("summarize", str(packed))
    assert (code, out) == (2, "")
    assert err.startswith(f"leftoff: {packed}: ")
