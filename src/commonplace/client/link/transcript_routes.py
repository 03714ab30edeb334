"""Which server a transcript goes to: the one that its repository names, else the one that this machine uses."""

from pathlib import Path

from commonplace.client.link import agent_transcripts, remote
from commonplace.client.link.remote import NamedUrl, RemoteServer
from commonplace.client.link.sync_state import SyncState
from commonplace.client.link.transcript import Transcript


class TranscriptRoutes:
    """Remembers the servers of repositories: a folder may be gone when more of its transcripts is sent."""

    def __init__(self, default: RemoteServer | None, state: SyncState) -> None:
        self._default, self._state = default, state
        self._server_by_folder: dict[str, RemoteServer | None] = {}

    def find_server(self, transcript: Transcript, text: Path, cwd: str = "") -> RemoteServer | None:
        """The server; None if none is known. Raises ServerUnknown where a repository names one that is not trusted.

        A transcript that the machine's server has already is continued there.
        """
        if self._state.find_archive(transcript.tool, transcript.archive_id):
            return self._default
        folders = self._state.list_folders()
        folder = agent_transcripts.find_tool_work_folder(transcript.tool, text, folders) or cwd
        if not folder:
            return self._default
        if folder not in self._server_by_folder:
            self._server_by_folder[folder] = self._find_folder_server(folder)
        return self._server_by_folder[folder]

    def _find_folder_server(self, folder: str) -> RemoteServer | None:
        if not Path(folder).is_dir():
            return self._find_remembered_server(folder)
        server = remote.find_server("sync_token", folder)
        is_own = server is None or (self._default is not None and server.url == self._default.url)
        self._state.save_folder_server(folder, "" if is_own or server is None else server.url)
        return server

    def _find_remembered_server(self, folder: str) -> RemoteServer | None:
        url = self._state.find_folder_server(folder)
        if not url:
            return self._default
        named = NamedUrl(url, folder, is_from_repository=True)
        return remote.find_repository_server(named, "sync_token", remote.read_configuration())
