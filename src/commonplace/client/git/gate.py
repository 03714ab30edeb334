"""Decides about the shell command of an agent before it runs. What is refused, and the way around: `*_rules.py`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from commonplace.client import project, remote
from commonplace.client.git import branch_rules, losing_rules, rescue, taking_rules
from commonplace.client.git.checkout import Checkout, report_checkout
from commonplace.client.git.file_writes import (
    list_patched_paths,
    list_paths_written_by_git,
    list_written_paths,
)
from commonplace.client.git.git_command import GitCommand, read_git_commands
from commonplace.client.git.git_program import GitFailed
from commonplace.client.git.judgement import LET_THROUGH, Judgement, render_denial, render_warning
from commonplace.client.git.push_rule import judge_push
from commonplace.client.git.shell_parser import ParsedLine, parse_line
from commonplace.client.hooks import fault_log, prevented
from commonplace.client.hooks.hook_run import HookRun
from commonplace.client.hooks.working_tree import find_working_tree

_RULES: dict[str, Callable[[Checkout, GitCommand], Judgement]] = {
    "add": taking_rules.judge_add,
    "branch": branch_rules.judge_branch,
    "checkout": losing_rules.judge_checkout,
    "clean": losing_rules.judge_clean,
    "commit": taking_rules.judge_commit,
    "merge": branch_rules.judge_integrating,
    "pull": branch_rules.judge_integrating,
    "push": judge_push,
    "rebase": branch_rules.judge_integrating,
    "reset": losing_rules.judge_reset,
    "restore": losing_rules.judge_restore,
    "stage": taking_rules.judge_add,
    "stash": branch_rules.judge_stash,
    "switch": branch_rules.judge_switch,
    "worktree": branch_rules.judge_worktree,
}
_UNPARSED = (
    "Commonplace could not parse a part of this command, so that part was not checked against the work of others in"
    " this checkout."
)


class GitAction(NamedTuple):
    """A git command that has a rule, and the working tree that it acts on."""

    command: GitCommand
    root: str


class GateAnswer(NamedTuple):
    denial: str = ""
    warning: str = ""
    written: tuple[str, ...] = ()
    """The paths that the command writes, for the leases."""


def check_command(hook_run: HookRun, text: str, cwd: str, *, only_warns: bool = False) -> GateAnswer:
    """Refuse a command that would take or destroy the work of others; else rescue what it destroys.

    With `only_warns` nothing is refused, and what would have been is rescued too.
    """
    parsed = parse_line(text, cwd)
    warning = "" if parsed.is_complete else _UNPARSED
    actions = list(_list_actions(parsed))
    written = tuple(dict.fromkeys(_list_written(parsed, text)))
    if not actions:
        return GateAnswer(warning=warning, written=written)
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
    return GateAnswer(warning="\n".join([*texts, warning] if warning else texts), written=written)


def _rescue_denied(action: GitAction, judgement: Judgement) -> Judgement:
    """What would be destroyed by a command that is only warned about."""
    return judgement._replace(destroys=_may_destroy(action)) if judgement.denial else judgement


def _list_actions(parsed: ParsedLine) -> Iterator[GitAction]:
    for shell_command in parsed.commands:
        for command in read_git_commands(shell_command):
            if command.subcommand not in _RULES or command.is_redirected or not Path(command.cwd).is_dir():
                continue
            root = project.find_repository(Path(command.cwd).resolve())
            if root is not None:
                yield GitAction(command, str(root))


def _list_written(parsed: ParsedLine, line: str) -> Iterator[str]:
    for shell_command in parsed.commands:
        yield from list_written_paths(shell_command)
        yield from list_patched_paths(shell_command, line)
        for command in read_git_commands(shell_command):
            yield from list_paths_written_by_git(command)


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
    except GitFailed as failed:
        fault_log.log_fault("git gate", failed)
        return LET_THROUGH
    return judgement


def _end_gone_sessions(hook_run: HookRun) -> bool:
    """End sessions in this repository whose program was killed: they have nothing more to lose."""
    from commonplace.client.hooks import actions  # noqa: PLC0415 - refusals are rare

    return actions.end_abandoned_sessions(hook_run, is_any_tool=True)


_DESTRUCTIVE = frozenset({"checkout", "clean", "reset", "restore", "stash", "switch", "rebase"})


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
