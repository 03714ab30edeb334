"""The flags and help of `commonplace status` and `commonplace retention`."""

from commonplace.client.commands.command_flags import Commands, RawHelp, add_store_flags, run_lazily


def add_retention(commands: Commands) -> None:
    retention = commands.add_parser(
        "retention",
        help="delete what is older than the settings allow, or show what would go",
        description=_RETENTION,
        formatter_class=RawHelp,
    )
    retention.add_argument("--dry-run", action="store_true", help="only count what would go")
    add_store_flags(retention)
    retention.set_defaults(run=run_lazily("commonplace.cli.retention"))


_RETENTION = """Delete old rows now, in small batches beside the other work; a server does it by itself every hour.
The ages are settings of the server, in days: COMMONPLACE_AUDIT_DAYS (90), COMMONPLACE_EVENT_DAYS (7),
COMMONPLACE_MESSAGE_DAYS (30), COMMONPLACE_SESSION_DAYS (90), COMMONPLACE_WORK_DAYS (14),
COMMONPLACE_FUNCTION_DAYS (30), COMMONPLACE_NOTICE_DAYS (7). Documents, backlog items, specs and unread mail stay.
  commonplace retention --dry-run"""


def add_status(commands: Commands) -> None:
    status = commands.add_parser(
        "status",
        help="show whether it runs, active sessions and locks; --watch: live",
        description=_STATUS,
        formatter_class=RawHelp,
    )
    status.add_argument("--watch", action="store_true", help="show agents, locks and who waits, until Ctrl-C")
    status.add_argument("--project", metavar="P", help="with --watch: only this project (default: all)")
    status.add_argument(
        "--interval", type=float, default=2.0, metavar="S", help="with --watch: seconds between updates (2)"
    )
    add_store_flags(status)
    status.set_defaults(run=run_lazily("commonplace.cli.status"))


_STATUS = """Show which server is used and why, its store, sessions, locks and projects; or watch the team live.
  commonplace status
  commonplace status --watch
  commonplace status --watch --project shop --interval 5
Without a terminal, --watch prints a frame whenever something changed. NO_COLOR switches colours off."""
