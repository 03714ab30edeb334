"""Rules for commands that move or delete branches and other refs: their commits may be nowhere else."""

from collections.abc import Mapping, Sequence

from commonplace.client import project
from commonplace.client.git.checkout import Checkout, read_head
from commonplace.client.git.git_command import GitCommand, Options, parse_options
from commonplace.client.git.git_program import run_git
from commonplace.client.git.judgement import (
    LET_THROUGH,
    Judgement,
    ask_agents,
    list_agents,
    name_sessions,
    quote_files,
    refuse,
)
from commonplace.client.git.repository_names import program_words, resolve_commit

_HEADS = "refs/heads/"
_OWN_REFS = "refs/commonplace/"

NewTips = Mapping[str, str]
"""Branches that are moved, each with its new commit, empty if it is deleted or unknown."""


def judge_branch(checkout: Checkout, command: GitCommand) -> Judgement:
    """`-D` deletes a branch, `-f` moves one, `-M` and `-C` put another one in its place."""
    options = parse_options(command.arguments, "-u --set-upstream-to --sort --format --points-at")
    names = [name for name in (*options.operands, *options.paths) if name]
    is_forced = options.has("-f", "--force")
    if options.has("-D") or (options.has("-d", "--delete") and is_forced):
        return judge_moved_branches(checkout, dict.fromkeys(names, ""), "deleted")
    if options.has("-M", "-C") or (options.has("-m", "-c", "--move", "--copy") and is_forced):
        old = names[0] if len(names) > 1 else "HEAD"
        return judge_moved_branches(checkout, dict.fromkeys(names[-1:], old))._replace(moves_head=True)
    if is_forced and names:
        return judge_moved_branches(checkout, {names[0]: names[1] if len(names) > 1 else "HEAD"})
    return Judgement(moves_head=options.has("-m", "--move"))


def judge_fetch(checkout: Checkout, command: GitCommand) -> Judgement:
    """`git fetch origin +main:feature` moves a local branch."""
    options = parse_options(
        command.arguments, "-o --depth --upload-pack -j --jobs --negotiation-tip --refmap"
    )
    if options.has("-n", "--dry-run"):
        return LET_THROUGH
    is_forced = options.has("-f", "--force")
    specs = [word for word in (*options.operands, *options.paths)[1:] if word and ":" in word]
    targets = {
        spec.rpartition(":")[2].removeprefix(_HEADS): ""
        for spec in specs
        if is_forced or spec.startswith("+") or options.has("-u", "--update-head-ok")
    }
    branches = {name: new for name, new in targets.items() if not name.startswith("refs/")}
    return judge_moved_branches(checkout, branches) if branches else LET_THROUGH


def judge_update_ref(checkout: Checkout, command: GitCommand) -> Judgement:
    options = parse_options(command.arguments, "-m")
    words = [word for word in (*options.operands, *options.paths) if word]
    moved: dict[str, str] = {}
    if options.has("--stdin"):
        for line in (command.shell.stdin_text if command.shell else "").splitlines():
            verb, *rest = line.split()
            if verb in ("update", "delete", "create") and rest:
                moved[rest[0]] = rest[1] if verb != "delete" and len(rest) > 1 else ""
    elif words:
        moved[words[0]] = "" if options.has("-d", "--delete") else (words[1] if len(words) > 1 else "")
    kept = [name for name in moved if name.startswith(_OWN_REFS)]
    if kept and checkout.others:
        return refuse(
            f"{name_sessions(checkout.others)} in this repository, and {quote_files(kept)} may keep their changes.",
            f"{program_words()} git shelves    shows whose they are",
            agents=list_agents(checkout.others),
        )
    head = read_head(checkout.root).branch
    names = {head if name == "HEAD" else name.removeprefix(_HEADS): new for name, new in moved.items()}
    branches = {name: new for name, new in names.items() if name and not name.startswith("refs/")}
    return judge_moved_branches(checkout, branches) if branches else LET_THROUGH


def judge_moved_branches(checkout: Checkout, tips: NewTips, verb: str = "moved") -> Judgement:
    """A branch that others have checked out stays; commits that nothing else contains are kept."""
    in_use = [
        other
        for other in checkout.others
        if other.branch in tips
        and project.find_branch(other.root) == other.branch
        and not _is_added_to(checkout.root, other.branch, tips[other.branch])
    ]
    if in_use:
        return refuse(
            f"{name_sessions(in_use)} on {in_use[0].branch}, which would be {verb} under them.",
            "git branch NAME COMMIT    makes another branch",
            ask_agents(in_use),
            agents=list_agents(in_use),
        )
    lost = find_lost_tips(checkout.root, tips)
    known = checkout.hook_run.state.list_branches()
    foreign = [name for name in lost if name not in known]
    if not foreign or not checkout.others:
        return Judgement(commits=tuple(lost.values()))
    return refuse(
        f"{quote_files(foreign)} has commits that no other branch contains, this session never worked on it, and"
        f" {name_sessions(checkout.others)} in this repository.",
        f"git branch -d {quote_files(foreign)}    deletes it only if its commits are merged",
        ask_agents(checkout.others),
        agents=list_agents(checkout.others),
    )


def find_lost_tips(root: str, tips: NewTips) -> dict[str, str]:
    """The old tips of these branches that have commits which no ref contains afterwards."""
    kept = [commit for new in tips.values() if new and (commit := resolve_commit(root, new))]
    found = {name: _find_lost_tip(root, name, list(tips), kept) for name in tips}
    return {name: tip for name, tip in found.items() if tip}


def judge_created_branch(checkout: Checkout, options: Options, *flags: str) -> tuple[str, ...]:
    """The commits that `checkout -B`, `switch -C` or `worktree add -B` take from a branch of the same name."""
    names = [options.values[flag] for flag in flags if options.values.get(flag)]
    start = next((word for word in reversed(options.operands) if word and word not in names), "HEAD")
    return tuple(find_lost_tips(checkout.root, dict.fromkeys(names[:1], start)).values())


def _is_added_to(root: str, branch: str, new: str) -> bool:
    """Whether the branch only gets more commits."""
    tip, target = resolve_commit(root, f"{_HEADS}{branch}"), resolve_commit(root, new) if new else ""
    if not tip or not target:
        return False
    return not run_git("rev-list", "-n", "1", tip, "--not", target, folder=root)


def _find_lost_tip(root: str, branch: str, moved: Sequence[str], kept: Sequence[str]) -> str:
    tip = resolve_commit(root, f"{_HEADS}{branch}")
    if not tip:
        return ""
    others = [f"--exclude={_HEADS}{name}" for name in moved]
    words = [*kept, *others, f"--exclude={_OWN_REFS}*", "--all"]
    if read_head(root).branch not in moved:
        words.append("HEAD")
    return tip if run_git("rev-list", "-n", "1", tip, "--not", *words, folder=root) else ""
