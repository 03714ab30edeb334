"""Where the server is: at an address that somebody named, or wherever the server of a data folder listens."""

import os
import sys
import time
from pathlib import Path
from typing import Final, Protocol

from commonplace.beacon import read_beacon
from commonplace.client.kept_http import ConnectionFailed, KeptConnection
from commonplace.client.proxy.message import UNAVAILABLE, Refused

# Time for another server to come up, or for one that is going down to leave the folder.
_START_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.02
_START_LOCK: Final = "start.lock"


class Place(Protocol):
    def url(self) -> str:
        """The server's address; a server is started where that is ours to do."""

    def running(self) -> str | None:
        """The address of a server that seems to run already."""

    def lost(self, url: str) -> None:
        """Nobody answered there, or no longer."""


class Named:
    """A server that somebody else runs."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/").removesuffix("/mcp")

    def url(self) -> str:
        return self._url

    def running(self) -> str | None:
        return self._url

    def lost(self, url: str) -> None:
        try:
            KeptConnection(url).close()
        except ConnectionFailed as away:
            hint = "Start it, or look at COMMONPLACE_URL, --url and config.toml."
            raise Refused(UNAVAILABLE, f"No server answers at {url} ({away}).", hint=hint) from None


class OfFolder:
    """The one server of a data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known = ""
        self._doubted = False

    def url(self) -> str:
        if not self._known:
            # The first time its beacon is believed: asking it costs a round trip, and the message will tell.
            found = None if self._doubted else self.running()
            self._known = found or self._woken()
        return self._known

    def running(self) -> str | None:
        lit = read_beacon(self._folder)
        url, pid = lit.get("url"), lit.get("pid")
        return str(url) if url and isinstance(pid, int) and _lives(pid) else None

    def lost(self, url: str) -> None:
        if self._known == url:
            self._known, self._doubted = "", True

    def _answering(self) -> str | None:
        url = self.running()
        try:
            if url:
                KeptConnection(url).close()
        except ConnectionFailed:
            return None
        return url

    def _woken(self) -> str:
        try:
            return self._started()
        except OSError as wrong:
            text = f"The server of {self._folder} cannot be started ({wrong})."
            raise Refused(UNAVAILABLE, text) from None

    def _started(self) -> str:
        """Many may want to start it at once: who holds the lock does, the others wait for its beacon."""
        from commonplace import data_folder as folder  # noqa: PLC0415 - as above
        from commonplace import errors  # noqa: PLC0415 - most proxies find a server

        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            if url := self._answering():
                return url
            try:
                with folder.hold(self._folder / _START_LOCK):
                    return self._answering() or self._start(until)
            except errors.Unavailable:
                time.sleep(_LOOK_SECONDS)
        raise Refused(
            UNAVAILABLE, f"Another process is starting the server of {self._folder}, without success."
        )

    def _start(self, until: float) -> str:
        from commonplace.client.proxy import starting  # noqa: PLC0415 - as above

        if url := starting.until_free(self._folder, self._answering, until):
            return url
        server = starting.start(self._folder)
        while time.monotonic() < until:
            if url := self._answering():
                return url
            if server.ended:
                raise Refused(UNAVAILABLE, f"The server could not be started. {server.last_words()}")
            time.sleep(_LOOK_SECONDS)
        raise Refused(UNAVAILABLE, f"The server did not start in time; {server.log} says more.")


if sys.platform == "win32":

    def _lives(pid: int) -> bool:
        """There signal 0 would end the process; that nobody listens has to be proof enough."""
        return pid > 0
else:

    def _lives(pid: int) -> bool:
        """A server that was killed leaves its beacon, and its port may be another program's by now."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
