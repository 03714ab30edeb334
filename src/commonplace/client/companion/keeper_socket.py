"""Where hooks find the keeper, and how both sides frame what they send. Hooks import this, so it imports little."""

import json
import os
import socket
from pathlib import Path
from typing import Any, Protocol

from commonplace import __version__
from commonplace.client.link import remote

MAX_LINE_BYTES = 64 * 1024
_MAX_PATH_BYTES = 100
"""Unix socket addresses end at 104 to 108 bytes."""


class FrameStream(Protocol):
    def readline(self, size: int, /) -> bytes: ...
    def read(self, size: int, /) -> bytes: ...
    def write(self, content: bytes, /) -> int: ...
    def flush(self) -> None: ...


def find_socket_path() -> Path | None:
    """The keeper's socket; None where the system has no Unix sockets (Windows), or the path is too long for one."""
    path = remote.client_home() / "keeper.sock"
    is_possible = hasattr(socket, "AF_UNIX") and len(os.fsencode(path)) <= _MAX_PATH_BYTES
    return path if is_possible else None


def greeting() -> bytes:
    """What the keeper says first. A hook of another version, or that trusts other certificates, needs another keeper."""
    trusted = {name: os.environ.get(name, "") for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")}
    return encode_line({"version": __version__, **trusted})


def encode_line(head: dict[str, Any]) -> bytes:
    return json.dumps(head).encode() + b"\n"


def write_frame(stream: FrameStream, head: dict[str, Any], body: bytes) -> None:
    """One line of JSON, then the body."""
    stream.write(encode_line(head | {"length": len(body)}) + body)
    stream.flush()


def read_frame(stream: FrameStream) -> tuple[dict[str, Any], bytes]:
    """Raises EOFError if the other side has closed, ValueError if it sent something else."""
    line = stream.readline(MAX_LINE_BYTES)
    if not line:
        raise EOFError
    head = json.loads(line)
    body = stream.read(int(head["length"]))
    if len(body) < head["length"]:
        raise EOFError
    return head, body
