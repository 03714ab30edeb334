"""Starts the conflict radar (`client/checkout/radar.py`) in the background, where somebody else may be at work."""

from pathlib import Path

from commonplace.client.companion.hook_run import HookRun
from commonplace.client.companion.hook_state import list_hook_sessions
from commonplace.client.link import remote
from commonplace.client.processes import start_detached

_INTERVAL_SECONDS = 30


def start_radar_if_due(hook_run: HookRun) -> None:
    """Look for conflicts in the background, if there is another working tree or session to compare with."""
    if not hook_run.settings.radar or not (
        _has_linked_trees(hook_run.tree.main) or _has_other_sessions(hook_run)
    ):
        return
    if hook_run.state.restart_interval("radar", _INTERVAL_SECONDS):
        words = ["hook", "radar", hook_run.tool, hook_run.event.session, hook_run.tree.root]
        start_detached(words, remote.client_home() / "radar.log")


def _has_linked_trees(main: str) -> bool:
    folder = Path(main) / ".git" / "worktrees" if main else None
    return folder is not None and folder.is_dir() and any(folder.iterdir())


def _has_other_sessions(hook_run: HookRun) -> bool:
    """Whether hooks of another session of this machine report from this working tree."""
    root, own = hook_run.tree.root, hook_run.state.folder.name
    return any(session.root == root and name != own for name, session in list_hook_sessions().items())
