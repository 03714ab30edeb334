"""A server that takes connections and does not answer."""

import contextlib
import socket
import threading
from collections.abc import Callable

ANSWER = b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class SilentServer:
    """Takes connections and answers none of them, unless it is told to."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._port = self._listening.getsockname()[1]
        self.accepted: list[socket.socket] = []
        self.hangs_up = False
        self.on_accept: Callable[[], object] = lambda: None
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def _accept(self) -> None:
        try:
            while True:
                connection = self._listening.accept()[0]
                self.on_accept()
                self.accepted.append(connection)
                if self.hangs_up:
                    connection.close()
        except OSError:
            return

    def answer(self) -> None:
        self.accepted[-1].sendall(ANSWER)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # it may be closed already
            self._listening.shutdown(socket.SHUT_RDWR)
        for opened in (self._listening, *self.accepted):
            opened.close()
