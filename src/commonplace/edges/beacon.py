"""How commands on this machine find the server of a data folder, and how the local operator gets in."""

import os
import secrets
from pathlib import Path

import msgspec


class Beacon:
    """A file that only this user can read, lit while the server runs."""

    def __init__(self, folder: Path, url: str) -> None:
        self.token = secrets.token_urlsafe(32)
        self._path = folder / "server.json"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path.unlink(missing_ok=True)
        with os.fdopen(os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "wb") as file:
            file.write(msgspec.json.encode({"url": url, "pid": os.getpid(), "token": self.token}))

    def put_out(self) -> None:
        """Only one's own: the next server of the folder may have lit its beacon already."""
        lit = beacon(self._path.parent)
        if lit and lit["token"] == self.token:
            self._path.unlink(missing_ok=True)


def beacon(folder: Path) -> dict[str, str] | None:
    """The running server of this folder, if one left its beacon."""
    try:
        lit: dict[str, str] = msgspec.json.decode((folder / "server.json").read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return lit
