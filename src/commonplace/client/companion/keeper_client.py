"""The hook's side of the keeper: send a request through it, or start one for the next hook."""

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from commonplace.client import detached_process
from commonplace.client.companion import keeper_socket
from commonplace.client.companion.keeper_socket import FrameStream
from commonplace.client.link import remote

_GREETING_SECONDS = 0.2
_GRACE_SECONDS = 0.1
"""The keeper keeps the hook's time limit; this is for its answer to arrive."""
_SUSPICION_SECONDS = 5.0
"""A busy machine delays a greeting now and then; a keeper that hangs stays silent longer than this."""
_START_INTERVAL_SECONDS = 15.0
# What the keeper needs of a hook's environment. Keys are not part of it.
_KEPT_VARIABLES = frozenset(
    {"PATH", "HOME", "TMPDIR", "LANG", "COMMONPLACE_HOME", "VIRTUAL_ENV", "SYSTEMROOT"}
)
_KEPT_PREFIXES = ("SSL_CERT_", "LC_", "PYTHON")
_FAILURES: dict[str, type[OSError]] = {"timeout": TimeoutError, "refused": ConnectionRefusedError}


class KeeperMissing(Exception):
    """No keeper of our version runs."""


def send_request(url: str, ca_file: str, request: bytes, seconds: float) -> tuple[int, bytes]:
    """The status and body of the server's answer.

    Raises KeeperMissing if the hook must send it itself, and OSError if the server did not answer.
    """
    started = time.monotonic()
    with _open_stream() as (connection, stream):
        left = seconds - (time.monotonic() - started)
        connection.settimeout(max(left, 0.001) + _GRACE_SECONDS)
        try:
            head = {"url": url, "ca_file": ca_file, "seconds": left}
            keeper_socket.write_frame(stream, head, request)
            answer, body = keeper_socket.read_frame(stream)
        except TimeoutError:
            _dismiss_keeper()
            raise
        except (EOFError, ValueError, OSError):
            # It has died. Calls of hooks can be repeated, so the hook sends this one itself.
            _dismiss_keeper()
            raise KeeperMissing from None
    if failure := answer.get("failure"):
        raise _FAILURES.get(failure, OSError)(answer.get("message", ""))
    return int(answer["status"]), body


def start_keeper(url: str, ca_file: str, idle_seconds: float) -> None:
    """Start one in the background, connected to this server. Several that start at once end but for one."""
    mark = remote.client_home() / "keeper.started"
    with contextlib.suppress(OSError):
        if keeper_socket.find_socket_path() is None:
            return
        if mark.exists() and time.time() - mark.stat().st_mtime < _START_INTERVAL_SECONDS:
            return
        mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark.touch(mode=0o600)
        environ = {name: value for name, value in os.environ.items() if _is_kept(name)}
        target: dict[str, Any] = {"url": url, "ca_file": ca_file}
        detached_process.start_detached(
            ["hook", "keeper", str(idle_seconds)],
            remote.client_home() / "keeper.log",
            keeper_socket.encode_line(target),
            environ,
        )


def _is_kept(name: str) -> bool:
    return name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)


@contextlib.contextmanager
def _open_stream() -> Iterator[tuple[socket.socket, FrameStream]]:
    """A connection to a keeper that has greeted as we would."""
    path = keeper_socket.find_socket_path()
    if path is None or not _is_own_socket(path):
        raise KeeperMissing
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_GREETING_SECONDS)
        try:
            connection.connect(str(path))
            stream = connection.makefile("rwb")
            greeting = stream.readline(keeper_socket.MAX_LINE_BYTES)
        except PermissionError:  # a sandbox: the keeper serves others
            raise KeeperMissing from None
        except TimeoutError:
            _suspect_keeper()
            raise KeeperMissing from None
        except OSError:
            greeting = b""
        if greeting != keeper_socket.greeting():
            _dismiss_keeper()
            raise KeeperMissing
        _suspicion_mark().unlink(missing_ok=True)
        yield connection, stream


def _suspect_keeper() -> None:
    """Dismiss a keeper that was silent before and has not greeted anybody since."""
    mark = _suspicion_mark()
    with contextlib.suppress(OSError):
        if not mark.exists():
            mark.touch(mode=0o600)
        elif time.time() - mark.stat().st_mtime > _SUSPICION_SECONDS:
            mark.unlink()
            _dismiss_keeper()


def _suspicion_mark() -> Path:
    return remote.client_home() / "keeper.silent"


def _is_own_socket(path: Path) -> bool:
    """The request holds a key: it goes to a socket of this user only."""
    try:
        return path.stat().st_uid == os.getuid()
    except OSError:
        return False


def _dismiss_keeper() -> None:
    """A keeper ends when its socket is gone."""
    path = keeper_socket.find_socket_path()
    if path is not None:
        with contextlib.suppress(OSError):
            path.unlink()
