"""One line of work over several recordings: copies count once, links hold it together."""

from pathlib import Path

from leftoff import api


def test_real_forks_are_stitched(public_corpus: Path) -> None:
    folder = public_corpus / "claude_code"
    pair = [
        folder / "JanDeDobbeleer__oh-my-posh__030df228-1b4b_77ff57b06fba.jsonl.gz",
        folder / "JanDeDobbeleer__oh-my-posh__6b6f4218-0b12_0254bffa0c17.jsonl.gz",
    ]
    one, two = map(api.summarize, pair)
    whole = api.summarize(pair)
    assert whole.stats.message_count < one.stats.message_count + two.stats.message_count
    assert whole.stats.message_count >= two.stats.message_count
    assert whole.stats.tool_call_count == two.stats.tool_call_count
    assert whole.context.spend.output >= max(one.context.spend.output, two.context.spend.output)
