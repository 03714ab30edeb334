"""Rules for commands that move the branch of a working tree, or delete branches and working trees, and for the stash."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from commonplace.client.git.checkout import Checkout, read_head
from commonplace.client.git.git_command import GitCommand, Options, parse_options
from commonplace.client.git.git_program import GitFailed, run_git
from commonplace.client.git.judgement import (
    LET_THROUGH,
    Denial,
    Judgement,
    is_free,
    list_owners,
    name_agents,
    name_files,
    name_sessions,
    quote_files,
)
from commonplace.client.git.repository_names import program_words, resolve_commit, suggest_worktree_folder
from commonplace.client.git.shell_parser import join_folder


def judge_stash(checkout: Checkout, command: GitCommand) -> Judgement:
    """git has one stash for all working trees of a repository: others would pop it, or lose what it takes."""
    options = parse_options(command.arguments, "-m --message")
    act = (options.operands[0] if options.operands else "push") or ""
    if act in ("list", "show", "create"):
        return LET_THROUGH
    others = checkout.others
    if not others:
        return Judgement(commits=_list_stashes(checkout.root) if act in ("drop", "clear", "pop") else ())
    own = [file.path for file in checkout.changed if file.mine]
    foreign = [file for file in checkout.changed if not is_free(file)] if checkout.others_here else []
    takes = (
        f" It would take the changes of others: {name_files(foreign)}." if foreign and act == "push" else ""
    )
    program = program_words()
    return Judgement(
        Denial(
            f"{name_sessions(others)} in this repository, and git has one stash for all of its working trees.{takes}",
            (
                f"{program} git shelve    puts your own changes aside: {quote_files(own) or 'none are reported'}",
                f"{program} git unshelve    brings them back",
            ),
            tuple(file.path for file in foreign),
            list_owners(foreign, others),
        )
    )


def judge_switch(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments, "-c -C --create --force-create --orphan --conflict")
    names = ("-c", "-C", "--create", "--force-create", "--orphan")
    created = next((options.values[name] for name in names if name in options.values), "")
    target = created or (options.operands[0] if options.operands else "") or ""
    return judge_switching(checkout, command, target, is_new=bool(created), options=options)


def judge_switching(
    checkout: Checkout, command: GitCommand, branch: str, *, is_new: bool, options: Options
) -> Judgement:
    """Another branch under others: their next commit would be on it."""
    del command
    discards = options.has("-f", "--force", "--discard-changes")
    if not is_new and branch == read_head(checkout.root).branch and not discards:
        return LET_THROUGH
    if not checkout.others_here:
        return Judgement(destroys=discards, moves_head=True)
    folder = suggest_worktree_folder(checkout.root, branch)
    start = next((word for word in options.operands if word and word != branch), "") if is_new else branch
    words = [
        "git",
        "worktree",
        "add",
        *(["-b", branch] if is_new else []),
        folder,
        *([start] if start else []),
    ]
    return Judgement(
        Denial(
            f"{name_sessions(checkout.others_here)} in this working tree, which would change to {branch or 'another branch'}"
            " under them.",
            (f"{shlex.join(words)}    a working tree of your own", f"cd {shlex.quote(folder)}"),
            (),
            tuple(dict.fromkeys(other.agent for other in checkout.others_here)),
        )
    )


def judge_integrating(checkout: Checkout, command: GitCommand) -> Judgement:
    """`rebase`, `merge` and `pull` change files under others, and stop with conflicts in them."""
    options = parse_options(command.arguments, "-m -s -X --strategy --onto --message -x --exec")
    if options.has("--abort", "--quit", "--continue", "--skip", "--show-current-patch", "--edit-todo"):
        return Judgement(destroys=options.has("--abort"), moves_head=True)
    foreign = [file for file in checkout.changed if not is_free(file)] if checkout.others_here else []
    if not foreign:
        return Judgement(destroys=bool(options.has("--autostash") and checkout.status), moves_head=True)
    branch = read_head(checkout.root).branch
    folder = suggest_worktree_folder(checkout.root, command.subcommand)
    new_branch = f"{branch or 'work'}-{command.subcommand}"
    rest = shlex.join(word for word in command.arguments if word is not None)
    return Judgement(
        Denial(
            f"it would change files under others, whose changes are not committed: {name_files(foreign)}.",
            (
                f"git worktree add -b {shlex.quote(new_branch)} {shlex.quote(folder)}    a working tree of your own",
                f"git -C {shlex.quote(folder)} {command.subcommand} {rest}".rstrip(),
            ),
            tuple(file.path for file in foreign),
            list_owners(foreign, checkout.others_here),
        )
    )


def judge_branch(checkout: Checkout, command: GitCommand) -> Judgement:
    """Deleting a branch with commits that nothing else contains."""
    options = parse_options(command.arguments, "-u --set-upstream-to")
    is_forced = options.has("-D") or (options.has("-d", "--delete") and options.has("-f", "--force"))
    if not is_forced:
        return LET_THROUGH
    names = [name for name in (*options.operands, *options.paths) if name]
    lost = {name: commit for name in names if (commit := _find_lost_tip(checkout.root, name, names))}
    known = checkout.hook_run.state.list_branches()
    foreign = [name for name in lost if name not in known]
    if not foreign or not checkout.others:
        return Judgement(commits=tuple(lost.values()))
    agents = tuple(dict.fromkeys(other.agent for other in checkout.others))
    return Judgement(
        Denial(
            f"{quote_files(foreign)} has commits that no other branch contains, this session never worked on it, and"
            f" {name_sessions(checkout.others)} in this repository.",
            (
                f"git branch -d {quote_files(foreign)}    deletes it only if its commits are merged",
                f"ask {name_agents(agents)}: memory_send_message",
            ),
            (),
            agents,
        )
    )


def judge_worktree(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments)
    act, target = (*options.operands, *options.paths, None, None)[:2]
    if act not in ("remove", "move") or not target:
        return LET_THROUGH
    folder = os.path.realpath(join_folder(command.cwd, target))
    there = [other for other in checkout.others if os.path.realpath(other.root) == folder]
    if not there:
        is_there = act == "remove" and Path(folder).is_dir()
        return Judgement(destroys=is_there, root=folder) if is_there else LET_THROUGH
    return Judgement(
        Denial(
            f"{name_sessions(there)} in {target}.",
            (
                f"ask {name_agents(other.agent for other in there)}: memory_send_message",
                "git worktree list    shows the others",
            ),
            (),
            tuple(dict.fromkeys(other.agent for other in there)),
        )
    )


def _list_stashes(root: str) -> tuple[str, ...]:
    try:
        return tuple(run_git("stash", "list", "--format=%H", folder=root).splitlines())
    except GitFailed:
        return ()


def _find_lost_tip(root: str, branch: str, deleted: Sequence[str]) -> str:
    """The tip of a branch, if it has commits that no ref contains after the deletion."""
    tip = resolve_commit(root, f"refs/heads/{branch}")
    if not tip:
        return ""
    kept = [f"--exclude=refs/heads/{name}" for name in deleted] + [
        "--exclude=refs/commonplace/*",
        "--all",
        "HEAD",
    ]
    return tip if run_git("rev-list", "-n", "1", tip, "--not", *kept, folder=root) else ""
