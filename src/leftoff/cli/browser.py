"""The terminal application of `leftoff browse`. Needs textual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from leftoff import api, codec
from leftoff.errors import LeftoffError
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.messages import message_text
from leftoff.rendering.render_summary import render
from leftoff.sources.discover import SessionInfo
from leftoff.text.truncation import one_line


class Browser(App[None]):
    """The list of sessions beside the summary, or the messages, of the one that is chosen."""

    TITLE = "leftoff"
    AUTO_FOCUS = "#sessions"
    CSS = """
    #sessions { width: 2fr; height: 1fr; text-wrap: nowrap; text-overflow: ellipsis }
    #page { width: 3fr; padding: 0 1; scrollbar-gutter: stable }
    .-narrow #both { layout: vertical }
    .-narrow #sessions { width: 1fr; height: 1fr }
    .-narrow #page { width: 1fr; height: 3fr }
    #find { display: none }
    #find.open { display: block }
    """
    HORIZONTAL_BREAKPOINTS: ClassVar = [(0, "-narrow"), (100, "-wide")]
    BINDINGS: ClassVar = [
        Binding("q", "quit", "Quit"),
        Binding("slash", "find", "Search"),
        Binding("escape", "all", "All sessions"),
        Binding("m", "messages", "Messages or summary"),
    ]

    def __init__(self, sessions: Sequence[SessionInfo]) -> None:
        super().__init__()
        self.sessions = sessions
        gate = Redactor()
        self.entries = [
            _entry(gate.value(codec.to_valid_json(codec.to_builtins(one)))) for one in sessions
        ]
        self.whole = False

    def compose(self) -> ComposeResult:
        """The widgets."""
        yield Input(placeholder="words of a title, a directory, an id", id="find")
        with Horizontal(id="both"):
            yield OptionList(id="sessions")
            with VerticalScroll(id="page"):
                yield Static(id="text")
        yield Footer()

    def on_mount(self) -> None:
        """Fills the list."""
        self._fill("")

    def on_resize(self) -> None:
        """Wraps the page anew."""
        self.call_after_refresh(self._show)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Shows the sessions that have all words."""
        self._fill(event.value)

    def on_input_submitted(self) -> None:
        """Goes to what was found."""
        self.query_one(OptionList).focus()

    def on_option_list_option_highlighted(self) -> None:
        """Shows the summary of the session that was chosen."""
        self.whole = False
        self._show()

    def on_option_list_option_selected(self) -> None:
        """Enter does what m does."""
        self.action_messages()

    def action_messages(self) -> None:
        """Shows the messages in place of the summary, or the summary again."""
        self.whole = not self.whole
        self._show()

    def action_find(self) -> None:
        """Opens the search."""
        self.query_one("#find").add_class("open").focus()

    def action_all(self) -> None:
        """Closes the search."""
        find = self.query_one("#find", Input)
        find.value = ""
        find.remove_class("open")
        self.query_one(OptionList).focus()

    def _fill(self, words: str) -> None:
        asked = words.lower().split()
        texts = [entry.plain.lower() for entry in self.entries]
        found = [n for n, text in enumerate(texts) if all(word in text for word in asked)]
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(Option(self.entries[n], id=str(n)) for n in found)
        options.highlighted = 0 if found else None
        if not found:
            self.query_one("#text", Static).update("No session has all of these words.")

    def _show(self) -> None:
        option = self.query_one(OptionList).highlighted_option
        if option is not None and option.id is not None:
            width = self.query_one("#page").scrollable_content_region.width - 1
            self._read(self.sessions[int(option.id)].path, width, whole=self.whole)

    # To read a session takes up to seconds: keys must not wait, and only the last choice
    # counts.
    @work(thread=True, exclusive=True)
    def _read(self, path: str, width: int, *, whole: bool) -> None:
        try:
            if whole:
                gate = Redactor()
                messages = (message_text(m, gate, colour=True) for m in api.read(path))
                shown = "".join(messages)
            else:
                shown = render(api.summarize(path), "text", colour=True, width=width)
        except LeftoffError as error:
            shown = str(error)
        if not get_current_worker().is_cancelled:
            self.call_from_thread(self._put, Text.from_ansi(shown))

    def _put(self, shown: Text) -> None:
        self.query_one("#text", Static).update(shown)
        self.query_one("#page").scroll_home(animate=False)


def _entry(listed: codec.JsonObject) -> Text:
    title = one_line(listed["title"], 200) or listed["id"]
    when = listed["modified"][:16].replace("T", " ")
    rest = " · ".join(
        one_line(word, 200) for word in (when, listed["client"], listed["project"]) if word
    )
    return Text.assemble((title, "bold"), "\n", (rest, "dim"), no_wrap=True)
