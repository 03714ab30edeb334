"""`commonplace serve` with its flags and help; each flag is a setting of `config.py`."""

import argparse

from commonplace.client.commands.command_flags import Commands, RawHelp, run_lazily

_SERVE = """Run the server. Nothing needs to be configured: data goes to a folder, in SQLite.
Every flag can also be set as COMMONPLACE_<FLAG> in the environment, e.g. COMMONPLACE_PORT=9000."""


def add_serve(commands: Commands) -> None:
    serve = commands.add_parser("serve", help="run the server", description=_SERVE, formatter_class=RawHelp)
    serve.add_argument("--host", help="address to listen on (127.0.0.1)")
    serve.add_argument("--port", type=int, help="port to listen on (8080)")
    serve.add_argument("--data", metavar="DIR", help="data folder (the platform's user data folder)")
    serve.add_argument("--store", metavar="STORE", help="sqlite, or postgresql://user@host/database (sqlite)")
    serve.add_argument(
        "--archives", metavar="PLACE", help="where transcripts go: store, DIR, or s3://bucket/prefix (store)"
    )
    serve.add_argument("--transport", choices=("http", "stdio"), help="how agents connect (http)")
    serve.add_argument("--toolsets", metavar="A,B", help="offer only these toolsets (all)")
    serve.add_argument(
        "--auth",
        choices=("on", "local", "off"),
        help="on: every caller needs a key; local: only programs of the user who runs the server may call, with a token"
        " that they find themselves; off: every program of this machine may (off)",
    )
    serve.add_argument(
        "--insecure", action="store_true", default=None, help="allow other machines to connect without a key"
    )
    serve.add_argument(
        "--allowed-hosts",
        metavar="A,B",
        help="further host names that clients may use (with keys: this machine's own)",
    )
    serve.add_argument(
        "--trusted-proxies",
        metavar="A,B",
        help="proxies whose X-Forwarded-For is believed: addresses or networks (none)",
    )
    serve.add_argument("--allowed-origins", metavar="A,B", help="web origins that may call the server")
    serve.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), help="how much to log (info)"
    )
    _add_texts(serve)
    _add_oauth(serve)
    _add_serve_limits(serve)
    serve.set_defaults(run=run_lazily("commonplace.cli.serve"))


def _add_serve_limits(serve: argparse.ArgumentParser) -> None:
    serve.add_argument(
        "--rate-per-key",
        type=int,
        metavar="N",
        help="requests per second that one key may send; 0: any (500)",
    )
    serve.add_argument(
        "--rate-per-address",
        type=int,
        metavar="N",
        help="requests per second that one address may send, but for loopback; 0: any (1000)",
    )
    serve.add_argument(
        "--idle-seconds", type=int, metavar="N", help="stop after N seconds without a connection (0: never)"
    )
    serve.add_argument(
        "--wait", type=int, metavar="N", help="wait N seconds for a PostgreSQL that is not up yet (30)"
    )
    serve.add_argument(
        "--yes",
        dest="migrate_data",
        action="store_true",
        default=None,
        help="run migrations that change data; back up first (SQLite copies itself, and needs no --yes)",
    )
    serve.add_argument(
        "--max-calls", type=int, metavar="N", help="refuse calls while N are in progress, with 503 (256)"
    )


def _add_texts(serve: argparse.ArgumentParser) -> None:
    serve.add_argument(
        "--embeddings",
        metavar="M",
        help="model for search by meaning: on (English), multilingual (also questions in other languages) or light"
        " (multilingual alone), both with the extra `languages`, off, a folder with an ONNX model, or URL#name,"
        " whose key is COMMONPLACE_EMBEDDINGS_KEY (on)",
    )
    serve.add_argument(
        "--archives-raw",
        choices=("mask", "keep"),
        help="mask secrets in the stored bytes of transcripts too, or keep the bytes as sent (mask)",
    )
    serve.add_argument(
        "--secrets", choices=("mask", "refuse"), help="mask secrets in texts, or refuse such texts (mask)"
    )
    serve.add_argument(
        "--webhooks",
        choices=("public", "private", "off"),
        help="where webhooks may send: https to public addresses, also http and your own network, or nowhere (public)",
    )
    serve.add_argument(
        "--librarian",
        metavar="P=DIR,..",
        help="keep the function registry of these projects in step with these folders",
    )


def _add_oauth(serve: argparse.ArgumentParser) -> None:
    group = serve.add_argument_group("OAuth (needs --auth on; docs/guides/oauth.md)")
    group.add_argument(
        "--oauth-issuer", metavar="URL", help="accept access tokens (JWT) of this issuer beside keys (none)"
    )
    group.add_argument(
        "--oauth-resource",
        metavar="URL",
        help="the address of /mcp as clients know it; tokens must be for it",
    )
    group.add_argument(
        "--oauth-audiences", metavar="A,B", help="accept these audiences instead of the resource's address"
    )
    group.add_argument(
        "--oauth-roles",
        metavar="S=R,..",
        help="the role that each scope, or group:NAME, gives (commonplace:read=readonly and so on)",
    )
    group.add_argument(
        "--oauth-projects",
        metavar="P,Q",
        help="projects of tokens without a claim for them; '*' = all (none)",
    )
    group.add_argument(
        "--oauth-projects-claim", metavar="C", help="claim that lists the projects (commonplace_projects)"
    )
    group.add_argument(
        "--oauth-agent-claim", metavar="C", help="claim that names the agent, such as email (agents choose)"
    )
