"""`commonplace serve`: over HTTP for everybody, or over stdio for the one agent that started it."""

import argparse
import asyncio
import sys

from commonplace import config, server
from commonplace.client.agents import AGENTS
from commonplace.config import Settings
from commonplace.edges import structured_log


def run(arguments: argparse.Namespace) -> int:
    settings = config.read_settings(vars(arguments))
    config.require_model(settings)
    structured_log.configure_logging(settings.log_level)
    if settings.transport == "stdio":
        _run_event_loop(server.serve_stdio(settings))
    else:
        _run_event_loop(
            server.serve_http(settings, lambda url: print(_render_banner(url, settings), flush=True))
        )
    return 0


def _run_event_loop(serving: object) -> None:
    if sys.platform != "win32":
        import uvloop  # noqa: PLC0415 - not made for Windows

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(serving)  # type: ignore[arg-type]  # one of the two coroutines above


def _render_banner(url: str, settings: Settings) -> str:
    key = " --key KEY" if settings.auth_on else ""
    store = str(settings.data) if settings.store == "sqlite" else "PostgreSQL"
    return f"""Commonplace listens at {url} (data: {store}; keys: {settings.auth}).

Connect your agents ({", ".join(AGENTS)}):
  one agent                       commonplace connect claude --url {url}{key}
  all, with hooks and uploads     commonplace install --url {url}{key}
  manually                        claude mcp add --transport http commonplace {url}/mcp

Stop with Ctrl-C."""
