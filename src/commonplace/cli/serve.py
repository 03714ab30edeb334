"""`commonplace serve`: run the server over HTTP, or over stdio for the agent that started it."""

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit

from commonplace import config, server
from commonplace.client.agents import AGENTS
from commonplace.client.link.remote import LOCAL_HOSTS, local_token_path
from commonplace.client.program import name_program, spell_commands
from commonplace.config import Settings
from commonplace.edges import structured_log
from commonplace.edges.http.machine_hosts import find_machine_hosts, format_host
from commonplace.freed_memory import fix_memory_thresholds
from commonplace.local_token import has_other_people

_LABEL_COLUMNS = 31
_ALL_ADDRESSES = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not listened on


def run(arguments: argparse.Namespace) -> int:
    settings = config.read_settings(vars(arguments))
    config.require_model(settings)
    structured_log.configure_logging(settings.log_level)
    fix_memory_thresholds()
    if settings.transport == "stdio":
        _run_event_loop(server.serve_stdio(settings))
    else:
        _run_event_loop(
            server.serve_http(settings, lambda url: print(_render_banner(url, settings), flush=True))
        )
    return 0


def _run_event_loop(serving: object) -> None:
    if sys.platform != "win32":
        import uvloop  # not available on Windows

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    with contextlib.suppress(asyncio.CancelledError):  # a signal before the server listens
        asyncio.run(serving)  # type: ignore[arg-type]  # one of the two coroutines above


def _render_banner(url: str, settings: Settings) -> str:
    port = url.rpartition(":")[2]
    is_everywhere = settings.host in _ALL_ADDRESSES
    outside = _list_outside_urls(settings, port) if is_everywhere else []
    address = outside[0] if outside else url
    store = str(settings.data) if settings.store == "sqlite" else "PostgreSQL"
    lines = [f"Commonplace listens at {url} (data: {store}; keys: {settings.auth})."]
    if outside:
        lines.append(f"Other machines reach it at {', '.join(outside)}.")
    elif is_everywhere:
        lines += [_UNREACHABLE_WARNING]
    if settings.is_open and has_other_people():
        lines += [_OTHER_PEOPLE_WARNING]
    is_shared = bool(outside) or urlsplit(url).hostname not in LOCAL_HOSTS
    agents = list(AGENTS) if is_shared else ["claude"]
    lines += [spell_commands(note) for note in config.list_former_variables()]
    lines += ["", *_render_connect_lines(address, agents, settings)]
    lines += ["", f"See what they do: {_render_page_line(address, settings)}"]
    lines += [f"Documentation:    {address}/docs/README.md", "", "Stop with Ctrl-C."]
    return "\n".join(lines)


def _render_page_line(address: str, settings: Settings) -> str:
    """Who needs a key or a token is signed in by a link."""
    return f"{address}/" if settings.is_open else f"{name_program()} open, or {address}/"


_UNREACHABLE_WARNING = (
    "Other machines are refused: turn keys on (--auth on), or name this machine with --allowed-hosts HOST."
)


_OTHER_PEOPLE_WARNING = (
    "Other people have accounts on this machine and can call this server: --auth local keeps them out."
)


def _render_connect_lines(address: str, agents: Sequence[str], settings: Settings) -> list[str]:
    key = " --key KEY" if settings.auth_on else ""
    bearer = "KEY" if settings.auth_on else "" if settings.is_open else f"$(cat {local_token_path()})"
    header = f' --header "Authorization: Bearer {bearer}"' if bearer else ""
    program = name_program() if len(agents) == 1 else "commonplace"
    rows = [(AGENTS[agent].title, f"{program} connect {agent} --url {address}{key}") for agent in agents]
    title = "Connect your agents:"
    if len(agents) == 1:
        title, rows = f"Connect your agents ({', '.join(AGENTS)}):", [("one agent", rows[0][1])]
    rows.append(("all, with hooks and uploads", f"{program} install --url {address}{key}"))
    rows.append(
        ("without this program", f"claude mcp add --transport http commonplace {address}/mcp{header}")
    )
    if settings.auth_on:
        rows.insert(
            0,
            (
                "KEY, for each person or agent",
                f"{name_program()} key create --name NAME --projects '*'",
            ),
        )
    return [title, *(f"  {label:{_LABEL_COLUMNS}} {command}" for label, command in rows)]


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
