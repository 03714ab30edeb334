"""The file by which commands on this machine find the server of a data folder, with the local operator's token.

The server writes it when it starts and removes it when it stops. Clients read it, so this imports little.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

BEACON = "server.json"


class Beacon:
    """The file, readable by this user only, while the server runs."""

    def __init__(self, folder: Path, url: str) -> None:
        import secrets  # noqa: PLC0415 - clients only read beacons, and must start fast

        self.token = secrets.token_urlsafe(32)
        self._path = folder / BEACON
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path.unlink(missing_ok=True)
        with os.fdopen(os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "w") as file:
            json.dump({"url": url, "pid": os.getpid(), "token": self.token}, file)

    def remove_file(self) -> None:
        """Only if it is still ours: the next server of the folder may have written its own already."""
        if read_beacon(self._path.parent).get("token") == self.token:
            self._path.unlink(missing_ok=True)


def read_beacon(folder: Path) -> dict[str, Any]:
    """`url`, `pid` and `token` of the server that runs on this data folder; empty if there is none."""
    try:
        beacon = json.loads((folder / BEACON).read_bytes())
    except (OSError, ValueError):
        return {}
    return beacon if isinstance(beacon, dict) else {}


if sys.platform == "win32":

    def is_process_alive(pid: int) -> bool:
        """On Windows signal 0 would end the process, so only a refused connection shows that it has ended."""
        return pid > 0
else:

    def is_process_alive(pid: int) -> bool:
        """A killed server leaves its beacon behind, and another program may have its port by now."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def local_servers_path(token_path: Path) -> Path:
    """The file with the addresses of this user's servers that ask for the token in `token_path`."""
    return token_path.with_name("local.servers")


def read_local_servers(path: Path) -> dict[str, int]:
    """The process of each address, whether it is still alive or not."""
    try:
        servers = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return servers if isinstance(servers, dict) else {}
