"""Where the server is: at a given address, or at the address in the beacon of a data folder, started if needed."""

import time
from pathlib import Path
from typing import Final, Protocol

from commonplace.beacon import is_process_alive, read_beacon
from commonplace.client.link.http_connection import ConnectionFailed, KeptConnection
from commonplace.client.link.message import UNAVAILABLE, RpcRefusal

# Time for another server to start, or for one that is stopping to leave the folder.
_START_SECONDS: Final = 20.0
_POLL_SECONDS: Final = 0.02
_START_LOCK: Final = "start.lock"


class ServerLocation(Protocol):
    def server_url(self) -> str:
        """The server's address; starts the server of a data folder if none runs."""

    def running_url(self) -> str | None:
        """The address of a server that seems to run; never starts one."""

    def mark_lost(self, url: str) -> None:
        """No server answers at this address any more."""


class NamedServer:
    """A server at a given address, which is never started from here."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/").removesuffix("/mcp")

    def server_url(self) -> str:
        return self._url

    def running_url(self) -> str | None:
        return self._url

    def mark_lost(self, url: str) -> None:
        try:
            KeptConnection(url).close()
        except ConnectionFailed as error:
            hint = "Start it, or check COMMONPLACE_URL, --url and config.toml."
            raise RpcRefusal(UNAVAILABLE, f"No server answers at {url} ({error}).", hint=hint) from None


class FolderServer:
    """The one server of a data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known_url = ""
        self._is_beacon_doubted = False

    def server_url(self) -> str:
        if not self._known_url:
            # The first time, the beacon is trusted: a check costs a round trip, and a failed request has the same effect.
            running = None if self._is_beacon_doubted else self.running_url()
            self._known_url = running or self._wake_server()
        return self._known_url

    def running_url(self) -> str | None:
        beacon = read_beacon(self._folder)
        url, pid = beacon.get("url"), beacon.get("pid")
        return str(url) if url and isinstance(pid, int) and is_process_alive(pid) else None

    def mark_lost(self, url: str) -> None:
        if self._known_url == url:
            self._known_url, self._is_beacon_doubted = "", True

    def _answering_url(self) -> str | None:
        url = self.running_url()
        try:
            if url:
                KeptConnection(url).close()
        except ConnectionFailed:
            return None
        return url

    def _wake_server(self) -> str:
        try:
            return self._start_under_lock()
        except OSError as error:
            text = f"The server of {self._folder} cannot be started ({error})."
            raise RpcRefusal(UNAVAILABLE, text) from None

    def _start_under_lock(self) -> str:
        """Of many processes that want to start it, the one with the lock does; the others wait for the beacon."""
        from commonplace import data_folder as folder
        from commonplace import errors  # most proxies find a server

        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            if url := self._answering_url():
                return url
            try:
                with folder.lock_file(self._folder / _START_LOCK):
                    return self._answering_url() or self._start_server(until)
            except errors.Unavailable:
                time.sleep(_POLL_SECONDS)
        raise RpcRefusal(
            UNAVAILABLE,
            f"Another process is trying to start the server of {self._folder} but has not succeeded.",
        )

    def _start_server(self, until: float) -> str:
        from commonplace.client.link import server_start

        if url := server_start.wait_until_free(self._folder, self._answering_url, until):
            return url
        server = server_start.start_server(self._folder)
        while time.monotonic() < until:
            if url := self._answering_url():
                return url
            if server.has_ended:
                raise RpcRefusal(UNAVAILABLE, f"The server could not be started. {server.last_error()}")
            time.sleep(_POLL_SECONDS)
        raise RpcRefusal(UNAVAILABLE, f"The server did not start in time; see {server.log}.")
