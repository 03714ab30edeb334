"""The repositories that agents have worked in, as their transcripts on this machine name them."""

from pathlib import Path

from commonplace.client.link import agent_transcripts
from commonplace.client.link.sync_settings import read_sync_settings
from commonplace.client.project import find_main_worktree, find_repository


def list_repositories(own: Path) -> list[Path]:
    """The given folder first, then every other repository of a transcript that still exists, by its main worktree."""
    configured = read_sync_settings()
    folders: dict[str, None] = {}
    for transcript in agent_transcripts.list_all_transcripts(configured):
        if folder := agent_transcripts.find_tool_work_folder(transcript.tool, transcript.path, folders):
            folders[folder] = None
    excluded = [Path(folder).expanduser() for folder in configured.exclude]
    repositories = {own: None}
    for folder in folders:
        root = find_repository(Path(folder)) if Path(folder).is_dir() else None
        if root and not any(root.is_relative_to(each) for each in excluded):
            repositories[find_main_worktree(root)] = None
    return list(repositories)
