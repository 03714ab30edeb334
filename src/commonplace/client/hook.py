"""The launcher: hand an agent's hook event to the companion (`companion/resident.py`) and print its answer.

`python -ISE hook.py AGENT [EVENT]`, with the event as JSON on standard input, is what `install` writes into agents'
settings; `commonplace hook AGENT` is the same. It runs beside every edit and command, so it is short and imports what
the interpreter has loaded already: `os` and `socket` would double the time of its start. Where no companion answers, it
becomes the whole program, which acts on the event itself and starts a companion (`companion/program.py`).
"""

import _socket
import sys

system = sys.modules.get("posix") or sys.modules["nt"]
"""What `os` is made of; the interpreter has it loaded."""

_ACCEPT_SECONDS = 0.2
"""How long a companion may take to accept an event, on a busy machine."""
MAX_ADDRESS_BYTES = 100
"""Unix socket addresses end at 104 to 108 bytes."""
_CHUNK_BYTES = 65536


class _NotAnswered(Exception):
    """Somebody else must act on the event; the reason is `missing`, `silent` or `hung`."""


def main(words: list[str]) -> int:
    """`words` is the command line: hook AGENT [EVENT]; Copilot's input does not name its event."""
    agent, event_name = [*words[1:3], "", ""][:2]
    event = b"".join(iter(lambda: system.read(0, _CHUNK_BYTES), b""))
    try:
        code, stdout, stderr = ask_companion(agent, event_name, event)
    except _NotAnswered as reason:
        return _act_alone(str(reason), agent, event_name, event)
    _write(1, stdout)
    _write(2, stderr)
    return code


def _write(descriptor: int, content: bytes) -> None:
    while content:
        content = content[system.write(descriptor, content) :]


def ask_companion(agent: str, event_name: str, event: bytes) -> tuple[int, bytes, bytes]:
    """The exit code and both outputs."""
    connection = _connect()
    reason = "missing"
    try:
        connection.sendall(_encode_event(agent, event_name, event))
        received = connection.recv(_CHUNK_BYTES)
        if received[:1] == b"+":  # it has accepted the event, and says how long it may take
            seconds, _, received = received[1:].partition(b"\n")
            connection.settimeout(float(seconds))
            reason = "hung"
            while chunk := connection.recv(_CHUNK_BYTES):
                received += chunk
    except TimeoutError:
        raise _NotAnswered("hung" if reason == "hung" else "silent") from None
    except OSError:
        raise _NotAnswered("missing") from None
    finally:
        connection.close()
    head, _, body = received.partition(b"\n")
    sizes = [int(word) for word in head.split()]
    if len(sizes) != 3 or len(body) < sizes[1] + sizes[2]:  # noqa: PLR2004 - it was killed, or is of another version
        raise _NotAnswered("missing")
    return sizes[0], body[: sizes[1]], body[sizes[1] :]


def _connect() -> "_socket.socket":
    """The companion's socket; without Unix sockets (Windows) the same path is a file with its port and a token."""
    home = _variable("COMMONPLACE_HOME") or f"{_variable('HOME') or _variable('USERPROFILE')}/.commonplace"
    path = f"{home}/companion.sock"
    is_unix = hasattr(_socket, "AF_UNIX")
    try:
        # What is sent holds keys: it goes to a socket of this user only.
        if is_unix and (
            len(path.encode()) > MAX_ADDRESS_BYTES or system.stat(path).st_uid != system.getuid()
        ):
            raise _NotAnswered("missing")
        connection = _socket.socket(_socket.AF_UNIX if is_unix else _socket.AF_INET)
        connection.settimeout(_ACCEPT_SECONDS)
        if is_unix:
            connection.connect(path)
        else:
            with open(path, encoding="ascii") as file:  # noqa: PTH123 - see above
                port, token = file.read().split()
            connection.connect(("127.0.0.1", int(port)))
            connection.sendall(token.encode())
    except TimeoutError:
        raise _NotAnswered("silent") from None
    except (OSError, ValueError):
        raise _NotAnswered("missing") from None
    return connection


def _variable(name: str) -> str:
    value = system.environ.get(name.encode(), b"") or system.environ.get(name, "")  # bytes, on Windows text
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _encode_event(agent: str, event_name: str, event: bytes) -> bytes:
    """One line with two lengths, then the caller and its environment, then the event."""
    facts = (__file__, agent, event_name, str(system.getppid()), system.getcwd())
    texts = [*facts, *(part for variable in system.environ.items() for part in variable)]
    head = b"\0".join(
        text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape") for text in texts
    )
    return b"%d %d\n%b%b" % (len(head), len(event), head, event)


def _act_alone(reason: str, agent: str, event_name: str, event: bytes) -> int:
    if __name__ != "__main__":
        from commonplace.client.companion import program

        return program.act_alone(reason, agent, event_name, event)
    reading, writing = system.pipe()
    if system.fork() == 0:  # feeds what the parent becomes
        _write(writing, event)
        system._exit(0)  # noqa: SLF001 - what os._exit is
    system.close(writing)
    system.dup2(reading, 0)
    # The same process, so that the agent program stays its parent. -P: the current folder may contain any module.
    words = [sys.executable, "-P", "-m", "commonplace", "hook", "--alone", reason, agent, event_name]
    system.execv(sys.executable, words)
    return 1  # which is not reached


if __name__ == "__main__":
    sys.exit(main(["hook", *sys.argv[1:]]))
