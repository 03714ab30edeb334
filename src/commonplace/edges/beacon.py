"""The beacon: a file in the data folder with the address of the running server and the operator's token.

Commands on this machine find the server by it. Programs beside agents read it in client/reach.py.
"""

import os
import secrets
from pathlib import Path

import msgspec


class Beacon:
    """Exists while the server runs; only this user can read it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.token = secrets.token_urlsafe(32)
        self._path = folder / "server.json"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path.unlink(missing_ok=True)
        with os.fdopen(os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "wb") as file:
            file.write(msgspec.json.encode({"url": url, "pid": os.getpid(), "token": self.token}))

    def remove_file(self) -> None:
        """Remove the file unless the next server of the folder has replaced it."""
        beacon = read_beacon(self._path.parent)
        if beacon and beacon["token"] == self.token:
            self._path.unlink(missing_ok=True)


def read_beacon(folder: Path) -> dict[str, str] | None:
    """The `url`, `pid` and `token` of the folder's server. After a crash the file is still there."""
    try:
        beacon: dict[str, str] = msgspec.json.decode((folder / "server.json").read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return beacon
