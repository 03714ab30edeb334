"""The token that `serve --auth local` asks for: one per user of the machine, in a file that only this user can read.

Our own programs read it from there (`client/link/remote.py`), so nobody is asked for it; another user of the machine cannot
read the file and so cannot use the server.
"""

import json
import os
import secrets
import stat
import sys
from pathlib import Path

from commonplace import errors
from commonplace.beacon import is_process_alive, local_servers_path, read_local_servers

_PREFIX = "cpl_"
# On macOS people begin at 501, on Linux at 1000.
_FIRST_PERSON = 501 if sys.platform == "darwin" else 1000
_NOBODY = 65_534
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def load_or_create_local_token(path: Path) -> str:
    """The user's token; a file that others can read is refused, since they may know the token already."""
    try:
        return _create_token(path)
    except FileExistsError:
        pass
    if sys.platform != "win32":
        status = path.lstat()
        if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & _OF_OTHERS:
            raise errors.Forbidden(
                f"Other users can read or replace {path}.",
                hint="Delete it; the next start creates another token.",
            )
    token = path.read_text(encoding="ascii").strip()
    if not token.startswith(_PREFIX):
        raise errors.Invalid(f"{path} holds no token.", hint="Delete it; the next start creates one.")
    return token


def _create_token(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    token = f"{_PREFIX}{secrets.token_urlsafe(32)}"
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{token}\n")
    return token


def record_local_address(token_path: Path, url: str) -> None:
    """Record, beside the token, that this process listens there: the token is sent to such an address only."""
    path = local_servers_path(token_path)
    servers = {known: pid for known, pid in read_local_servers(path).items() if is_process_alive(pid)}
    temporary = path.with_suffix(f".{os.getpid()}.part")
    with os.fdopen(os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
        json.dump(servers | {url: os.getpid()}, file)
    temporary.replace(path)


def has_other_people() -> bool:
    """Whether another person can log in to this machine, as far as its own list of accounts tells."""
    if sys.platform == "win32":
        return False
    import pwd  # noqa: PLC0415 - not available on Windows

    return any(
        account.pw_uid != os.getuid()
        and _FIRST_PERSON <= account.pw_uid < _NOBODY
        and not account.pw_shell.endswith(("nologin", "false"))
        and Path(account.pw_dir).is_dir()
        for account in pwd.getpwall()
    )
