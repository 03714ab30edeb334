"""What tells clients where to get a token: protected resource metadata (RFC 9728) and WWW-Authenticate.

The resource is the address of /mcp as clients know it; tokens are bound to it as their audience.
"""

from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

from commonplace.access import Role
from commonplace.config import Settings, parse_role_by_scope
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Response
from commonplace.edges.http.router import Route

WELL_KNOWN_PATH: Final = "/.well-known/oauth-protected-resource"
_MCP_PATH: Final = "/mcp"
_EVERYDAY_ROLES: Final = ("readonly", "agent")
_GROUP_PREFIX: Final = "group:"


class ProtectedResource:
    def __init__(self, settings: Settings) -> None:
        self._issuer, self._resource = settings.oauth_issuer, settings.oauth_resource
        self.role_by_scope: Mapping[str, Role] = cast(
            "Mapping[str, Role]", parse_role_by_scope(settings.oauth_roles)
        )
        parts = urlsplit(self._resource)
        self._path = parts.path.rstrip("/")
        self._metadata_url = f"{parts.scheme}://{parts.netloc}{WELL_KNOWN_PATH}{self._path}"

    @property
    def _scopes(self) -> list[str]:
        return [name for name in self.role_by_scope if not name.startswith(_GROUP_PREFIX)]

    def build_metadata(self) -> dict[str, Any]:
        return {
            "resource": self._resource,
            "authorization_servers": [self._issuer],
            "scopes_supported": self._scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "Commonplace",
        }

    def format_challenge(self, error: str = "") -> str:
        """The value of WWW-Authenticate. It asks for the scopes of everyday work, not for those of administration."""
        everyday = [scope for scope in self._scopes if self.role_by_scope[scope] in _EVERYDAY_ROLES]
        fields = {"error": error, "resource_metadata": self._metadata_url, "scope": " ".join(everyday)}
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)

    def public_routes(self) -> dict[str, Route]:
        """Clients look below the path of the resource first, then at the root."""
        paths = (WELL_KNOWN_PATH, f"{WELL_KNOWN_PATH}{_MCP_PATH}", f"{WELL_KNOWN_PATH}{self._path}")
        return dict.fromkeys(paths, self._send_metadata)

    async def _send_metadata(self, request: Request, response: Response) -> None:
        del request
        await response.send_json(200, self.build_metadata())
