"""Headless Chromium, spoken to over its debugging pipe: what a page asks for, says and shows.

Needs `LEFTOFF_CHROMIUM`, the program's path. `LEFTOFF_SCREENSHOTS` names a folder for pictures.
"""

import base64
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class Chromium:
    """One browser; commands are answered in order, events are kept."""

    def __init__(self, program: str, profile: Path) -> None:
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        for inherited in (to_read, to_write):
            os.set_inheritable(inherited, True)
        # Its descriptors 3 and 4 are the pipe.
        self._process = subprocess.Popen(
            [
                "bash",  # sh may know no descriptors above 9
                "-c",
                f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}',
                program,
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                f"--user-data-dir={profile}",
            ],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._number = b"", 0
        self.session = ""
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        try:
            self.send("Browser.close")
        except (OSError, TimeoutError):
            self._process.kill()
        self._process.wait(20)
        os.close(self._to)
        os.close(self._from)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self.session and not method.startswith(("Target.", "Browser.")):
            command["sessionId"] = self.session
        os.write(self._to, json.dumps(command).encode() + b"\0")
        while True:
            answer = self._next(30)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found
            self.events.append(answer)

    def wait(self, event: str) -> None:
        while not any(e.get("method") == event for e in self.events):
            self.events.append(self._next(30))

    def _next(self, seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("chromium does not answer")
            data = os.read(self._from, 1 << 20)
            if not data:
                raise BrokenPipeError("chromium is gone")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def open(self, page: Path, width: int = 1400, *, scheme: str = "light") -> None:
        """Opens a file in a fresh tab; everything that it asks for and says is in `events`."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self.session, self.events = attached["sessionId"], []
        for domain in ("Page", "Runtime", "Network", "Log", "Security"):
            self.send(f"{domain}.enable")
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
            mobile=width < 600,
        )  # fmt: skip
        self.scheme(scheme)
        self.events = []
        self.send("Page.navigate", url=page.resolve().as_uri())
        self.wait("Page.loadEventFired")

    def scheme(self, name: str) -> None:
        """Light, dark, or as printed."""
        media = "print" if name == "print" else ""
        features = [{"name": "prefers-color-scheme", "value": name}] if not media else []
        self.send("Emulation.setEmulatedMedia", media=media, features=features)

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page (not bound by the page's own policy)."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def requests(self) -> list[str]:
        """What was asked for, beyond the page itself."""
        sent = [e for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [e["params"]["request"]["url"] for e in sent][1:]

    def complaints(self) -> list[str]:
        """What stands in the console: errors, warnings, refusals by the page's policy."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"].get("text")))
            elif event.get("method") == "Runtime.consoleAPICalled":
                found.append(str(params.get("args")))
            elif event.get("method") == "Log.entryAdded":
                found.append(str(params["entry"]["text"]))
        return found

    def picture(self, name: str, height: int = 0) -> None:
        """The page as PNG in the folder for pictures; `height` pixels of it, or all."""
        folder = os.environ.get("LEFTOFF_SCREENSHOTS")
        if not folder:
            return
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "scale": 1}
        clip["height"] = min(size["height"], height or 8000)
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = os.environ.get("LEFTOFF_CHROMIUM")
    if not program:
        pytest.skip("needs a browser: set LEFTOFF_CHROMIUM to the path of chromium")
    browser = Chromium(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()
