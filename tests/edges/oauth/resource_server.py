"""The product with OAuth on, as a client of these tests sees it."""

from dataclasses import dataclass
from typing import Any

import httpx2

from commonplace import access
from commonplace.call import Calls
from commonplace.edges.identity import Identity


@dataclass
class ResourceServer:
    url: str
    calls: Calls
    identity: Identity
    client: httpx2.AsyncClient

    @property
    def resource(self) -> str:
        return f"{self.url}/mcp"

    async def call(self, operation: str, bearer: str, **arguments: Any) -> httpx2.Response:
        headers = {"authorization": f"Bearer {bearer}"} if bearer else {}
        return await self.client.post(f"{self.url}/api/{operation}", json=arguments, headers=headers)

    async def whoami(self, bearer: str) -> httpx2.Response:
        return await self.call("memory_admin", bearer, action="auth_status")

    async def admin(self, **arguments: Any) -> Any:
        return (await self.calls.run("memory_admin", arguments, access.OPERATOR)).reply
