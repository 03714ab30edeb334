"""`commonplace up`: from nothing to a first answer: server, page, agents, transcripts, and a look into them.

Every step is a command of its own, which is run as a person would run it; `up` only puts them in order.
"""

import argparse
import os
import sys
import time
import webbrowser
from pathlib import Path

from commonplace import config, errors
from commonplace.beacon import read_beacon
from commonplace.cli.first_answer import find_first_answer
from commonplace.client.install.installed_agents import find_installed_agents
from commonplace.client.install.machine import this_machine
from commonplace.client.link import remote
from commonplace.client.link.remote import RemoteServer
from commonplace.client.link.server_start import start_server
from commonplace.client.program import make_lasting, name_program, spell_commands
from commonplace.data_folder import find_holder

_START_SECONDS = 60
_POLL_SECONDS = 0.1
_SILENT_SECONDS = 1.5
_HEALTH_SECONDS = 2
_SYNC_SECONDS = 20
"""After this time the rest is sent in the background, so that the first answer comes within a minute."""
_DEFAULT_PORT = "8080"


def run(arguments: argparse.Namespace) -> int:
    make_lasting()
    settings = config.read_settings({"data": arguments.data, "port": arguments.port})
    server = _find_server(settings.data) or _start_server(settings.data, arguments.port)
    _report("page", server.url)
    if not arguments.no_browser:
        _open_page(server.url)
    _connect_agents(server, arguments)
    _read_transcripts(arguments)
    _show_first_answer(server, arguments.question)
    _report(
        "next",
        f'{name_program()} search "...", who, doctor; import --everything reads notes and git history',
    )
    _report("stop", f"{name_program()} down{f' --data {arguments.data}' if arguments.data else ''}")
    return 0


def _report(step: str, text: str) -> None:
    print(f"{step:12}{spell_commands(text)}", flush=True)


def _find_server(folder: Path) -> RemoteServer | None:
    beacon = read_beacon(folder)
    if beacon and remote.is_answering(beacon["url"], _HEALTH_SECONDS):
        _report("server", f"already runs at {beacon['url']}, data in {folder}")
        return RemoteServer(remote.normalize_url(beacon["url"]), beacon["token"])
    return None


def _start_server(folder: Path, port: int | None) -> RemoteServer:
    """Start it as a process that stays when this command ends."""
    if pid := find_holder(folder):
        raise errors.Conflict(
            f"The process {pid} has {folder} open but does not answer.", hint="Wait a moment, or stop it."
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    chosen = os.environ.get("COMMONPLACE_PORT", _DEFAULT_PORT) if port is None else str(port)
    os.environ["COMMONPLACE_PORT"] = chosen
    os.environ.setdefault("COMMONPLACE_IDLE_SECONDS", "0")
    _report("server", f"starting, data in {folder}")
    started = start_server(folder)
    began = shown = time.monotonic()
    ends = began + _START_SECONDS
    while time.monotonic() < ends:
        beacon = read_beacon(folder)
        if beacon and remote.is_answering(beacon["url"], _HEALTH_SECONDS):
            _report("", f"runs at {beacon['url']}")
            return RemoteServer(remote.normalize_url(beacon["url"]), beacon["token"])
        if started.has_ended:
            raise errors.Unavailable(
                f"The server did not start: {started.last_error()}", hint="Try another port with --port N."
            )
        if time.monotonic() - shown > _SILENT_SECONDS:
            shown = time.monotonic()
            _report("", f"still starting ({shown - began:.0f} s)")
        time.sleep(_POLL_SECONDS)
    raise errors.Unavailable(
        f"The server did not answer within {_START_SECONDS} s.", hint=f"See {started.log}."
    )


def _open_page(url: str) -> None:
    """Only where there is a screen: a text browser would take the terminal."""
    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return
    webbrowser.open(url)


def _connect_agents(server: RemoteServer, arguments: argparse.Namespace) -> None:
    try:
        agents = find_installed_agents(this_machine())
    except errors.NotFound:
        _report("agents", "none was found here; connect one with: commonplace connect AGENT")
        return
    _report("agents", ", ".join(agent.title for agent in agents))
    if not arguments.yes and not sys.stdin.isatty():
        _report("", f"connect them with: commonplace install --url {server.url}")
        return
    _run_command("install", "--no-diff", "--url", server.url, *(["--yes"] if arguments.yes else []))


def _read_transcripts(arguments: argparse.Namespace) -> None:
    if arguments.no_transcripts:
        return
    _report("transcripts", "reading what your agents have written here, newest first")
    try:
        _run_command("sync", "run", "--seconds", str(_SYNC_SECONDS))
    except errors.Refusal as refusal:
        _report("", f"{refusal.message} {refusal.hint or ''}")


def _show_first_answer(server: RemoteServer, question: str | None) -> None:
    """From the user's own transcripts; an answer within the first minute says more than a manual."""
    try:
        lines = find_first_answer(server, question)
    except (remote.ServerRefusal, remote.ServerUnreachable) as refused:
        _report("answer", str(refused))
        return
    if not lines:
        _report("answer", "nothing is archived yet: work with an agent, then run `commonplace search WORDS`")
    for label, text in lines:
        _report(label, text)


def _run_command(*words: str) -> None:
    from commonplace.cli.parser import build_parser  # the parser lists this command

    arguments = build_parser().parse_args(list(words))
    arguments.run(arguments)
