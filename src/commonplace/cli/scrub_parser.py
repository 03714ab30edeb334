"""Flags and help of `commonplace scrub`."""

from commonplace.client.commands.command_flags import Commands, RawHelp, add_store_flags, run_lazily


def add_scrub_command(commands: Commands) -> None:
    scrub = commands.add_parser(
        "scrub",
        help="remove a secret that slipped in, everywhere it went",
        description=_SCRUB,
        formatter_class=RawHelp,
    )
    scrub.add_argument("--yes", action="store_true", help="remove it; without this it is only looked for")
    add_store_flags(scrub)
    scrub.set_defaults(run=run_lazily("commonplace.cli.scrub"))


_SCRUB = """Look for a secret in every project, and with --yes remove it: documents and their versions, mail, backlog, events,
the search index, archived transcripts, the audit log (with a redaction record) and the files of the client side on
this machine. The secret is read from standard input or asked for; never write it on a command line.
  commonplace scrub                          look, and list where it is
  pass show old-token | commonplace scrub --yes"""
