"""The flags and help of `up`."""

from commonplace.client.commands.command_flags import Commands, RawHelp, run_lazily


def add_up(commands: Commands) -> None:
    up = commands.add_parser(
        "up", help="start everything and show a first answer", description=_UP, formatter_class=RawHelp
    )
    up.add_argument("--yes", action="store_true", help="connect the agents without asking")
    up.add_argument("--port", type=int, help="port to listen on (8080)")
    up.add_argument("--data", metavar="DIR", help="data folder (the platform's user data folder)")
    up.add_argument("--no-browser", action="store_true", help="do not open the page")
    up.add_argument(
        "--no-transcripts", action="store_true", help="do not read transcripts that are already here"
    )
    up.add_argument("--question", metavar="TEXT", help="what to ask your own history first")
    up.set_defaults(run=run_lazily("commonplace.cli.up"))


def add_down(commands: Commands) -> None:
    down = commands.add_parser("down", help="stop the server that runs on the data folder", description=_DOWN)
    down.add_argument("--data", metavar="DIR", help="data folder (the platform's user data folder)")
    down.set_defaults(run=run_lazily("commonplace.cli.down"))


_DOWN = (
    "Stop the server of this data folder, however it was started. It finishes the calls that it has begun."
)


_UP = """Start the server (or find it), open its page, find the agents on this machine and offer to connect them, read the
transcripts that they already wrote, and show a first answer from your own history.
  uvx commonplace-mcp up
Each step is also a command of its own: serve, install, sync run, search. `commonplace down` stops the server."""
