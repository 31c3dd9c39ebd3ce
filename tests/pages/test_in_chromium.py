"""The pages in a real browser: nothing is asked for, nothing is complained about, every link
leads somewhere, everything fits and can be read. Run by `.ci/extras.d/60-pages.sh`."""

import math
import re
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from leftoff import api
from leftoff.budget.thresholds import preset
from leftoff.cli.export import whole
from leftoff.incremental import accounts
from leftoff.rendering.conversation import Conversation
from leftoff.rendering.html.conversation import conversation_page
from leftoff.rendering.html.quotes import cited
from leftoff.rendering.html.report import report, report_row
from leftoff.rendering.html.session import page

CLAUDE = Path("corpora") / "sessions" / "claude_code"

# Every link to a place in the page that does not exist, and every id that stands twice.
BROKEN = """[
  ...[...document.querySelectorAll("a")].map((a) => a.getAttribute("href"))
    .filter((to) => !to.startsWith("#") || !document.getElementById(to.slice(1))),
  ...[...document.querySelectorAll("[id]")].map((e) => e.id)
    .filter(((seen) => (id) => seen.has(id) || !seen.add(id))(new Set()))
]"""

# Text whose contrast with what is behind it is under 4.5, by WCAG's formula.
FAINT = """(() => {
  const linear = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const parsed = (text) => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const [r, g, b, a = 1] = parsed(getComputedStyle(e).backgroundColor);
      if (a > 0.99) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest("svg, style, script, title")) continue;
    const style = getComputedStyle(element);
    const one = light(parsed(style.color)), two = light(behind(element));
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (ratio < 4.5 || Number(style.opacity) < 1)
      found.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...found];
})()"""

# Interactive things without a name, levels of headings that are skipped, missing landmarks.
NAMELESS = """(() => {
  const found = [];
  for (const e of document.querySelectorAll("a, summary, input, [role=region], [role=img]"))
    if (!(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length))
      found.push(e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll("[aria-labelledby]"))
    if (!document.getElementById(e.getAttribute("aria-labelledby"))) found.push(e.id);
  let level = 0;
  for (const e of document.querySelectorAll("h1, h2, h3, h4")) {
    if (Number(e.tagName[1]) > level + 1) found.push(`${e.tagName} after H${level}`);
    level = Number(e.tagName[1]);
  }
  for (const name of ["header", "nav", "main", "h1"])
    if (document.querySelectorAll(name).length !== 1) found.push(`not one ${name}`);
  return found;
})()"""


def page_of(path: Path) -> str:
    gathered = api.gather([path])
    summary = gathered.summary()
    account = accounts.account_of_reading(gathered, preset("advisory")).account
    return page(summary, account, api.messages_at(summary, cited(summary, account)))


def hostile(root: Path, folder: Path) -> Path:
    """A session in which the person, the agent and a tool say what must not happen."""
    attack = (
        "<script>window.caught = 1</script></style></title><img src=x onerror='window.caught=1'>"
        "<svg onload='window.caught=1'></svg><iframe src='https://example.com'></iframe>"
        "<a href='javascript:window.caught=1'>x</a> \\u202etxt.exe"
    )
    path = folder / "hostile.jsonl"
    data = (root / CLAUDE / "prorate.jsonl").read_text("utf-8")
    for words in ("I'll divide by the real length", "All 7 tests pass now", "Good. While"):
        assert words in data
        data = data.replace(words, attack.replace('"', "'") + " " + words)
    path.write_text(data, "utf-8")
    return path


def long(root: Path, folder: Path) -> Path:
    """20 MB: shipped sessions again and again, each time with ids and words of its own."""
    path, lines = folder / "long.jsonl", []
    for name in ("prorate.jsonl", "outbox.jsonl"):
        lines += (root / CLAUDE / name).read_text("utf-8").splitlines()
    session = re.compile(r'"sessionId":\s*"[^"]*"')
    ids = re.compile(
        r'"(uuid|parentUuid|leafUuid|id|tool_use_id|requestId|sourceToolAssistantUUID)":\s*"([^"]*)"'
    )
    own = re.compile(r'"uuid": "([^"]*)"')
    number, last = 0, ""
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < 20_000_000:
            number += 1
            for line in lines:
                line = ids.sub(rf'"\1": "\2-{number}"', session.sub('"sessionId": "s"', line))
                if last:  # one line of work, not many that begin anew
                    line = re.sub(r'"parentUuid":\s*null', f'"parentUuid": "{last}"', line)
                found = own.search(line)
                last = found[1] if found else last
                file.write(line.replace(" the ", f" the {number}th ") + "\n")
    return path


@pytest.fixture(scope="session")
def pages(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    sources = {
        "outbox": root / CLAUDE / "outbox.jsonl",
        "tenants": root / CLAUDE / "tenants",
        "codex": root / "corpora" / "sessions" / "codex" / "sift.jsonl",
        "hostile": hostile(root, folder),
        "long": long(root, folder),
    }
    made = {name: page_of(path) for name, path in sources.items()}
    shipped = sorted((root / "corpora" / "sessions").glob("*/*.json*"))
    told = [report_row(api.summarize(path)) for path in [*shipped, sources["hostile"]]]
    made["report"] = report(told, ["<b>broken.jsonl</b>: no message"])
    for name in ("tenants", "hostile"):
        messages, info, rewound = whole(str(sources[name]), None, subagents=True)
        shown = Conversation(messages, info, rewound=rewound)
        made[f"{name} whole"] = conversation_page(shown)
    bare = api.summarize(root / CLAUDE / "prorate.jsonl")
    made["bare"] = page(replace(bare, key_decisions=(), user_requests=(), next_steps=()))
    found = {}
    for name, text in made.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(text, "utf-8")
    return found


PAGES = (
    *("outbox", "tenants", "codex", "hostile", "long", "report", "bare"),
    *("tenants whole", "hostile whole"),
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_quiet_whole_and_readable(
    chromium: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    chromium.open(pages[name], width, scheme=scheme)
    chromium.ask("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    assert chromium.ask(BROKEN) == []
    assert chromium.ask(NAMELESS) == []
    assert chromium.ask(FAINT) == []
    assert chromium.ask("document.scrollingElement.scrollWidth") <= width
    assert chromium.ask("typeof window.caught") == "undefined"
    assert chromium.requests() == []
    assert chromium.complaints() == []
    chromium.picture(f"{name}-{width}-{scheme}", 4000)


def test_faults_would_be_noticed(chromium: Any, pages: dict[str, Path]) -> None:
    made = pages["outbox"].read_text("utf-8")
    broken = pages["outbox"].with_name("broken.html")
    faults = (
        '<h4>x</h4><a href="#nowhere"></a><img src="https://example.com/x.png" onerror="1">'
    )
    broken.write_text(made.replace("<main>", f"<main>{faults}", 1), "utf-8")
    chromium.open(broken)
    assert chromium.ask(BROKEN) == ["#nowhere"]
    assert len(chromium.ask(NAMELESS)) == 2
    assert chromium.requests() == ["https://example.com/x.png"]
    assert any("Content Security Policy" in words for words in chromium.complaints())
    chromium.ask("document.querySelector('h2').style.color = '#8a8a8a'")
    assert chromium.ask(FAINT) == ["H2. 3.45"]


@pytest.mark.parametrize("name", ["outbox", "hostile"])
def test_a_link_leads_to_the_quotation(
    chromium: Any, pages: dict[str, Path], name: str
) -> None:
    chromium.open(pages[name])
    chromium.ask("document.querySelector('#likely .at').click()")
    assert chromium.ask("document.querySelector(':target').className") == "quote"
    top = chromium.ask("document.querySelector(':target').getBoundingClientRect().top")
    assert 0 <= top < 900
    assert "mark" in chromium.ask("document.querySelector(':target').innerHTML")


def test_a_long_session_opens_at_once(chromium: Any, pages: dict[str, Path]) -> None:
    assert pages["long"].stat().st_size < 1_000_000

    def opened(name: str) -> float:
        began = time.monotonic()
        chromium.open(pages[name])
        chromium.ask("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        return time.monotonic() - began

    opened("outbox")  # the first page warms the browser
    small = large = math.inf
    for _ in range(5):
        small = min(small, opened("outbox"))
        large = min(large, opened("long"))
    # No more than the page of a short session for each of its bytes.
    sizes = [pages[name].stat().st_size for name in ("outbox", "long")]
    assert large / small < 2 * max(1, sizes[1] / sizes[0])


def test_search_hides_what_does_not_fit(chromium: Any, pages: dict[str, Path]) -> None:
    chromium.open(pages["report"])
    shown = "[...document.querySelectorAll('article.session')].filter((e) => !e.hidden).length"
    every = chromium.ask(shown)
    chromium.ask("document.querySelector('#words').focus()")
    chromium.send("Input.insertText", text="PLANS eleven")
    assert 0 < chromium.ask(shown) < every
    rows = (
        "[...document.querySelectorAll('.overview tbody tr')].filter((e) => !e.hidden).length"
    )
    assert chromium.ask(rows) == chromium.ask(shown)
    assert chromium.ask("document.querySelector('output').textContent").endswith(f"of {every}")
    assert chromium.complaints() == []


@pytest.mark.parametrize("name", ["tenants whole", "hostile whole"])
def test_the_whole_conversation_is_filtered_and_searched(
    chromium: Any, pages: dict[str, Path], name: str
) -> None:
    chromium.open(pages[name])
    shown = """(what) => [...document.querySelectorAll(what)].filter((e) => e.checkVisibility(
      {contentVisibilityAuto: false})).length"""
    every = chromium.ask(f"({shown})('article')")
    calls = chromium.ask(f"({shown})('details.call')")
    assert calls > 0
    chromium.ask("document.querySelector('#show-call').click()")
    assert chromium.ask(f"({shown})('details.call')") == 0
    assert 0 < chromium.ask(f"({shown})('article')") < every
    chromium.ask("document.querySelector('#show-call').click()")
    first = chromium.ask("document.querySelector('article .said').textContent.split(' ')[1]")
    chromium.ask("document.querySelector('#words').focus()")
    chromium.send("Input.insertText", text=first)
    assert 0 < chromium.ask(f"({shown})('article')") < every
    assert chromium.complaints() == []


def test_everything_is_there_without_a_script(chromium: Any, pages: dict[str, Path]) -> None:
    text = pages["report"].read_text("utf-8")
    silent = pages["report"].with_name("silent.html")
    silent.write_text(re.sub("<script>.*</script>", "", text, flags=re.DOTALL), "utf-8")
    chromium.open(silent)
    assert chromium.ask("getComputedStyle(document.querySelector('.find')).display") == "none"
    assert chromium.ask("document.querySelectorAll('article.session').length") > 5


@pytest.mark.parametrize("name", ["outbox", "report"])
def test_print_shows_what_is_folded(chromium: Any, pages: dict[str, Path], name: str) -> None:
    chromium.open(pages[name], 800)
    chromium.scheme("print")
    folded = "[...document.querySelectorAll('details > :not(summary)')]"
    assert (
        chromium.ask(f"{folded}.filter((e) => !e.getBoundingClientRect().height).length") == 0
    )
    assert chromium.ask("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert (
        chromium.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    )
    chromium.picture(f"{name}-print")
