"""Tells a session that somebody else has moved the branch of its working tree: switched, reset or rebased it."""

from commonplace.client.checkout.head_log import HeadMove, read_head, read_head_log
from commonplace.client.checkout.tree_report import report_checkout
from commonplace.client.companion import fault_log
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.link import remote

_OWN_MARK = "moves-head"
_OWN_SECONDS = 120
"""How long a git command of the session itself explains a move."""
_SILENT_KINDS = ("session_end", "subagent_start", "subagent_end", "before_compact")
_ORDINARY = ("commit:", "commit (", "cherry-pick", "revert", "clone")
"""Moves that only add a commit."""


def note_own_command(hook_run: HookRun) -> None:
    hook_run.state.renew_mark(_OWN_MARK)


def tell_moves(hook_run: HookRun) -> None:
    """Add one line of context if HEAD is not where the session last saw it, and the session did not move it."""
    if not hook_run.tree.main or hook_run.event.kind in _SILENT_KINDS or hook_run.event.subagent:
        return
    seen, head = hook_run.state.load_head(), read_head(hook_run.place)
    if seen == head or not (head.branch or head.commit):
        return
    hook_run.state.save_head(*head)
    is_own = hook_run.state.has_recent_mark(_OWN_MARK, _OWN_SECONDS)
    hook_run.state.clear_mark(_OWN_MARK)
    if seen is None or is_own or hook_run.event.kind == "session_start":
        return
    moves = _list_moves_since(hook_run.place, seen[1])
    if seen[0] == head.branch and all(_is_ordinary(move) for move in moves):
        return
    hook_run.context.append(_describe_move(hook_run, seen[0], head.branch or head.commit[:12], moves))


def _list_moves_since(root: str, commit: str) -> list[HeadMove]:
    moves = read_head_log(root)
    for index in range(len(moves) - 1, -1, -1):
        if moves[index].after == commit:
            return moves[index + 1 :] or moves[-1:]  # a new branch on the same commit
    return moves[-1:]


def _is_ordinary(move: HeadMove) -> bool:
    return move.action.startswith(_ORDINARY) and "amend" not in move.action


def _describe_move(hook_run: HookRun, before: str, now: str, moves: list[HeadMove]) -> str:
    last = moves[-1] if moves else None
    who, when = (last.who, last.clock_time) if last else ("somebody", "an unknown time")
    try:
        if hook_run.state.load_session() is not None:
            moved_by = report_checkout(hook_run).get("moved_by")
            who = str(moved_by["agent"]) if moved_by else who
    except (remote.ServerUnreachable, remote.ServerRefusal) as error:
        fault_log.log_fault("who moved the branch", error)
    what = f" ({last.action[:100]})" if last else ""
    changed = f"the branch is now {now}" if before != now else f"the branch {now} was rewritten"
    return (
        f"In this working tree {changed}, moved by {who} at {when}{what}. It was not you: check `git status` before you"
        " edit or commit, and use a working tree of your own (git worktree add) if you need another branch."
    )
