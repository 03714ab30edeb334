"""`commonplace serve`: run the server over HTTP, or over stdio for the agent that started it."""

import argparse
import asyncio
import sys

from commonplace import config, server
from commonplace.client.agents import AGENTS
from commonplace.config import Settings
from commonplace.edges import structured_log
from commonplace.edges.http.machine_hosts import find_machine_hosts, format_host

_ALL_ADDRESSES = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not listened on


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
        import uvloop  # noqa: PLC0415 - not available on Windows

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(serving)  # type: ignore[arg-type]  # one of the two coroutines above


def _render_banner(url: str, settings: Settings) -> str:
    port = url.rpartition(":")[2]
    outside = _list_outside_urls(settings, port) if settings.host in _ALL_ADDRESSES else []
    address = outside[0] if outside else url
    key = " --key KEY" if settings.auth_on else ""
    header = ' --header "Authorization: Bearer KEY"' if settings.auth_on else ""
    store = str(settings.data) if settings.store == "sqlite" else "PostgreSQL"
    others = f"Other machines reach it at {', '.join(outside)}.\n" if outside else ""
    create = "  KEY, for each person or agent   commonplace key create --name NAME --projects '*'\n"
    return f"""Commonplace listens at {url} (data: {store}; keys: {settings.auth}).
{others}
Connect your agents ({", ".join(AGENTS)}):
{create if settings.auth_on else ""}  one agent                       commonplace connect claude --url {address}{key}
  all, with hooks and uploads     commonplace install --url {address}{key}
  manually                        claude mcp add --transport http commonplace {address}/mcp{header}

Stop with Ctrl-C."""


def _list_outside_urls(settings: Settings, port: str) -> list[str]:
    """The addresses that answer other machines: those whose Host the server accepts."""
    hosts = find_machine_hosts()
    is_ipv4_only = settings.host == "0.0.0.0"  # noqa: S104 - compared, not listened on
    own = [*sorted(hosts.addresses), *sorted(hosts.reachable_names)] if settings.auth_on else []
    usable = [host for host in own if not (is_ipv4_only and ":" in host)]
    named = [host for host in settings.allowed_hosts if host != "*"]
    return [f"http://{_add_port(host, port)}" for host in dict.fromkeys((*named, *map(format_host, usable)))]


def _add_port(host: str, port: str) -> str:
    """An allowed host may already have a port, such as that of a proxy."""
    return host if host.rpartition(":")[2].isdecimal() else f"{host}:{port}"
