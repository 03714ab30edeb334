"""The launcher: hand an agent's hook event to the companion (`companion/resident.py`) and print its answer.

`python -ISE hook.py AGENT [EVENT]`, with the event as JSON on standard input, is what `install` writes into agents'
settings; `commonplace hook AGENT` is the same. It runs beside every edit and command, so it imports next to nothing:
`socket` alone would take as long as Python's start. Where no companion answers, the whole program acts on the event
itself, and starts a companion for the next one.
"""

import _socket
import os
import sys

_ACCEPT_SECONDS = 0.2
"""How long a companion may take to accept an event, on a busy machine."""
_HUNG_SECONDS = 5.0
MAX_ADDRESS_BYTES = 100
"""Unix socket addresses end at 104 to 108 bytes."""
_CHUNK_BYTES = 65536

Answer = tuple[int, bytes, bytes]


class _NotAccepted(Exception):
    """No companion took the event: somebody else must act on it."""


def main(words: list[str]) -> int:
    """`words` is the command line: hook AGENT [EVENT]; Copilot's input does not name its event."""
    agent, event_name = [*words[1:3], "", ""][:2]
    event = sys.stdin.buffer.read()
    try:
        code, stdout, stderr = ask_companion(agent, event_name, event)
    except _NotAccepted:
        return _act_alone(agent, event_name, event)
    for stream, content in ((sys.stdout, stdout), (sys.stderr, stderr)):
        if content:
            stream.buffer.write(content)
            stream.flush()
    return code


def client_home() -> str:
    return os.environ.get("COMMONPLACE_HOME") or os.path.expanduser("~/.commonplace")  # noqa: PTH111 - pathlib is slow


def socket_path() -> str:
    """The companion's socket, or where there are no Unix sockets (Windows) the file with its port and token."""
    return f"{client_home()}/companion.sock"


def ask_companion(agent: str, event_name: str, event: bytes) -> Answer:
    """Raises _NotAccepted if the event was not taken, or if the companion was killed before it answered."""
    connection = _connect()
    try:
        try:
            connection.sendall(encode_event(agent, event_name, event))
            accepted = connection.recv(16)
        except OSError as error:
            if isinstance(error, TimeoutError):
                _suspect_companion()
            raise _NotAccepted from None
        if not accepted.startswith(b"+"):  # it has ended, or is of another version
            raise _NotAccepted
        _forget_suspicion()
        seconds, _, rest = accepted[1:].partition(b"\n")
        connection.settimeout(float(seconds))
        return _read_answer(connection, rest)
    finally:
        connection.close()


def encode_event(agent: str, event_name: str, event: bytes) -> bytes:
    """One line with two lengths, then the caller and its environment, then the event."""
    facts = [__file__, agent, event_name, str(os.getppid()), os.getcwd()]  # noqa: PTH109 - as above
    variables = [f"{name}={value}" for name, value in os.environ.items()]
    head = "\0".join([*facts, *variables]).encode("utf-8", "surrogateescape")
    return b"%d %d\n%b%b" % (len(head), len(event), head, event)


def _connect() -> "_socket.socket":
    path = socket_path()
    is_unix = hasattr(_socket, "AF_UNIX")
    try:
        if is_unix and (len(os.fsencode(path)) > MAX_ADDRESS_BYTES or os.stat(path).st_uid != os.getuid()):  # noqa: PTH116
            raise _NotAccepted  # what is sent holds keys: it goes to a socket of this user only
        connection = _socket.socket(_socket.AF_UNIX if is_unix else _socket.AF_INET)
        connection.settimeout(_ACCEPT_SECONDS)
        if is_unix:
            connection.connect(path)
        else:
            with open(path, encoding="ascii") as file:  # noqa: PTH123 - as above
                port, token = file.read().split()
            connection.connect(("127.0.0.1", int(port)))
            connection.sendall(token.encode())
    except (OSError, ValueError) as error:
        if isinstance(error, TimeoutError):
            _suspect_companion()
        raise _NotAccepted from None
    return connection


def _read_answer(connection: "_socket.socket", received: bytes) -> Answer:
    """The exit code and both outputs; an event that was accepted and not answered lets the agent go on."""
    try:
        while chunk := connection.recv(_CHUNK_BYTES):
            received += chunk
    except TimeoutError:
        _note_hung()
        return 0, b"", b""
    except OSError:
        pass
    head, _, body = received.partition(b"\n")
    sizes = [int(word) for word in head.split()]
    if len(sizes) != 3 or len(body) < sizes[1] + sizes[2]:  # noqa: PLR2004 - it was killed
        raise _NotAccepted
    return sizes[0], body[: sizes[1]], body[sizes[1] : sizes[1] + sizes[2]]


def _suspect_companion() -> None:
    """Dismiss a companion that was silent before and has accepted nothing since; a busy machine is silent once."""
    import time

    mark = f"{client_home()}/companion.silent"
    try:
        if time.time() - os.stat(mark).st_mtime > _HUNG_SECONDS:  # noqa: PTH116 - as above
            os.unlink(mark)  # noqa: PTH108 - as above
            _note_hung()
    except FileNotFoundError:
        _touch(mark)
    except OSError:
        return


def _forget_suspicion() -> None:
    try:
        os.unlink(f"{client_home()}/companion.silent")  # noqa: PTH108 - as above
    except OSError:
        return


def _note_hung() -> None:
    """A companion ends when its socket is gone; the next event tells the agent of it (`companion/program.py`)."""
    _touch(f"{client_home()}/companion.hung")
    try:
        os.unlink(socket_path())  # noqa: PTH108 - as above
    except OSError:
        return


def _touch(path: str) -> None:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError:
        return


def _act_alone(agent: str, event_name: str, event: bytes) -> int:
    """Act on the event in a process that has the whole program: this one, or what it becomes."""
    if __name__ != "__main__":
        from commonplace.client.companion import program

        return program.act_alone(agent, event_name, event)
    os.dup2(_store_event(event), 0)
    # The same process, so that the agent program stays its parent. -P: the current folder may contain any module.
    words = [sys.executable, "-P", "-m", "commonplace", "hook", "--alone", agent, event_name]
    if os.name == "posix":
        os.execv(sys.executable, words)  # noqa: S606 - no shell is wanted
    import subprocess

    return subprocess.run(words, check=False).returncode


def _store_event(event: bytes) -> int:
    """A descriptor to read it from: of a pipe where it fits, because a disk may be full."""
    if len(event) <= _CHUNK_BYTES:
        reading, writing = os.pipe()
        os.write(writing, event)
        os.close(writing)
        return reading
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(event)
        file.seek(0)
        return os.dup(file.fileno())


if __name__ == "__main__":
    sys.exit(main(["hook", *sys.argv[1:]]))
