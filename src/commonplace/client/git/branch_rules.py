"""Rules for commands that move the branch of a working tree or remove working trees, and for the stash."""

import os
import shlex
from pathlib import Path

from commonplace.client.git.checkout import Checkout, read_head
from commonplace.client.git.git_command import GitCommand, Options, parse_options
from commonplace.client.git.git_program import GitFailed, run_git
from commonplace.client.git.judgement import (
    LET_THROUGH,
    Judgement,
    ask_agents,
    is_free,
    list_agents,
    list_owners,
    name_files,
    name_sessions,
    quote_files,
    refuse,
)
from commonplace.client.git.ref_rules import judge_created_branch
from commonplace.client.git.repository_names import list_staged, program_words, suggest_worktree_folder
from commonplace.client.git.shell_words import join_folder

_BISECT_REPORTS = ("log", "view", "visualize", "terms", "help")


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
    takes_all = act in ("push", "save") and not (options.operands[1:] or options.paths)
    foreign = (
        [file for file in checkout.changed if not is_free(file)] if checkout.others_here and takes_all else []
    )
    takes = f" It would take the changes of others: {name_files(foreign)}." if foreign else ""
    program = program_words()
    return refuse(
        f"{name_sessions(others)} in this repository, and git has one stash for all of its working trees.{takes}",
        f"{program} git shelve    puts your own changes aside: {quote_files(own) or 'none are reported'}",
        f"{program} git unshelve    brings them back",
        files=foreign,
        agents=list_owners(foreign, others),
    )


def judge_switch(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments, "-c -C --create --force-create --orphan --conflict")
    names = ("-c", "-C", "--create", "--force-create", "--orphan")
    created = next((options.values[name] for name in names if name in options.values), "")
    target = created or (options.operands[0] if options.operands else "") or ""
    return judge_switching(checkout, target, is_new=bool(created), options=options)


def judge_switching(checkout: Checkout, branch: str, *, is_new: bool, options: Options) -> Judgement:
    """Another branch under others: their next commit would be on it."""
    discards = options.has("-f", "--force", "--discard-changes")
    stays = branch == read_head(checkout.root).branch and not options.has("-d", "--detach")
    if not is_new and stays and not discards:
        return LET_THROUGH
    if not checkout.others_here:
        commits = judge_created_branch(checkout, options, "-B", "-C", "--force-create")
        return Judgement(destroys=discards, moves_head=True, commits=commits)
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
    return refuse(
        f"{name_sessions(checkout.others_here)} in this working tree, which would change to {branch or 'another branch'}"
        " under them.",
        f"{shlex.join(words)}    a working tree of your own",
        f"cd {shlex.quote(folder)}",
        agents=list_agents(checkout.others_here),
    )


def judge_symbolic_ref(checkout: Checkout, command: GitCommand) -> Judgement:
    """`git symbolic-ref HEAD refs/heads/NAME` switches the branch without its files."""
    options = parse_options(command.arguments, "-m")
    words = [*options.operands, *options.paths]
    if words[:1] != ["HEAD"] or len(words) < 2:  # noqa: PLR2004 - HEAD and the branch
        return LET_THROUGH
    branch = (words[1] or "").removeprefix("refs/heads/")
    return judge_switching(checkout, branch, is_new=False, options=options)


def judge_bisect(checkout: Checkout, command: GitCommand) -> Judgement:
    """Every step of a bisection checks out another commit."""
    options = parse_options(command.arguments)
    act = options.operands[0] if options.operands else "help"
    if act in _BISECT_REPORTS:
        return LET_THROUGH
    if not checkout.others_here:
        return Judgement(moves_head=True)
    folder = shlex.quote(suggest_worktree_folder(checkout.root, "bisect"))
    return refuse(
        f"{name_sessions(checkout.others_here)} in this working tree, which would change to other commits under them.",
        f"git worktree add --detach {folder}    a working tree of your own",
        f"cd {folder}, and {command.text} there",
        agents=list_agents(checkout.others_here),
    )


def judge_integrating(checkout: Checkout, command: GitCommand) -> Judgement:
    """`rebase`, `merge` and `pull` change files under others, and stop with conflicts in them."""
    options = parse_options(command.arguments, "-m -s -X --strategy --onto --message -x --exec")
    if options.has("--continue"):
        return judge_continuing(checkout, command)
    if options.has("--abort", "--quit", "--skip", "--show-current-patch", "--edit-todo"):
        return Judgement(destroys=options.has("--abort", "--skip"), moves_head=True)
    foreign = [file for file in checkout.changed if not is_free(file)] if checkout.others_here else []
    if not foreign:
        return Judgement(destroys=bool(options.has("--autostash") and checkout.status), moves_head=True)
    branch = read_head(checkout.root).branch
    folder = suggest_worktree_folder(checkout.root, command.subcommand)
    new_branch = f"{branch or 'work'}-{command.subcommand}"
    rest = shlex.join(word for word in command.arguments if word is not None)
    return refuse(
        f"it would change files under others, whose changes are not committed: {name_files(foreign)}.",
        f"git worktree add -b {shlex.quote(new_branch)} {shlex.quote(folder)}    a working tree of your own",
        f"git -C {shlex.quote(folder)} {command.subcommand} {rest}".rstrip(),
        files=foreign,
        agents=list_owners(foreign, checkout.others_here),
    )


def judge_continuing(checkout: Checkout, command: GitCommand) -> Judgement:
    """`--continue` commits the index, which is everybody's."""
    if not checkout.others_here:
        return Judgement(moves_head=True)
    staged = set(list_staged(checkout))
    foreign = [file for file in checkout.changed if file.path in staged and file.belongs_to_other]
    if not foreign:
        return Judgement(moves_head=True)
    return refuse(
        f"others have staged files in this working tree, and its commit would take them: {name_files(foreign)}.",
        f"git restore --staged -- {quote_files([file.path for file in foreign])}    takes them out of the index only",
        f"then {command.text}",
        files=foreign,
        agents=list_owners(foreign, checkout.others_here),
    )


def judge_worktree(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments, "-b -B --reason")
    act, target = (*options.operands, *options.paths, None, None)[:2]
    if act == "add" and options.has("-B"):
        return Judgement(commits=judge_created_branch(checkout, options, "-B"))
    if act not in ("remove", "move") or not target:
        return LET_THROUGH
    folder = os.path.realpath(join_folder(command.cwd, target))
    there = [other for other in checkout.others if os.path.realpath(other.root) == folder]
    if not there:
        is_there = act == "remove" and Path(folder).is_dir()
        return Judgement(destroys=is_there, root=folder) if is_there else LET_THROUGH
    return refuse(
        f"{name_sessions(there)} in {target}.",
        ask_agents(there),
        "git worktree list    shows the others",
        agents=list_agents(there),
    )


def _list_stashes(root: str) -> tuple[str, ...]:
    try:
        return tuple(run_git("stash", "list", "--format=%H", folder=root).splitlines())
    except GitFailed:
        return ()
