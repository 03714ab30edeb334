"""The flags and help of `service`."""

from commonplace.client.commands.command_flags import Commands, RawHelp, run_lazily


def add_login_server(commands: Commands) -> None:
    parser = commands.add_parser(
        "service", help="run the server from login on", description=_SERVICE, formatter_class=RawHelp
    )
    parser.add_argument("act", choices=("install", "status", "remove"))
    parser.add_argument("--port", type=int, help="port to listen on (8080)")
    parser.add_argument("--data", metavar="DIR", help="data folder (the platform's user data folder)")
    parser.add_argument(
        "--store", metavar="STORE", help="sqlite, or postgresql://user@host/database (sqlite)"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show the unit and the commands")
    parser.set_defaults(run=run_lazily("commonplace.cli.login_server"))


_SERVICE = """Let this machine's service manager run the server for you: a systemd user unit, a launchd agent, or a Windows task.
A server for a team: deploy/ has a hardened unit of the system, containers and proxies with TLS.
  commonplace service install --port 8080
  commonplace service status"""
