"""Which project a transcript belongs to."""

from pathlib import Path

from commonplace.client.link import agent_transcripts
from commonplace.client.link.manifest import expand_path
from commonplace.client.link.sync_settings import SyncSettings
from commonplace.client.link.sync_state import SyncState
from commonplace.client.link.transcript import Transcript
from commonplace.client.project import project_from_files


class TranscriptProjects:
    """Remembers each transcript's project: its folder may be gone when more of it is sent."""

    def __init__(self, state: SyncState, configured: SyncSettings) -> None:
        self._state = state
        self._excluded = [expand_path(folder) for folder in configured.exclude]

    def find_project(self, transcript: Transcript, text: Path, cwd: str = "") -> str | None:
        """The project; None if the configuration excludes its folder. `text` is the file to read the lines from."""
        archive = self._state.find_archive(transcript.tool, transcript.archive_id)
        if archive or transcript.project:
            return archive.project if archive else transcript.project
        folder = (
            agent_transcripts.find_tool_work_folder(transcript.tool, text, self._state.list_folders()) or cwd
        )
        if not folder:
            return agent_transcripts.name_tool_project(transcript.tool, transcript.path)
        if any(Path(folder).is_relative_to(excluded) for excluded in self._excluded):
            return None
        self._state.save_folder(folder)
        return project_from_files(folder)

    def is_excluded(self, transcript: Transcript) -> bool:
        return bool(self._excluded) and self.find_project(transcript, transcript.path) is None
