"""A sync client of one workspace, without an edge."""

import hashlib
import random
from typing import Any

from commonplace.access import LOCAL, Caller
from commonplace.rooms.archives.operations import get_stored_session, read_bytes, upload_bytes
from team import Agent, Team

THREE_LINES = b'{"n": 0}\n{"n": 1}\n{"n": 2}\n'


class SyncClient(Agent):
    workspace: dict[str, str]

    async def upload(self, session_id: str, content: bytes, offset: int = 0, **more: Any) -> dict[str, Any]:
        """Upload bytes, as PUT does."""
        arguments = self.workspace | {"session_id": session_id, "body": content, "offset": offset} | more
        answer = await self.calls.run_operation(upload_bytes, arguments, self.caller)
        return {name: getattr(answer.reply, name) for name in ("status", "bytes", "lines", "sha256")}

    async def read_raw_lines(self, session_id: str, **more: Any) -> dict[str, Any]:
        """Lines of a session."""
        return await self.read_session(
            workspace_id=self.workspace["workspace_id"], session_id=session_id, view="raw", **more
        )

    async def read_all_bytes(self, session_id: str) -> bytes:
        """The whole session, as GET with a Range gives it."""
        session = {"workspace_id": self.workspace["workspace_id"], "session_id": session_id}
        length = (await self.calls.run_operation(get_stored_session, session, self.caller)).reply.bytes
        whole = b""
        while len(whole) < length:
            span = session | {"first": len(whole), "end": length}
            whole += (await self.calls.run_operation(read_bytes, span, self.caller)).reply
        return whole


async def register_sync_client(
    team: Team, machine: str = "laptop", caller: Caller = LOCAL, project: str = "shop"
) -> SyncClient:
    sync = SyncClient(team.calls, caller=caller)
    reply = await sync.register_workspace(machine=machine, tool="claude-code", project=project)
    sync.workspace = {"workspace_id": reply["workspace_id"], "write_token": reply["write_token"]}
    return sync


async def search_places(sync: SyncClient, query: str, **more: Any) -> list[tuple[str, int, str]]:
    """The matches of search_sessions as (session, line, role)."""
    answer = await sync.search_sessions(query=query, **more)
    return [(match["session_id"], match["line"], match["role"]) for match in answer["matches"]]


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def random_lines(size: int, seed: int = 7) -> bytes:
    """Lines of very different lengths that hardly compress, with NULs and bytes that are not valid UTF-8."""
    return random.Random(seed).randbytes(size)
