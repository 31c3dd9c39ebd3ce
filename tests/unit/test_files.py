"""What programs may have done to files that nothing names."""

from tests.strategies.claude_code import Recording

from leftoff.analysis.summary_json import seed_shape
from leftoff.rendering.render_summary import render


def test_every_form_says_it_in_one_line() -> None:
    made = Recording()
    made.say("Go.")
    made.edit("a.py")
    tools = "make,make,npm install,rake,hugo,mvn package,gradle"
    for tool in (*tools.split(","), "cargo build"):  # which makes nothing but what it builds
        made.run(tool)
    said = "may have changed these or others: make ×2, gradle ×1, hugo ×1, mvn ×1, npm ×1 and 1 more"
    for form in ("text", "markdown", "prompt"):
        lines = [line for line in render(made.summary(), form).splitlines() if said in line]
        assert len(lines) == 1, form
    assert "unknown_effects" not in seed_shape(made.summary())
    assert "make" not in made.summary().formatted
