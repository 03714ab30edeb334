"""`commonplace companion [IDLE_SECONDS]`: the resident process, one per user and machine, that acts on hook events.

The launcher (`client/hook.py`) hands it an event over a socket that only this user can open. It acts on the event in a
thread (`program.py`), over connections to the server that stay open, delivers the ends of sessions that the server does
not know yet, and starts the uploader. Everything it must not forget is on disk before it answers, so it may be killed at
any time. It ends when nobody has asked for a while, when its code was upgraded, or when its socket is gone.
"""

import contextlib
import os
import secrets
import select
import socket
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

import commonplace
from commonplace.client import hook
from commonplace.client.companion import caller, ends, event_spool, fault_log, journal_delivery, program
from commonplace.client.companion.caller import Caller
from commonplace.client.companion.hook_event import HookOutput
from commonplace.client.link import remote, server_link
from commonplace.client.processes import start_detached

_TICK_SECONDS = 1.0
_EVENT_SECONDS = 5.0
_MAX_EVENT_BYTES = 64 * 1024 * 1024
_MAX_HEAD_BYTES = 4 * 1024 * 1024
_DEFAULT_IDLE_SECONDS = 600.0
_START_INTERVAL_SECONDS = 15.0
_CHORES_SECONDS = 3.0
_HOUR = 3_600.0
# What the companion needs of the environment it is started in. Keys are not part of it: they come with each event.
_KEPT_VARIABLES = frozenset(
    {"PATH", "HOME", "TMPDIR", "LANG", "COMMONPLACE_HOME", "VIRTUAL_ENV", "SYSTEMROOT"}
)
_KEPT_PREFIXES = ("LC_", "PYTHON")
_SERVER_VARIABLES = (
    "COMMONPLACE_URL",
    "COMMONPLACE_KEY",
    "COMMONPLACE_DATA",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
_CODE = Path(commonplace.__file__)


class Companion:
    def __init__(self, address: str, idle_seconds: float) -> None:
        self._address, self._idle_seconds = address, idle_seconds
        self._used_at = time.monotonic()
        self._busy = 0
        self._lock = threading.Lock()
        self._token = b"" if hasattr(socket, "AF_UNIX") else secrets.token_hex(16).encode()
        self._code_changed_at = _CODE.stat().st_mtime_ns
        self._chores_at = time.monotonic()
        self._callers: dict[tuple[str, ...], Caller] = {}
        """The last program of each server and key."""
        self._listening = _listen(address, self._token)
        self._silent_mark = f"{os.path.dirname(address)}/companion.silent"  # noqa: PTH120 - as above
        self._inode = os.stat(address).st_ino  # noqa: PTH116 - the launcher gives a string

    def serve(self) -> None:
        with self._listening:
            while self._is_wanted():
                if select.select([self._listening], [], [], _TICK_SECONDS)[0]:
                    connection = self._listening.accept()[0]
                    threading.Thread(target=self._serve_launcher, args=(connection,), daemon=True).start()
                if time.monotonic() - self._chores_at > _CHORES_SECONDS:
                    self._chores_at = time.monotonic()
                    threading.Thread(target=self._do_chores, daemon=True).start()
        if self._is_own_address():
            os.unlink(self._address)  # noqa: PTH108 - as above
        until = time.monotonic() + _EVENT_SECONDS
        while self._busy and time.monotonic() < until:
            time.sleep(_TICK_SECONDS / 20)

    def _is_wanted(self) -> bool:
        if not self._is_own_address() or self._is_upgraded():
            return False
        idle = time.monotonic() - self._used_at
        return self._busy > 0 or idle < self._idle_seconds or (idle < _HOUR and ends.has_ends())

    def _is_own_address(self) -> bool:
        try:
            return os.stat(self._address).st_ino == self._inode  # noqa: PTH116 - as above
        except OSError:
            return False

    def _is_upgraded(self) -> bool:
        try:
            return _CODE.stat().st_mtime_ns != self._code_changed_at
        except OSError:
            return True

    def _do_chores(self) -> None:
        """Keep connections open, and deliver journals and ends with the keys of the programs that have asked lately."""
        try:
            server_link.refresh_links()
            for asked_by in [*self._callers.values()]:
                with caller.act_for(asked_by):
                    journal_delivery.deliver_all_events()
                    if ends.has_ends():
                        ends.deliver_ends()
        except Exception as error:  # noqa: BLE001 - the outermost line of a thread that nobody watches
            fault_log.log_fault("companion", error)

    def _serve_launcher(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError):
            if not _is_own_user(connection):
                return
            connection.settimeout(_EVENT_SECONDS)
            with connection.makefile("rb") as stream:
                if self._token and stream.read(len(self._token)) != self._token:
                    return
                launcher, agent, event_name, asked_by, event = _read_event(stream)
            if launcher != hook.__file__ or self._is_upgraded():
                return
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._silent_mark)  # noqa: PTH108 - as above
            self._callers[tuple(asked_by.environ.get(name, "") for name in _SERVER_VARIABLES)] = asked_by
            with self._busy_with_event(), caller.act_for(asked_by):
                output = program.answer_safely(agent, event, event_name, partial(_accept_event, connection))
                connection.sendall(_encode_output(output))

    @contextlib.contextmanager
    def _busy_with_event(self) -> Iterator[None]:
        with self._lock:
            self._busy += 1
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1
                self._used_at = time.monotonic()


def main(words: list[str]) -> int:
    """`words` is the command line: companion [IDLE_SECONDS]."""
    address = str(remote.client_home() / "companion.sock")
    if len(os.fsencode(address)) > hook.MAX_ADDRESS_BYTES or _is_answering(address):
        return 0
    os.environ = caller.CallerEnviron(os.environ)  # type: ignore[assignment]  # noqa: B003 - as its docstring says
    event_spool.delete_old_events()
    Companion(address, float(words[1]) if len(words) > 1 else _DEFAULT_IDLE_SECONDS).serve()
    return 0


def start_companion(idle_seconds: float) -> None:
    """Start one in the background, unless one was started just now. Of several that start at once, one stays."""
    home = remote.client_home()
    mark = home / "companion.started"
    if mark.exists() and time.time() - mark.stat().st_mtime < _START_INTERVAL_SECONDS:
        return
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark.touch(mode=0o600)
    environ = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)
    }
    start_detached(["companion", str(idle_seconds)], home / "companion.log", environ)


def _read_event(stream: BinaryIO) -> tuple[str, str, str, Caller, bytes]:
    """What the launcher wrote."""
    head_size, event_size = map(int, stream.readline(64).split())
    if head_size > _MAX_HEAD_BYTES or event_size > _MAX_EVENT_BYTES:
        raise ValueError("the event is too long")
    head, event = stream.read(head_size), stream.read(event_size)
    if len(head) + len(event) < head_size + event_size:
        raise ValueError("the event was cut")
    launcher, agent, event_name, parent, folder, *variables = head.decode("utf-8", "surrogateescape").split(
        "\0"
    )
    environ = dict(zip(variables[::2], variables[1::2], strict=True))
    return launcher, agent, event_name, Caller(environ, folder, int(parent)), event


def _accept_event(connection: socket.socket, seconds: float) -> None:
    """Fails for a launcher that has given up: it has closed its side, and acts on the event itself."""
    connection.sendall(b"+%d\n" % seconds)


def _encode_output(output: HookOutput) -> bytes:
    stdout, stderr = (
        f"{text}\n".encode("utf-8", "replace") if text else b"" for text in (output.stdout, output.stderr)
    )
    return b"%d %d %d\n%b%b" % (output.code, len(stdout), len(stderr), stdout, stderr)


def _listen(address: str, token: bytes) -> socket.socket:
    """A socket that only its owner can open, from its first moment on; it replaces one that nobody serves."""
    os.makedirs(os.path.dirname(address), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120 - as above
    own = f"{os.path.dirname(address)}/{os.getpid()}.sock"  # noqa: PTH120 - as above
    mask = os.umask(0o177)
    try:
        if token:
            listening = socket.create_server(("127.0.0.1", 0))
            Path(own).write_text(f"{listening.getsockname()[1]} {token.decode()}", encoding="ascii")
        else:
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(own)
            listening.listen(64)
    finally:
        os.umask(mask)
    os.replace(own, address)  # noqa: PTH105 - as above
    return listening


def _is_answering(address: str) -> bool:
    """Whether another companion has this address. One that hangs loses it to the launchers that wait for it."""
    if not hasattr(socket, "AF_UNIX"):
        return False
    with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
        connection.settimeout(_TICK_SECONDS)
        connection.connect(address)
        return True
    return False


def _is_own_user(connection: socket.socket) -> bool:
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.getuid()
