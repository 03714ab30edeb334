"""The rule for pushes that replace what is on the remote: who could lose commits there."""

import shlex

from commonplace.client.git.checkout import Checkout, read_head
from commonplace.client.git.git_command import GitCommand, parse_options
from commonplace.client.git.git_program import GitFailed, run_git
from commonplace.client.git.judgement import (
    LET_THROUGH,
    Judgement,
    ask_agents,
    list_agents,
    name_sessions,
    refuse,
)
from commonplace.client.git.repository_names import resolve_commit


def judge_push(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments, "-o --push-option --repo --receive-pack --exec")
    operands = [word for word in (*options.operands, *options.paths) if word]
    refspecs = operands[1:]
    is_forced = options.has("-f", "--force", "--mirror", "--prune") or any(
        spec.startswith("+") for spec in refspecs
    )
    is_deletion = options.has("-d", "--delete") or any(spec.startswith(":") for spec in refspecs)
    if not (is_forced or is_deletion) or options.has("-n", "--dry-run") or not checkout.others:
        return LET_THROUGH
    remote = operands[0] if operands else "origin"
    branch = _target_branch(checkout.root, refspecs)
    if is_deletion:
        return _judge_deletion(checkout, remote, branch)
    seen = resolve_commit(checkout.root, f"refs/remotes/{remote}/{branch}")
    foreign = _list_foreign_commits(checkout.root, seen, branch) if seen else []
    ways = [f"git fetch {shlex.quote(remote)}"]
    if foreign:
        ways.append(
            f"git rebase {shlex.quote(f'{remote}/{branch}')}    keeps the {len(foreign)} commits that are not yours"
        )
        ways.append(f"git push {shlex.quote(remote)} {shlex.quote(branch)}")
    else:
        lease = f"--force-with-lease={branch}:{seen}" if seen else "--force-with-lease"
        ways = [
            f"git push {lease} {shlex.quote(remote)} {shlex.quote(branch)}    only if nobody pushed meanwhile"
        ]
    known = f" {len(foreign)} commits on {remote}/{branch} are not in your history." if foreign else ""
    return refuse(
        f"{name_sessions(checkout.others)} in this repository, and a forced push deletes what others pushed to"
        f" {branch}.{known}",
        *ways,
        agents=list_agents(checkout.others),
    )


def _judge_deletion(checkout: Checkout, remote: str, branch: str) -> Judgement:
    there = [other for other in checkout.others if other.branch == branch]
    if not there:
        return LET_THROUGH
    return refuse(
        f"{name_sessions(there)} on {branch}, which would be deleted on {remote}.",
        ask_agents(there),
        agents=list_agents(there),
    )


def _target_branch(root: str, refspecs: list[str]) -> str:
    if refspecs:
        return refspecs[0].lstrip("+").rpartition(":")[2].removeprefix("refs/heads/")
    return read_head(root).branch


def _list_foreign_commits(root: str, seen: str, branch: str) -> list[str]:
    """Commits of the remote branch that are neither in the local one nor were in it before it was rewritten."""
    try:
        logged = run_git("reflog", "show", "--format=%H", f"refs/heads/{branch}", folder=root).split()
    except GitFailed:
        logged = []
    local = resolve_commit(root, f"refs/heads/{branch}") or resolve_commit(root, "HEAD")
    return run_git("rev-list", seen, "--not", local, *dict.fromkeys(logged[:200]), folder=root).split()
