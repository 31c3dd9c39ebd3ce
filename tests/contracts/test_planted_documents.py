"""No piece of a secret that stands in a session is in anything that leftoff writes about it.

Texts were cut, or taken apart into names, before they were redacted: half of a key, in a resume
state or in the list of programs, is known to no rule.
"""

import random

from benchmarks.accuracy.redaction import documents as planting


def test_no_output_shows_a_piece_of_a_planted_secret() -> None:
    report, leaks = planting.documents(28, 3)
    assert report["planted"] == 28
    assert leaks == []
    assert report["tracebacks"] == 0
    shown = report["outputs"]
    assert {name.split()[0] for name in shown} >= {
        "summarize", "log", "checkpoint", "resume", "export", "convert", "budget", "show",
        "redact", "verify", "review", "file",
    }  # fmt: skip
    assert all(size for name, size in shown.items() if not name.endswith(".lock"))


def test_a_piece_that_is_shown_is_found() -> None:
    _, plants = planting.session(random.Random(1), 14)
    wanted = planting.pieces(plants)
    secret = plants[0].planted.secret.split("\n")[-2 if "\n" in plants[0].planted.secret else 0]
    half = secret[len(secret) // 2 :]
    assert list(planting.leaks(f"so that {half} is half", wanted, "here"))
    assert not list(planting.leaks("nothing of it is here", wanted, "here"))
