"""Rules for commands that delete what only reflogs still have, or rewrite the history that others work on."""

from commonplace.client.git.checkout import Checkout
from commonplace.client.git.git_command import GitCommand, parse_options
from commonplace.client.git.judgement import LET_THROUGH, Judgement, list_agents, name_sessions, refuse
from commonplace.client.git.repository_names import suggest_worktree_folder


def judge_gc(checkout: Checkout, command: GitCommand) -> Judgement:
    """`git gc` keeps what is younger than two weeks, unless it is told another time."""
    options = parse_options(command.arguments)
    is_soon = options.values.get("--prune", "never") not in ("never", "2.weeks.ago")
    return _judge_deleting(checkout) if is_soon else LET_THROUGH


def judge_prune(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments, "--expire")
    return LET_THROUGH if options.has("-n", "--dry-run") else _judge_deleting(checkout)


def judge_reflog(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments)
    act = options.operands[0] if options.operands else ""
    if act not in ("expire", "delete", "drop") or options.has("-n", "--dry-run"):
        return LET_THROUGH
    times = [options.values.get(flag, "") for flag in ("--expire", "--expire-unreachable")]
    is_default = act == "expire" and not [time for time in times if time not in ("", "never")]
    return LET_THROUGH if is_default else _judge_deleting(checkout)


def _judge_deleting(checkout: Checkout) -> Judgement:
    if not checkout.others:
        return LET_THROUGH
    return refuse(
        f"{name_sessions(checkout.others)} in this repository, and it would delete commits and changes of theirs that"
        " only a reflog, or nothing yet, refers to.",
        "git gc    keeps what was made in the last two weeks",
        agents=list_agents(checkout.others),
    )


def judge_rewriting(checkout: Checkout, command: GitCommand) -> Judgement:
    """`filter-branch` and `filter-repo` replace every commit of the branches."""
    if not checkout.others:
        return Judgement(destroys=True, moves_head=True)
    folder = suggest_worktree_folder(checkout.root, "rewritten")
    return refuse(
        f"{name_sessions(checkout.others)} in this repository, whose history would be rewritten under them.",
        f"git clone . {folder}    a copy of your own",
        f"cd {folder}, and git {command.subcommand} there",
        agents=list_agents(checkout.others),
    )
