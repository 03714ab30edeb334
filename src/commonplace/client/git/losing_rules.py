"""Rules for commands that discard changes of the working tree: checkout of paths, restore, reset, clean."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from commonplace.client.git.branch_rules import judge_switching
from commonplace.client.git.checkout import ChangedFile, Checkout
from commonplace.client.git.git_command import GitCommand, Options, parse_options
from commonplace.client.git.git_program import GitFailed, run_git
from commonplace.client.git.judgement import (
    LET_THROUGH,
    Judgement,
    is_free,
    list_agents,
    list_owners,
    name_files,
    name_sessions,
    quote_files,
    refuse,
)
from commonplace.client.git.repository_names import (
    is_commit,
    list_staged,
    path_exists,
    path_from_folder,
    program_words,
    repository_path,
    resolve_commit,
    suggest_worktree_folder,
)
from commonplace.client.git.shell_words import Word


def judge_checkout(checkout: Checkout, command: GitCommand) -> Judgement:
    """`git checkout` switches branches or discards changes, depending on what its operand is."""
    options = parse_options(command.arguments, "-b -B --orphan --conflict --pathspec-from-file")
    if options.has("-p", "--patch"):
        return LET_THROUGH
    if options.has("-b", "-B", "--orphan"):
        created = options.values.get("-b") or options.values.get("-B") or options.values.get("--orphan") or ""
        return judge_switching(checkout, created, is_new=True, options=options)
    if options.has_separator or options.has("--pathspec-from-file"):
        return judge_discarding(checkout, command, options.paths)
    if options.has("-d", "--detach"):
        target = (options.operands[0] if options.operands else "HEAD") or ""
        return judge_switching(checkout, target, is_new=False, options=options)
    if not options.operands:
        return judge_discarding(checkout, command, ()) if options.has("-f", "--force") else LET_THROUGH
    return _judge_operands(checkout, command, options)


def _judge_operands(checkout: Checkout, command: GitCommand, options: Options) -> Judgement:
    """The first operand is a commit if there is one of that name, else a path."""
    operands = options.operands
    if operands[0] is not None and not is_commit(checkout.root, operands[0]):
        if path_exists(command, operands[0]) or operands[0][:1] == ":" or "*" in operands[0]:
            return judge_discarding(checkout, command, operands)
        return judge_switching(checkout, operands[0], is_new=False, options=options)
    if len(operands) > 1:
        return judge_discarding(checkout, command, operands[1:])
    return judge_switching(checkout, operands[0] or "", is_new=False, options=options)


def judge_restore(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments, "-s --source --conflict --pathspec-from-file")
    if options.has("-p", "--patch"):
        return LET_THROUGH
    paths = () if options.has("--pathspec-from-file") else (*options.operands, *options.paths)
    if options.has("-S", "--staged") and not options.has("-W", "--worktree"):
        return judge_unstaging(checkout, _known_paths(checkout, command, paths))
    return judge_discarding(checkout, command, paths)


def judge_discarding(checkout: Checkout, command: GitCommand, paths: Sequence[Word]) -> Judgement:
    """Changes of these paths are lost; without paths, or with unknown ones, all of them."""
    if not checkout.others_here:
        return Judgement(destroys=True)
    known = _known_paths(checkout, command, paths)
    selected = [file for file in checkout.list_changed_in(known) if file.is_tracked]
    return judge_losing(checkout, command, selected, "git restore --")


def _known_paths(checkout: Checkout, command: GitCommand, paths: Sequence[Word]) -> list[str] | None:
    """The paths from the root; None for all, if there are none or one is unknown."""
    if None in paths or not paths:
        return None
    return [repository_path(checkout, command, path or "") for path in paths]


def judge_unstaging(checkout: Checkout, paths: Sequence[str] | None) -> Judgement:
    """What others have staged may be in the index only, if they have changed the file since."""
    if not checkout.others_here:
        return LET_THROUGH
    staged = set(list_staged(checkout))
    files = [file for file in checkout.list_changed_in(paths) if file.path in staged]
    return Judgement(destroys=any(not is_free(file) for file in files))


def judge_losing(
    checkout: Checkout, command: GitCommand, selected: Sequence[ChangedFile], verb: str
) -> Judgement:
    foreign = [file for file in selected if not is_free(file)]
    if not foreign:
        return Judgement(destroys=True)
    own = [path_from_folder(checkout, command, file.path) for file in selected if file.mine]
    way = (
        f"{verb} {quote_files(own)}    your own changes"
        if own
        else "none of these changes are yours: leave them"
    )
    return refuse(
        f"it would destroy changes that are not yours: {name_files(foreign)}.",
        way,
        f"{program_words()} git shelve    puts only your own changes aside",
        files=foreign,
        agents=list_owners(foreign, checkout.others_here),
    )


def judge_reset(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments)
    target = next((word for word in options.operands if word), "HEAD")
    moves = not options.paths and resolve_commit(checkout.root, target) not in (
        "",
        resolve_commit(checkout.root, "HEAD"),
    )
    if not options.has("--hard", "--merge", "--keep"):
        unstaged = LET_THROUGH if options.has("--soft", "-p", "--patch") else judge_unstaging(checkout, None)
        return unstaged._replace(moves_head=moves)
    if not checkout.others_here:
        return Judgement(destroys=True, moves_head=moves)
    changed = [file for file in checkout.changed if file.is_tracked]
    judged = judge_losing(checkout, command, changed, "git restore --staged --worktree --")
    if judged.denial or not moves:
        return judged._replace(moves_head=moves)
    folder = suggest_worktree_folder(checkout.root, "reset")
    return refuse(
        f"{name_sessions(checkout.others_here)} in this working tree, and their branch would move to {target}.",
        f"git worktree add --detach {shlex.quote(folder)} {shlex.quote(target)}    a working tree of your own",
        "git revert <commit>    undoes a commit by another one",
        agents=list_agents(checkout.others_here),
    )


def judge_clean(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments, "-e --exclude")
    if options.has("-n", "--dry-run") or not (options.has("-f", "--force", "-i") or _needs_no_force(command)):
        return LET_THROUGH
    with_ignored = options.has("-x", "-X")
    if not checkout.others_here:
        return Judgement(destroys=True, with_ignored=with_ignored)
    operands = (*options.operands, *options.paths) or (".",)
    paths = [repository_path(checkout, command, path or "") for path in operands]
    removed = _list_cleaned(checkout, command)
    selected = [
        file for file in checkout.list_changed_in(paths) if file.path in removed and not file.is_tracked
    ]
    ignored = [path for path in removed if path not in checkout.status]
    judged = judge_losing(checkout, command, selected, "git clean -f --")
    if judged.denial or not ignored:
        return judged._replace(with_ignored=with_ignored)
    return refuse(
        f"{name_sessions(checkout.others_here)} in this working tree, and it would delete files that git ignores"
        f" and others may need: {quote_files(ignored[:8])}.",
        "git clean -f -d without -x",
        "rm of the files that are yours, by name",
        files=[ChangedFile(path, is_tracked=False) for path in ignored[:50]],
        agents=list_agents(checkout.others_here),
    )


def _needs_no_force(command: GitCommand) -> bool:
    """Whether `clean.requireForce` is off, by `-c` or in the configuration."""
    setting = dict(command.settings).get("clean.requireforce")
    if setting is None:
        try:
            setting = run_git("config", "--get", "--bool", "clean.requireForce", folder=command.cwd)
        except GitFailed:
            return False
    return setting.lower() in ("false", "no", "off", "0")


def _list_cleaned(checkout: Checkout, command: GitCommand) -> set[str]:
    """What the command would delete, as git itself says, with the files inside of folders."""
    given = [
        word for word in command.arguments if word is not None and word not in ("--quiet", "--interactive")
    ]
    short = [re.fullmatch(r"-[a-zA-Z]+", word) and not word.startswith("-e") for word in given]
    words = [
        re.sub("[qi]", "", word) if is_short else word for word, is_short in zip(given, short, strict=True)
    ]
    words = [word for word in words if word != "-"]
    output = run_git("-c", "core.quotePath=false", "clean", "-n", *words, folder=command.cwd)
    lines = [
        line.removeprefix("Would remove ") for line in output.splitlines() if line.startswith("Would remove ")
    ]
    paths = [repository_path(checkout, command, line.strip('"')) for line in lines]
    inside = {path for path in checkout.status if any(path.startswith(f"{each}/") for each in paths)}
    return {
        path for path in paths if not (Path(checkout.root) / path).is_dir() or path not in inside
    } | inside
