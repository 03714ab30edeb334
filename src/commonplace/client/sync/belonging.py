"""Whose project a transcript belongs to."""

from pathlib import Path

from commonplace.client.project import project_in
from commonplace.client.sync import agent_transcripts
from commonplace.client.sync.manifest import expanded
from commonplace.client.sync.settings import Sync
from commonplace.client.sync.state import State
from commonplace.client.sync.transcript import Transcript


class Belonging:
    """Once known it stays: a folder may be gone when more of its transcript comes."""

    def __init__(self, known: State, configured: Sync) -> None:
        self._known = known
        self._left_out = [expanded(folder) for folder in configured.exclude]

    def project(self, transcript: Transcript, text: Path, cwd: str = "") -> str | None:
        """None if the configuration leaves its folder out. `text` is where its lines can be read."""
        archive = self._known.archive(transcript.tool, transcript.archive_id)
        if archive or transcript.project:
            return archive.project if archive else transcript.project
        folder = agent_transcripts.find_work_folder(transcript.tool, text, self._known.folders()) or cwd
        if not folder:
            return agent_transcripts.name_project(transcript.tool, transcript.path)
        if any(Path(folder).is_relative_to(place) for place in self._left_out):
            return None
        self._known.keep_folder(folder)
        return project_in(folder)

    def leaves_out(self, transcript: Transcript) -> bool:
        return bool(self._left_out) and self.project(transcript, transcript.path) is None
