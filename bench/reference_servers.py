"""Servers that the product is compared with: a bare ASGI route on the same stack, an echo tool on the official SDK."""

import argparse
import asyncio

import msgspec
import uvicorn
import uvloop


async def bare_route(_scope, receive, send) -> None:
    """Decode JSON, encode JSON, nothing else."""
    body = (await receive())["body"]
    message = msgspec.json.decode(body)
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "{}"}]}}
    encoded = msgspec.json.encode(answer)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(encoded)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": encoded})


def sdk_app():
    from mcp.server import MCPServer  # noqa: PLC0415 - a second to import

    server = MCPServer("echo")
    for n in range(70):

        def echo(text: str, count: int = 1) -> str:
            return text * count

        server.add_tool(echo, name="echo" if n == 0 else f"echo_{n}", description="Say it again.")
    return server.streamable_http_app(json_response=True, stateless_http=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("bare", "sdk"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--uvloop", action="store_true", help="the event loop that the product runs on")
    arguments = parser.parse_args()
    if arguments.uvloop:
        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    app = bare_route if arguments.kind == "bare" else sdk_app()
    lifespan = "off" if arguments.kind == "bare" else "on"
    config = uvicorn.Config(app, port=arguments.port, log_level="error", access_log=False, lifespan=lifespan)
    asyncio.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    main()
