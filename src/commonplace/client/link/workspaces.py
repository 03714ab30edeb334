"""The workspaces that this machine writes to, registered when first needed, with their write tokens."""

import socket
from typing import Any

from commonplace.client.link.sync_state import LocalWorkspace, SyncState
from commonplace.client.link.upload_client import UploadClient

REGISTER_AGAIN_STATUSES = frozenset({403, 404})
"""The server does not know the workspace or its write token: register again."""


def machine_name(configured: dict[str, Any]) -> str:
    """This machine's name: `machine` in config.toml, else the host name."""
    return str(configured.get("machine") or socket.gethostname().split(".")[0] or "machine")


class MachineWorkspaces:
    def __init__(self, client: UploadClient, state: SyncState, machine: str) -> None:
        self._client, self._state, self._machine = client, state, machine

    def find_or_register(self, tool: str, project: str, machine: str = "") -> LocalWorkspace:
        return self._state.find_workspace(machine or self._machine, tool, project) or self.register(
            tool, project, machine
        )

    def require_write_access(self, tool: str, project: str) -> None:
        """Raise ServerRefusal if this token may not write there. An existing write token is kept."""
        workspace = self._state.find_workspace(self._machine, tool, project)
        if workspace is None:
            self.register(tool, project)
        else:
            self._client.call("register_workspace", machine=self._machine, tool=tool, project=project)

    def register(self, tool: str, project: str, machine: str = "") -> LocalWorkspace:
        """Register the workspace and get a new write token: the server shows each only once, and this one was lost."""
        triple = {"machine": machine or self._machine, "tool": tool, "project": project}
        reply = self._client.call("register_workspace", **triple, rotate=True)
        workspace = LocalWorkspace(**triple, id=reply["workspace_id"], write_token=reply["write_token"])
        self._state.save_workspace(workspace)
        return workspace
