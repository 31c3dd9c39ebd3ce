"""An evaluation output holds a session on each line. The messages of the second one were read,
and numbered, before the reader was told that another session begins: its state pointed at
message 3 of a session whose first message was number 4."""

import json

from leftoff.analysis.session_pass import Pass


def test_the_second_session_begins_at_its_first_message() -> None:
    events = [
        {"action": "message", "content": "fix it"},
        {"action": "run", "command": "ls"},
        {"observation": "run", "content": "a", "exit_code": 0},
        {"action": "finish", "outputs": {}},
    ]
    issues = [{"owner": "o", "repo": "r", "number": number} for number in (1, 2)]
    lines = [json.dumps({"issue": i, "git_patch": "", "history": events}) for i in issues]
    reading = Pass()
    reading.feed("\n".join(lines).encode() + b"\n")
    summary = reading.summary()
    assert summary.user_requests[0].ref.message == 0
    assert summary.turn.status == "closed"
