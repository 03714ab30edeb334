"""Rules for commands that work on the index directly, or bring patches and commits into the working tree."""

from commonplace.client.git.branch_rules import judge_continuing
from commonplace.client.git.checkout import Checkout
from commonplace.client.git.git_command import GitCommand, parse_options
from commonplace.client.git.judgement import LET_THROUGH, Judgement
from commonplace.client.git.losing_rules import judge_discarding, judge_unstaging
from commonplace.client.git.taking_rules import judge_named

_ENDINGS = ("--abort", "--quit", "--skip")
_ONLY_REPORTS = ("--check", "--stat", "--numstat", "--summary")
_TAKES_NO_CONTENT = ("--refresh", "--really-refresh", "--assume-unchanged", "--no-assume-unchanged", "--skip-worktree",
                     "--no-skip-worktree", "--chmod", "--test-untracked-cache", "--split-index")  # fmt: skip


def judge_read_tree(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments, "--prefix --index-output")
    if options.has("-n", "--dry-run", "--index-output"):
        return LET_THROUGH
    if options.has("-u"):
        return judge_discarding(checkout, command, ())
    return judge_unstaging(checkout, None)


def judge_checkout_index(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments, "--prefix --stage")
    if not options.has("-f", "--force") or options.has("--prefix"):
        return LET_THROUGH
    paths = () if options.has("-a", "--all", "--stdin") else (*options.operands, *options.paths)
    return judge_discarding(checkout, command, paths)


def judge_update_index(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments, "--cacheinfo --index-version")
    if options.has(*_TAKES_NO_CONTENT):
        return LET_THROUGH
    takes_all = options.has("--again", "-g", "--stdin")
    operands = (*options.operands, *options.paths)
    return (
        judge_named(checkout, command, (None,) if takes_all else operands)
        if takes_all or operands
        else LET_THROUGH
    )


def judge_rm(checkout: Checkout, command: GitCommand) -> Judgement:
    """With `--cached` a deletion is staged; with `-f` changes are deleted, which git else refuses."""
    options = parse_options(command.arguments, "--pathspec-from-file")
    operands = (*options.operands, *options.paths)
    if options.has("-n", "--dry-run"):
        return LET_THROUGH
    if options.has("--cached"):
        return judge_named(checkout, command, operands)
    return judge_discarding(checkout, command, operands) if options.has("-f", "--force") else LET_THROUGH


def judge_mv(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments)
    operands = (*options.operands, *options.paths)
    if options.has("-n", "--dry-run") or not options.has("-f", "--force"):
        return LET_THROUGH
    return judge_discarding(checkout, command, operands[-1:])


def judge_apply(checkout: Checkout, command: GitCommand) -> Judgement:
    """A patch that is turned around takes changes away; which files it has stands in it, not in the command."""
    options = parse_options(
        command.arguments, "-p -C --directory --exclude --include --whitespace --build-fake-ancestor"
    )
    if options.has(*_ONLY_REPORTS, "--cached"):
        return LET_THROUGH
    return Judgement(destroys=bool(checkout.others_here))


def judge_picking(checkout: Checkout, command: GitCommand) -> Judgement:
    """`cherry-pick`, `revert` and `am` add commits; git itself keeps them from changed files until they are aborted."""
    options = parse_options(command.arguments, "-m --mainline -s --strategy -X --strategy-option")
    if options.has("--continue"):
        return judge_continuing(checkout, command)
    return Judgement(destroys=options.has(*_ENDINGS), moves_head=options.has(*_ENDINGS))
