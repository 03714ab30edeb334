"""A sync client of one workspace, without an edge."""

import hashlib
import random
from typing import Any

from commonplace.access import LOCAL, Caller
from commonplace.rooms.archives.operations import get_stored_session, read_bytes, upload_bytes
from team import Agent, Team

THREE = b'{"n": 0}\n{"n": 1}\n{"n": 2}\n'


class Sync(Agent):
    workspace: dict[str, str]

    async def up(self, session_id: str, content: bytes, offset: int = 0, **more: Any) -> dict[str, Any]:
        """Upload bytes, as PUT does."""
        given = self.workspace | {"session_id": session_id, "body": content, "offset": offset} | more
        answer = await self.calls.run_operation(upload_bytes, given, self.caller)
        return {name: getattr(answer.reply, name) for name in ("status", "bytes", "lines", "sha256")}

    async def raw(self, session_id: str, **more: Any) -> dict[str, Any]:
        """Lines of a session."""
        return await self.read_session(
            workspace_id=self.workspace["workspace_id"], session_id=session_id, view="raw", **more
        )

    async def bytes(self, session_id: str) -> bytes:
        """The whole session, as GET with a Range gives it."""
        named = {"workspace_id": self.workspace["workspace_id"], "session_id": session_id}
        length = (await self.calls.run_operation(get_stored_session, named, self.caller)).reply.bytes
        whole = b""
        while len(whole) < length:
            span = named | {"first": len(whole), "end": length}
            whole += (await self.calls.run_operation(read_bytes, span, self.caller)).reply
        return whole


async def registered(
    team: Team, machine: str = "laptop", caller: Caller = LOCAL, project: str = "shop"
) -> Sync:
    sync = Sync(team.calls, caller=caller)
    made = await sync.register_workspace(machine=machine, tool="claude-code", project=project)
    sync.workspace = {"workspace_id": made["workspace_id"], "write_token": made["write_token"]}
    return sync


async def found(sync: Sync, query: str, **more: Any) -> list[tuple[str, int, str]]:
    """Where sessions match: session, line, role."""
    answer = await sync.search_sessions(query=query, **more)
    return [(each["session_id"], each["line"], each["role"]) for each in answer["matches"]]


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def noise(size: int, seed: int = 7) -> bytes:
    """Lines of very different lengths that hardly compress, with NULs and bytes that are no text."""
    return random.Random(seed).randbytes(size)
