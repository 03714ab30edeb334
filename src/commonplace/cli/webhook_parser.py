"""Flags of `commonplace webhook`; `cli/webhook.py` runs it."""

from commonplace.client.commands.command_flags import Commands, RawHelp, add_store_flags, run_lazily


def add_webhook(commands: Commands) -> None:
    webhook = commands.add_parser(
        "webhook",
        help="send who waits for a person to Slack, ntfy or another address",
        description=_WEBHOOK,
        formatter_class=RawHelp,
    )
    acts = webhook.add_subparsers(title="acts", metavar="ACT", required=True)
    add = acts.add_parser("add", help="add one; its address is read from standard input")
    add.add_argument("kind", choices=("slack", "ntfy", "json"), help="the form of the messages")
    add.add_argument(
        "--on", nargs="+", choices=("needs_you", "digest"), default=["needs_you"], help="what to send"
    )
    add.add_argument("--token-file", metavar="F", help="a file with a bearer token, such as ntfy's")
    add.add_argument(
        "--delay", type=int, default=20, metavar="S", help="send what still waits after this time (20)"
    )
    add.add_argument("--hour", type=int, default=7, metavar="H", help="the hour of the digest, in UTC (7)")
    acts.add_parser("list", help="list them, without their addresses")
    remove = acts.add_parser("remove", help="remove one")
    test = acts.add_parser("test", help="send a test message")
    for act in (remove, test):
        act.add_argument("id", help="its id")
    for name, act in acts.choices.items():
        act.add_argument("--project", metavar="P", help="its project (default: every project)")
        add_store_flags(act)
        act.set_defaults(run=run_lazily("commonplace.cli.webhook"), act=name)


_WEBHOOK = """Send what waits for a person, or a daily standup, to an address. The server sends it, and tries again when it fails.
  echo https://hooks.slack.com/services/... | commonplace webhook add slack --project shop
  echo https://ntfy.sh/my-topic | commonplace webhook add ntfy --on needs_you digest --hour 7
  commonplace webhook test hook_1f2e --project shop
Only https to public addresses, unless the server runs with --webhooks private."""
