"""A headless Chromium, driven over the DevTools protocol on two pipes: no driver program and no WebSocket are needed."""

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from patience import PATIENCE_SECONDS, wait_until

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--window-size=1280,800",
)
# Chromium reads commands from descriptor 3 and writes replies to 4.
_EXEC_WITH_PIPES = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_SETTLED = "new Promise(done => requestAnimationFrame(() => setTimeout(() => done(true))))"


class ScriptFailed(AssertionError):
    """A script that a test ran in the page threw."""


class Chromium:
    def __init__(self, folder: Path) -> None:
        read_commands, self._write = os.pipe()
        self._read, write_replies = os.pipe()
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _EXEC_WITH_PIPES,
                str(read_commands),
                str(write_replies),
                CHROMIUM,
                *_FLAGS,
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            pass_fds=(read_commands, write_replies),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_replies)
        self._numbers = itertools.count(1)
        self._replies: dict[int, Any] = {}
        self._arrived = threading.Condition()
        self.events: list[dict[str, Any]] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def call(self, method: str, session: str = "", **parameters: Any) -> Any:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        with self._arrived:
            if not self._arrived.wait_for(lambda: number in self._replies, PATIENCE_SECONDS):
                raise TimeoutError(method)
            reply = self._replies.pop(number)
        if "error" in reply:
            raise ScriptFailed(f"{method}: {reply['error']}")
        return reply["result"]

    def open_context(self) -> str:
        """A browser of its own: its cookies and tabs are not shared with others."""
        return str(self.call("Target.createBrowserContext")["browserContextId"])

    def open_page(self, url: str, context: str, *, width: int = 1280, height: int = 800) -> "Page":
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        page.resize(width, height)
        page.goto(url)
        return page

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        self._process.terminate()
        self._process.wait(PATIENCE_SECONDS)
        os.close(self._write)

    def _listen(self) -> None:
        rest = b""
        while chunk := os.read(self._read, 1 << 20):
            *messages, rest = (rest + chunk).split(b"\0")
            for text in messages:
                message = json.loads(text)
                with self._arrived:
                    if "id" in message:
                        self._replies[message["id"]] = message
                        self._arrived.notify_all()
                    else:
                        self.events.append(message)


class Page:
    def __init__(self, browser: Chromium, session: str, target: str) -> None:
        self.browser, self._session, self._target = browser, session, target
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        return self.browser.call(method, self._session, **parameters)

    def goto(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'")

    def resize(self, width: int, height: int, *, scale: float = 1) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 500,
        )

    def emulate(self, **features: str) -> None:
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=listed)

    def run(self, script: str) -> Any:
        """The value of an expression, which may be a promise."""
        reply = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in reply:
            raise ScriptFailed(reply["exceptionDetails"].get("exception", {}).get("description", "failed"))
        return reply["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until an expression is true."""
        try:
            wait_until(lambda: bool(self.run(script)))
        except TimeoutError:
            shown = self.run("document.body.innerText.slice(0, 2000)")
            raise TimeoutError(
                f"{script} is not true; the page shows:\n{shown}\n{self.list_problems()}"
            ) from None

    def wait_for_text(self, text: str) -> None:
        self.wait_for(f"document.body.innerText.includes({json.dumps(text)})")

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of the first element that matches."""
        x, y = self.find_middle(selector)
        self.move_mouse("mousePressed", x, y)
        self.move_mouse("mouseReleased", x, y)

    def find_middle(self, selector: str) -> tuple[float, float]:
        found = json.dumps(selector)
        self.wait_for(f"Boolean(document.querySelector({found}))")
        self.run(f"document.querySelector({found}).scrollIntoView({{block: 'center'}})")
        box = self.run(
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])(document.querySelector({found}).getBoundingClientRect())"
        )
        return box[0], box[1]

    def move_mouse(self, kind: str, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def press(self, key: str, *, control: bool = False) -> None:
        text = key if len(key) == 1 and not control else "\r" if key == "Enter" else ""
        code = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40}.get(key, ord(key[0].upper()))
        shared = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 2 if control else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **shared)
        self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path, *, quality: int | None = None) -> None:
        self.run(_SETTLED)
        picture = {"format": "png"} if quality is None else {"format": "webp", "quality": quality}
        data = self.call("Page.captureScreenshot", **picture)["data"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self._target)

    def list_problems(self) -> list[str]:
        """Exceptions, errors of the console and violations of the content security policy of this page so far."""
        problems = []
        for event in self.browser.events:
            if event.get("sessionId") != self._session:
                continue
            details = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                problems.append(
                    details["exceptionDetails"].get("exception", {}).get("description", "exception")
                )
            elif event["method"] == "Log.entryAdded" and details["entry"]["level"] == "error":
                problems.append(f"{details['entry']['text']} {details['entry'].get('url', '')}")
        return problems


@contextlib.contextmanager
def start_chromium() -> Iterator[Chromium]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Chromium(Path(folder))
        try:
            yield browser
        finally:
            browser.close()
