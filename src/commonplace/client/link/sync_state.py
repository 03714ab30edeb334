"""What was sent so far, in COMMONPLACE_HOME/state.db. If it is lost, the next run rebuilds it from the server, which is slow."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from commonplace.client.link import remote
from commonplace.client.link.transcript import TranscriptStamp

_TABLES = """
create table if not exists workspace (
    server text not null, machine text not null, tool text not null, project text not null,
    id text not null, write_token text not null, primary key (server, machine, tool, project));
create table if not exists archive (
    server text not null, tool text not null, session text not null, workspace text not null, project text not null,
    revision integer not null, raw_offset integer not null, sent_offset integer not null, tail text not null,
    path text not null, size integer not null, changed_ns integer not null,
    primary key (server, tool, session));
create table if not exists knowledge (
    server text not null, workspace text not null, path text not null,
    local_sha256 text not null, stored_sha256 text not null, primary key (server, workspace, path));
create table if not exists folder (path text primary key);
create table if not exists folder_server (path text primary key, server text not null);
"""


@dataclass(frozen=True, slots=True)
class SentArchive:
    """How far a transcript was sent. `path`, `size` and `changed_ns` describe the file when it was last sent completely."""

    tool: str
    session: str
    workspace: str
    project: str
    revision: int = 1
    raw_offset: int = 0
    sent_offset: int = 0
    tail: str = ""
    path: str = ""
    size: int = -1
    changed_ns: int = -1

    @property
    def revision_id(self) -> str:
        """The archive's id on the server; a rewritten file becomes another archive."""
        return self.session if self.revision == 1 else f"{self.session}.r{self.revision}"

    def matches_file(self, stamp: TranscriptStamp) -> bool:
        return (self.path, self.size, self.changed_ns) == (str(stamp.path), stamp.size, stamp.changed_ns)

    def mark_complete(self, stamp: TranscriptStamp) -> "SentArchive":
        return replace(self, path=str(stamp.path), size=stamp.size, changed_ns=stamp.changed_ns)


@dataclass(frozen=True, slots=True)
class LocalWorkspace:
    machine: str
    tool: str
    project: str
    id: str
    write_token: str


class SyncState:
    """The state for one server."""

    def __init__(self, database: sqlite3.Connection, server: str) -> None:
        self._database, self._server = database, server

    def find_archive(self, tool: str, session: str) -> SentArchive | None:
        row = self._database.execute(
            "select tool, session, workspace, project, revision, raw_offset, sent_offset, tail, path, size, changed_ns"
            " from archive where server = ? and tool = ? and session = ?",
            (self._server, tool, session),
        ).fetchone()
        return SentArchive(*row) if row else None

    def save_archive(self, archive: SentArchive) -> None:
        values = [getattr(archive, name) for name in SentArchive.__slots__]
        self._database.execute(
            "insert or replace into archive (server, tool, session, workspace, project, revision, raw_offset,"
            " sent_offset, tail, path, size, changed_ns) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self._server, *values),
        )

    def find_workspace(self, machine: str, tool: str, project: str) -> LocalWorkspace | None:
        row = self._database.execute(
            "select machine, tool, project, id, write_token from workspace"
            " where server = ? and machine = ? and tool = ? and project = ?",
            (self._server, machine, tool, project),
        ).fetchone()
        return LocalWorkspace(*row) if row else None

    def save_workspace(self, workspace: LocalWorkspace) -> None:
        self._database.execute(
            "insert or replace into workspace values (?, ?, ?, ?, ?, ?)",
            (
                self._server,
                workspace.machine,
                workspace.tool,
                workspace.project,
                workspace.id,
                workspace.write_token,
            ),
        )

    def find_tracked_digests(self, workspace: str, path: str) -> tuple[str, str] | None:
        """The digests of the local and the stored text when they last agreed, or when their conflict was reported."""
        row: tuple[str, str] | None = self._database.execute(
            "select local_sha256, stored_sha256 from knowledge where server = ? and workspace = ? and path = ?",
            (self._server, workspace, path),
        ).fetchone()
        return row

    def save_tracked_digests(self, workspace: str, path: str, local_sha256: str, stored_sha256: str) -> None:
        self._database.execute(
            "insert or replace into knowledge values (?, ?, ?, ?, ?)",
            (self._server, workspace, path, local_sha256, stored_sha256),
        )

    @classmethod
    def for_last_server(cls, database: sqlite3.Connection) -> "SyncState":
        """The state for the server that was sent to last; replaced rows get a new rowid."""
        row = database.execute("select server from archive order by rowid desc limit 1").fetchone()
        return cls(database, row[0] if row else "")

    def list_folders(self) -> list[str]:
        """Every folder that an agent has worked in."""
        return [path for (path,) in self._database.execute("select path from folder order by path")]

    def save_folder(self, path: str) -> None:
        self._database.execute("insert or ignore into folder values (?)", (path,))

    def find_folder_server(self, path: str) -> str:
        """The server that the repository in this folder named when it was last seen; empty if it named none."""
        row = self._database.execute("select server from folder_server where path = ?", (path,)).fetchone()
        return row[0] if row else ""

    def save_folder_server(self, path: str, server: str) -> None:
        if server:
            self._database.execute("insert or replace into folder_server values (?, ?)", (path, server))
        else:
            self._database.execute("delete from folder_server where path = ?", (path,))


@contextmanager
def open_state(server: str | None) -> Iterator[SyncState]:
    """The state for one server, or for the last one. The file holds write tokens, so only its owner can read it."""
    path = remote.client_home() / "state.db"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _create_private_file(path)
    database = sqlite3.connect(path, timeout=10, isolation_level=None)
    try:
        database.executescript(_TABLES)
        yield SyncState.for_last_server(database) if server is None else SyncState(database, server)
    finally:
        database.close()


def _create_private_file(path: Path) -> None:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    path.chmod(0o600)
