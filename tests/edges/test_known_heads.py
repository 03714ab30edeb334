"""A connection that repeats a head: its requests are answered the same, whether their head is parsed or known."""

import asyncio
import json

import pytest
import uvicorn
from uvicorn.server import ServerState

from commonplace.access import LOCAL, Caller
from commonplace.edges.http.known_heads import split_whole_request
from commonplace.edges.http.listener import BoundedHeadProtocol
from commonplace.edges.http.request import Request
from commonplace.edges.http.request_worker import RequestWorker
from commonplace.edges.http.response import Response
from commonplace.edges.http.router import HttpApplication
from patience import wait_until_async

HEAD = "POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\nX-Agent-Id: ann\r\n\r\n"


class ClientEnd(asyncio.Transport):
    """The other end of a connection: the answers that it was sent."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 5), "sockname": ("127.0.0.1", 80)})
        self.answers: asyncio.Queue[bytes] = asyncio.Queue()
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.answers.put_nowait(data)

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class EchoServer:
    """Answers with what it read; counts the heads that went through the parser."""

    def __init__(self) -> None:
        self.parsed_heads = 0
        self.release = asyncio.Event()
        app = HttpApplication(self._identify, {"/echo": {"POST": self._echo}, "/slow": {"POST": self._wait}})
        config = uvicorn.Config(app, http=BoundedHeadProtocol, ws="none", log_config=None)
        config.load()
        server = self

        class CountingProtocol(BoundedHeadProtocol):
            def on_headers_complete(self) -> None:
                server.parsed_heads += 1
                super().on_headers_complete()

        self.protocol = CountingProtocol(config=config, server_state=ServerState(), app_state={})
        self.client = ClientEnd()
        self.protocol.connection_made(self.client)

    async def _identify(self, headers, *_arguments, **_flags) -> Caller:
        del headers
        return LOCAL

    async def _echo(self, request: Request, response: Response) -> None:
        body = await request.read_body()
        await response.send_json(
            200, {"body": body.decode(), "agent": request.headers["x-agent-id"], "path": request.path}
        )

    async def _wait(self, request: Request, response: Response) -> None:
        await self.release.wait()
        await self._echo(request, response)

    async def ask(self, body: str, head: str = HEAD) -> dict[str, str]:
        self.send(body, head)
        return await self.read()

    def send(self, body: str, head: str = HEAD) -> None:
        self.protocol.data_received(head.format(length=len(body)).encode() + body.encode())

    async def read(self) -> dict[str, str]:
        answer = await asyncio.wait_for(self.client.answers.get(), 10)
        assert answer.startswith(b"HTTP/1.1 200 ")
        return json.loads(answer.partition(b"\r\n\r\n")[2])


@pytest.fixture
async def server():
    server = EchoServer()
    yield server
    server.protocol.connection_lost(None)


async def test_only_the_first_of_requests_with_one_head_is_parsed(server: EchoServer):
    bodies = ["a", "bb", "", "x" * 20_000]
    answers = [await server.ask(body) for body in bodies]
    assert [answer["body"] for answer in answers] == bodies
    assert {answer["agent"] for answer in answers} == {"ann"}
    assert server.parsed_heads == 1


async def test_each_head_is_its_own(server: EchoServer):
    other = HEAD.replace("ann", "bob")
    asked = [await server.ask("x", head) for head in (HEAD, other, HEAD, other)]
    assert [answer["agent"] for answer in asked] == ["ann", "bob", "ann", "bob"]
    assert server.parsed_heads == 2


async def test_a_request_in_parts_is_parsed(server: EchoServer):
    await server.ask("first")
    data = HEAD.format(length=6).encode() + b"second"
    for start in range(0, len(data), 7):
        server.protocol.data_received(data[start : start + 7])
    assert (await server.read())["body"] == "second"
    assert (await server.ask("third"))["body"] == "third"
    assert server.parsed_heads == 2


async def test_two_requests_in_one_piece_are_both_answered(server: EchoServer):
    await server.ask("first")
    one, two = (HEAD.format(length=3).encode() + body for body in (b"one", b"two"))
    server.protocol.data_received(one + two)
    assert [(await server.read())["body"] for _ in range(2)] == ["one", "two"]


async def test_a_request_that_comes_before_the_last_answer_waits_for_it(server: EchoServer):
    slow = HEAD.replace("/echo", "/slow")
    server.release.set()
    await server.ask("known", slow)
    await server.ask("known")
    server.release.clear()
    server.send("slow", slow)
    server.send("after")
    await asyncio.sleep(0)
    assert server.client.answers.empty()
    server.release.set()
    assert [(await server.read())["body"] for _ in range(2)] == ["slow", "after"]


@pytest.mark.parametrize(
    "field",
    ["Transfer-Encoding: chunked", "Connection: close", "Expect: 100-continue", "Content-Length: 4"],
)
async def test_an_unusual_head_is_never_taken_for_a_known_one(server: EchoServer, field: str):
    await server.ask("x")
    head = HEAD.replace("X-Agent-Id", f"{field}\r\nX-Agent-Id")
    for _ in range(2):
        if not server.client.is_closed:
            server.send("5555", head)
            await asyncio.wait_for(server.client.answers.get(), 10)
    assert server.parsed_heads >= 2 or server.client.is_closed


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"POST / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab",
        b"POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\na",
        b"POST / HTTP/1.1\r\nContent-Length: \xb2\r\n\r\nab",
        b"POST / HTTP/1.1\r\nContent-Length:\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\n\r\nContent-Length: 0\r\n\r\n",
        b"POST / HTTP/1.1\r\nX: " + b"y" * 2000 + b"\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_what_is_not_exactly_one_request_is_left_to_the_parser(data: bytes):
    assert split_whole_request(data) is None


def test_a_whole_request_is_split_without_its_length():
    whole = split_whole_request(b"POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 2\r\nX: y\r\n\r\nab")
    assert whole is not None
    assert (whole.head, whole.body) == (b"POST / HTTP/1.1\r\nHost: a\r\nX: y", b"ab")
    last = split_whole_request(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
    assert last is not None
    assert (last.head, last.body) == (b"POST / HTTP/1.1\r\nHost: a", b"")


async def test_a_request_that_waits_for_its_turn_while_its_connection_is_lost_is_left_to_a_task_of_its_own():
    class Cycle:
        async def run_asgi(self, app: str) -> None:
            ran.append(app)

    ran: list[str] = []
    running: set[asyncio.Task[None]] = set()
    worker = RequestWorker(asyncio.get_running_loop(), "app", running)
    assert worker.start(Cycle())
    await wait_until_async(lambda: ran == ["app"] and not running)
    worker.close()
    assert not worker.start(Cycle())
