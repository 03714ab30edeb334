"""The workspaces that this machine writes to: registered when first needed, each with the token that may write to it."""

import socket
from typing import Any

from commonplace.client import remote
from commonplace.client.sync.state import State, Workspace
from commonplace.client.sync.upload import UploadClient

NOT_OURS = frozenset({403, 404})
"""The server does not know the workspace, or not this token for it: it is registered again."""


def machine(configured: dict[str, Any]) -> str:
    """What this machine is called."""
    return str(configured.get("machine") or socket.gethostname().split(".")[0] or "machine")


class Workspaces:
    def __init__(self, wire: UploadClient, kept: State, machine: str) -> None:
        self._wire, self._kept, self._machine = wire, kept, machine

    def of(self, tool: str, project: str, machine: str = "") -> Workspace:
        return self._kept.workspace(machine or self._machine, tool, project) or self.registered(
            tool, project, machine
        )

    def checked(self, tool: str, project: str) -> None:
        """Whether this token may write there: refused, or registered. A write token that works stays."""
        known = self._kept.workspace(self._machine, tool, project)
        if known is None:
            self.registered(tool, project)
        else:
            self._wire.call("register_workspace", machine=self._machine, tool=tool, project=project)

    def registered(self, tool: str, project: str, machine: str = "") -> Workspace:
        """The workspace with a token that was never seen before: the server shows each one only once."""
        triple = {"machine": machine or self._machine, "tool": tool, "project": project}
        reply = self._wire.call("register_workspace", **triple)
        if not reply.get("write_token"):
            reply = self._wire.call("register_workspace", **triple, rotate=True)
        if not reply.get("write_token"):
            raise remote.ServerRefusal(
                403,
                {"error": "forbidden", "message": "The server gave no write token: is this a sync token?"},
            )
        workspace = Workspace(**triple, id=reply["workspace_id"], write_token=reply["write_token"])
        self._kept.keep_workspace(workspace)
        return workspace
