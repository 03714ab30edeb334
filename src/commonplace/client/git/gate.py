"""Decides about the shell command of an agent before it runs. What is refused, and the way around: `*_rules.py`.

What the command line, or a script that it runs, asks of git is collected in `git_actions.py`.
"""

from collections.abc import Callable
from typing import NamedTuple

from commonplace.client.companion import fault_log, prevented
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.git import (
    branch_rules,
    index_rules,
    losing_rules,
    object_rules,
    ref_rules,
    rescue,
    taking_rules,
)
from commonplace.client.git.checkout import Checkout, report_checkout
from commonplace.client.git.file_writes import (
    FileSweep,
    list_removed_by_line,
    list_sweeps,
    list_written_by_line,
)
from commonplace.client.git.git_actions import GitAction, GitActions
from commonplace.client.git.git_command import UNKNOWN_SUBCOMMAND, GitCommand
from commonplace.client.git.git_program import GitFailed
from commonplace.client.git.judgement import LET_THROUGH, Judgement, render_denial, render_warning
from commonplace.client.git.push_rule import judge_push
from commonplace.client.git.shell_parser import parse_line
from commonplace.client.hooks.working_tree import find_working_tree
from commonplace.client.link import remote


def _judge_unknown(checkout: Checkout, command: GitCommand) -> Judgement:
    """What git will do stands in a variable, or in a program of another language."""
    del command
    return Judgement(destroys=bool(checkout.others_here))


_RULES: dict[str, Callable[[Checkout, GitCommand], Judgement]] = {
    "add": taking_rules.judge_add,
    "am": index_rules.judge_picking,
    "apply": index_rules.judge_apply,
    "bisect": branch_rules.judge_bisect,
    "branch": ref_rules.judge_branch,
    "checkout": losing_rules.judge_checkout,
    "checkout-index": index_rules.judge_checkout_index,
    "cherry-pick": index_rules.judge_picking,
    "clean": losing_rules.judge_clean,
    "commit": taking_rules.judge_commit,
    "fetch": ref_rules.judge_fetch,
    "filter-branch": object_rules.judge_rewriting,
    "filter-repo": object_rules.judge_rewriting,
    "gc": object_rules.judge_gc,
    "merge": branch_rules.judge_integrating,
    "mv": index_rules.judge_mv,
    "prune": object_rules.judge_prune,
    "pull": branch_rules.judge_integrating,
    "push": judge_push,
    "read-tree": index_rules.judge_read_tree,
    "rebase": branch_rules.judge_integrating,
    "reflog": object_rules.judge_reflog,
    "reset": losing_rules.judge_reset,
    "restore": losing_rules.judge_restore,
    "revert": index_rules.judge_picking,
    "rm": index_rules.judge_rm,
    "stage": taking_rules.judge_add,
    "stash": branch_rules.judge_stash,
    "switch": branch_rules.judge_switch,
    "symbolic-ref": branch_rules.judge_symbolic_ref,
    "update-index": index_rules.judge_update_index,
    "update-ref": ref_rules.judge_update_ref,
    "worktree": branch_rules.judge_worktree,
    UNKNOWN_SUBCOMMAND: _judge_unknown,
}
_UNPARSED = (
    "Commonplace could not parse a part of this command, so that part was not checked against the work of others in"
    " this checkout."
)


class GateAnswer(NamedTuple):
    denial: str = ""
    warning: str = ""
    written: tuple[str, ...] = ()
    """The paths that the command writes, for the leases."""
    sweeps: tuple[FileSweep, ...] = ()
    """What it writes without saying which files."""
    removed: tuple[str, ...] = ()
    """Those of the paths that it deletes or moves."""


def check_command(hook_run: HookRun, text: str, cwd: str, *, only_warns: bool = False) -> GateAnswer:
    """Refuse a command that would take or destroy the work of others; else rescue what it destroys.

    With `only_warns` nothing is refused, and what would have been is rescued too.
    """
    parsed = parse_line(text, cwd)
    warning = "" if parsed.is_complete else _UNPARSED
    actions = GitActions(frozenset(_RULES)).list_actions(parsed.commands)
    answer = GateAnswer(
        "",
        warning,
        list_written_by_line(parsed.commands, text),
        list_sweeps(parsed.commands),
        list_removed_by_line(parsed.commands),
    )
    if not actions:
        return answer
    judged: list[tuple[GitAction, Judgement]] = []
    try:
        judged = [(action, _judge(hook_run, action)) for action in actions]
    except (remote.ServerUnreachable, remote.ServerRefusal):
        # Nobody can say who else is here, but what is destroyed can still be kept.
        _rescue_all(hook_run, [(action, Judgement(destroys=_may_destroy(action))) for action in actions])
        raise
    denied = [(action, judgement.denial) for action, judgement in judged if judgement.denial]
    if denied and not only_warns:
        action, denial = denied[0]
        prevented.report_prevented(
            hook_run, "command_denied", action.command.text, denial.files, denial.others
        )
        return GateAnswer(denial=render_denial(action.command.text, denial), warning=warning)
    texts = [render_warning(action.command.text, denial) for action, denial in denied]
    _rescue_all(hook_run, [(action, _rescue_denied(action, judgement)) for action, judgement in judged])
    _note_moves(hook_run, judged)
    return answer._replace(warning="\n".join([*texts, warning] if warning else texts))


def _rescue_denied(action: GitAction, judgement: Judgement) -> Judgement:
    """What would be destroyed by a command that is only warned about."""
    return judgement._replace(destroys=_may_destroy(action)) if judgement.denial else judgement


def _judge(hook_run: HookRun, action: GitAction) -> Judgement:
    if find_working_tree(action.root).main != hook_run.tree.main:
        return Judgement(
            destroys=_may_destroy(action)
        )  # another repository, in which this session does not work
    rule = _RULES[action.command.subcommand]
    try:
        judgement = rule(Checkout(hook_run, action.root), action.command)
        if judgement.denial and _end_gone_sessions(hook_run):
            judgement = rule(Checkout(hook_run, action.root), action.command)
        if judgement.denial and not action.is_certain:
            judgement = Judgement(destroys=True)
    except GitFailed as failed:
        fault_log.log_fault("git gate", failed)
        return LET_THROUGH
    return judgement


def _end_gone_sessions(hook_run: HookRun) -> bool:
    """End sessions in this repository whose program was killed: they have nothing more to lose."""
    from commonplace.client.companion import actions  # refusals are rare

    return actions.end_abandoned_sessions(hook_run, is_any_tool=True)


_DESTRUCTIVE = frozenset(
    [
        "apply",
        "checkout",
        "checkout-index",
        "clean",
        "read-tree",
        "rebase",
        "reset",
        "restore",
        "stash",
        "switch",
    ]
)


def _may_destroy(action: GitAction) -> bool:
    return action.command.subcommand in _DESTRUCTIVE


def _rescue_all(hook_run: HookRun, judged: list[tuple[GitAction, Judgement]]) -> None:
    for action, judgement in judged:
        try:
            names = _rescue(action, judgement)
        except GitFailed as failed:
            fault_log.log_fault("rescue", failed)
            continue
        if names:
            reporting = HookRun(hook_run.tool, hook_run.event, hook_run.settings)
            prevented.report_prevented(
                reporting, "rescue_made", f"{action.command.text} in {action.root}: {', '.join(names)}"
            )


def _rescue(action: GitAction, judgement: Judgement) -> list[str]:
    names = rescue.rescue_commits(action.root, judgement.commits) if judgement.commits else []
    root = judgement.root or action.root
    if judgement.destroys and (judgement.with_ignored or Checkout.has_changes(root)):
        names.append(rescue.make_rescue(root, action.command.text, with_ignored=judgement.with_ignored))
    return names


def _note_moves(hook_run: HookRun, judged: list[tuple[GitAction, Judgement]]) -> None:
    """Remember that this session moves the branch, so that others can be told who did."""
    if any(judgement.moves_head or judgement.denial for _, judgement in judged):
        report_checkout(hook_run, is_moving=True)
