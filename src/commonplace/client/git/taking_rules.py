"""Rules for commands that put changes into a commit: `git add` and `git commit`."""

import shlex
from collections.abc import Sequence

from commonplace.client.git.checkout import ChangedFile, Checkout
from commonplace.client.git.git_command import GitCommand, parse_options
from commonplace.client.git.judgement import (
    LET_THROUGH,
    Judgement,
    is_free,
    list_owners,
    name_agents,
    name_files,
    name_sessions,
    quote_files,
    refuse,
)
from commonplace.client.git.repository_names import list_staged, path_from_folder, split_operands
from commonplace.client.git.shell_words import Word


def judge_add(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments, "--chmod --pathspec-from-file")
    if options.has("-n", "--dry-run", "-p", "--patch", "-i", "--interactive", "-e", "--edit", "-N"):
        return LET_THROUGH
    operands: tuple[Word, ...] = (*options.operands, *options.paths)
    if options.has("--pathspec-from-file"):
        operands = (None,)
    is_sweeping = options.has("-A", "--all", "-u", "--update") and not operands
    folders, files = split_operands(checkout, command, operands)
    selected = checkout.list_changed_in(None if is_sweeping else folders) if is_sweeping or folders else []
    if options.has("-u", "--update"):
        selected = [file for file in selected if file.is_tracked]
    return _judge_taking(checkout, command, selected, files)


def judge_named(checkout: Checkout, command: GitCommand, operands: Sequence[Word]) -> Judgement:
    """Paths whose content is taken into the index by another command than `add`."""
    folders, files = split_operands(checkout, command, operands)
    return _judge_taking(checkout, command, checkout.list_changed_in(folders) if folders else [], files)


def judge_commit(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(
        command.arguments,
        "-m -F -C -c -t --message --file --author --date --reuse-message --reedit-message --template --fixup --squash"
        " --cleanup --trailer --pathspec-from-file",
    )
    if options.has("--dry-run", "-p", "--patch", "--interactive"):
        return LET_THROUGH
    operands: tuple[Word, ...] = (*options.operands, *options.paths)
    if options.has("--pathspec-from-file"):
        operands = (None,)
    moves = Judgement(moves_head=options.has("--amend"))
    if options.has("-a", "--all"):
        selected = [file for file in checkout.list_changed_in(None) if file.is_tracked]
        judged = _judge_taking(checkout, command, selected, [])
        return judged if judged.denial else moves
    if operands:
        judged = judge_named(checkout, command, operands)
        if judged.denial or not options.has("-i", "--include"):
            return judged if judged.denial else moves
    return _judge_staged(checkout, command) if checkout.others_here else moves


def _judge_staged(checkout: Checkout, command: GitCommand) -> Judgement:
    """The index is everybody's: a commit takes what others have staged."""
    staged = set(list_staged(checkout))
    files = [file for file in checkout.changed if file.path in staged]
    foreign = [file for file in files if file.belongs_to_other]
    if not foreign:
        return LET_THROUGH
    own = [file.path for file in files if file not in foreign]
    rest = shlex.join(word for word in command.arguments if word is not None and word != "--")
    ways = [f"git commit {rest} -- {quote_files(own)}    commits your files only"] if own else []
    return refuse(
        f"others have staged files in this working tree, and the commit would take them: {name_files(foreign)}.",
        *ways,
        f"leave {quote_files([file.path for file in foreign])} to {name_agents(list_owners(foreign, ()))}",
        files=foreign,
        agents=list_owners(foreign, ()),
    )


def _judge_taking(
    checkout: Checkout, command: GitCommand, selected: Sequence[ChangedFile], named: Sequence[str]
) -> Judgement:
    """Files that a sweep selects must be the session's own; files that are named must not be another's."""
    if not checkout.others_here:
        return LET_THROUGH
    swept = [file for file in selected if not is_free(file)]
    foreign = [
        file
        for file in checkout.changed
        if file.path in named and file.belongs_to_other and not checkout.is_unreported(file)
    ]
    if not swept and not foreign:
        return LET_THROUGH
    own = [path_from_folder(checkout, command, file.path) for file in selected if file.mine]
    own += [
        path_from_folder(checkout, command, path)
        for path in named
        if path not in {file.path for file in foreign}
    ]
    unknown = [path_from_folder(checkout, command, file.path) for file in swept if not file.agent]
    owned = [file for file in (*swept, *foreign) if file.agent]
    reasons = [f"it would take changes of others: {name_files(owned)}."] if owned else []
    reasons += [f"it would take changes that nobody reported: {quote_files(unknown)}."] if unknown else []
    ways = (
        [f"git add -- {quote_files(own)}    your own changes"]
        if own
        else ["you have no whole file of your own to add"]
    )
    edited = checkout.hook_run.state.load_leases()
    shared = [path_from_folder(checkout, command, file.path) for file in owned if file.path in edited]
    ways += [f"commonplace git stage {quote_files(shared)}    your own lines of them"] if shared else []
    ways += ["then git commit without -a"] if command.subcommand == "commit" else []
    ways += [f"git add -- <those of {quote_files(unknown)} that are yours>"] if unknown else []
    return refuse(
        f"{name_sessions(checkout.others_here)} in this working tree, and {' And '.join(reasons)}",
        *ways,
        files=(*swept, *foreign),
        agents=list_owners(owned, checkout.others_here),
    )
