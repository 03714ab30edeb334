"""`commonplace guard check` and `guard committed`: what the hooks of a git repository run.

`check` runs before a commit and refuses files that another agent has leased, or has changed in this working tree; a
person is only warned. `committed` runs after it and reports a commit that bypassed the check, as `git commit
--no-verify` allows.
"""

import sys
from datetime import datetime
from typing import Any

from commonplace.client.agents import load_hooks
from commonplace.client.companion import fault_log, leases, prevented, subagents
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.companion.hook_state import EditLease
from commonplace.client.git import git_program as git
from commonplace.client.git.acting_run import find_acting_run, is_person
from commonplace.client.git.checkout import ChangedFile, parse_owner, report_checkout
from commonplace.client.git.judgement import name_files, quote_files
from commonplace.client.hooks.shell_actions import read_git_mode
from commonplace.client.link import remote
from commonplace.client.regions.edit_regions import are_regions_on
from commonplace.client.regions.staged_regions import locate_staged
from commonplace.client.rules import guard_rules

_MAX_FILES_CHECKED = 1_000
_MAX_FILES_REPORTED = 200
_CHECKED_FILE = "commonplace-guard"
_IN_PROGRESS_FILES = ("rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer")


def main(words: list[str]) -> int:
    """`words` is the command line: guard check|committed [PID OF GIT]."""
    act = {"check": _check_staged_files, "committed": _report_unchecked_commit}[words[1]]
    try:
        return act(words[2] if len(words) > 2 else "")  # noqa: PLR2004 - the third word
    except Exception as error:  # noqa: BLE001 - the outermost line: a fault of ours must not prevent a commit
        fault_log.log_fault(f"guard {words[1]}", error)
        _print_error(f"commonplace guard: nothing was checked ({error})")
        return 0


def _check_staged_files(pid: str) -> int:
    files = git.list_staged_files()
    hook_run, refused = find_acting_run(), []
    broken = guard_rules.check_commit(hook_run, is_person=is_person(hook_run))
    if broken.warnings:
        _print_error("\n".join(["commonplace guard: a rule warns.", *broken.warnings]))
    if broken.denials:
        _keep_notices(hook_run)
        _print_error("\n".join(["commonplace guard: the commit is refused.", *broken.denials]))
        return 1
    try:
        refused = _list_all_refusals(hook_run, files) if files else []
    except (remote.ServerUnreachable, remote.ServerRefusal) as error:
        fault_log.log_fault("guard check", error)
        _print_error(f"commonplace guard: nothing was checked. {error}")
    _keep_notices(hook_run)
    if refused and is_person(hook_run):
        _print_error("\n".join(["commonplace guard: others work on what you commit.", *refused]))
    elif refused:
        _print_error("\n".join(["commonplace guard: the commit is refused.", *refused, _BYPASS_TEXT]))
        prevented.report_prevented(hook_run, "commit_refused", refused[0], files)
        return 1
    (git.git_folder() / _CHECKED_FILE).write_text(f"{pid} {git.run_git('write-tree')}", encoding="utf-8")
    return 0


def _list_all_refusals(hook_run: HookRun, files: list[str]) -> list[str]:
    """Leases of others are named first. No lease is taken on files that another session has changed."""
    located = _locate_lines(hook_run)
    if foreign := list_foreign_files(hook_run, files, located):
        conflicts = leases.list_conflicts(hook_run, files[:_MAX_FILES_CHECKED], located)
        leased_by_subagents = _list_subagent_files(hook_run, conflicts)
        return [
            leases.format_conflict(conflict)
            for conflict in conflicts
            if conflict["file"] not in leased_by_subagents
        ] or foreign
    return list_refusals(hook_run, files, located)


def _locate_lines(hook_run: HookRun) -> leases.Located:
    """The lines of the commit, so that it is compared with what others have leased of the same files."""
    if not hook_run.tree.main or not are_regions_on(hook_run):
        return {}
    return locate_staged(str(git.worktree_root()))


_BYPASS_TEXT = "`git commit --no-verify` bypasses this check; the holders are then notified."


def list_foreign_files(
    hook_run: HookRun, files: list[str], located: leases.Located | None = None
) -> list[str]:
    """What the commit would take from others that work in this working tree, and how to commit without it."""
    mode = read_git_mode(hook_run)
    if mode == "off" or not hook_run.tree.main:
        return []
    root = str(git.worktree_root().resolve())
    facts = report_checkout(hook_run, root, files[:_MAX_FILES_CHECKED], only_asks=hook_run.tool == "git")
    owners = [parse_owner(owner) for owner in facts["files"]]
    names = {run.confirm_agent() for run in subagents.list_own_runs(hook_run)}
    foreign = [file for file in owners if file.belongs_to_other and file.agent not in names]
    foreign = [file for file in foreign if not _has_own_lines(hook_run, file, located or {})]
    if not foreign or not any(other["here"] for other in facts["others"]):
        return []
    taken = {file.path for file in foreign}
    own = [file for file in files if file not in taken]
    way = (
        f"Commit only your own: git commit -- {quote_files(own)}" if own else "None of these files is yours."
    )
    text = f"Others changed in this working tree: {name_files(foreign)}. {way}"
    if mode == "warn":
        _print_error(f"commonplace guard: {text}")
        return []
    return [text]


def _has_own_lines(hook_run: HookRun, file: ChangedFile, located: leases.Located) -> bool:
    """Whether the last editor has leased other lines of the file than the commit has."""
    if file.path not in located:
        return False
    locks = hook_run.call_in_session("memory_get_locks", path_pattern=file.path).get("locks", [])
    has_lines = any(lock["held_by"] == file.agent and "from" in lock.get("region", {}) for lock in locks)
    return has_lines and not leases.list_conflicts(hook_run, [file.path], located)


def list_refusals(hook_run: HookRun, files: list[str], located: leases.Located | None = None) -> list[str]:
    """One line for every file that must not be committed now."""
    if hook_run.tool == "git":
        conflicts = _list_lock_conflicts(hook_run, files, located)
        return [leases.format_conflict(conflict) for conflict in conflicts]
    before = hook_run.state.load_leases()
    edited = [file for file in files if file in before][:_MAX_FILES_REPORTED]
    report = leases.report_edits(hook_run, edited)
    reply = hook_run.call_in_session("memory_get_locks")
    held = {lease["file"]: lease["token"] for lease in reply.get("your_locks", [])}
    conflicts = leases.acquire_leases(hook_run, files, hook_run.settings.minutes, located)
    if conflicts and (leased_by_subagents := _list_subagent_files(hook_run, conflicts)):
        files = [file for file in files if file not in leased_by_subagents]
        conflicts = leases.acquire_leases(hook_run, files, hook_run.settings.minutes, located)
    if conflicts:
        return [leases.format_conflict(conflict) for conflict in conflicts]
    changed = _list_changed_files(report, before)
    stale = [file for file in report.stale if file in held or file in changed]
    return [_STALE_TEXT.format(file=file) for file in stale if file in files]


_STALE_TEXT = (
    "{file}: your lease lapsed after your edit and was granted again since. Another agent may have changed"
    " the file: check it, then commit again."
)


def _list_subagent_files(hook_run: HookRun, conflicts: list[leases.LeaseConflict]) -> set[str]:
    """The files that only sub-agents of this session hold, where a command does not say which of them runs it."""
    if hook_run.tool == "git" or load_hooks(hook_run.tool).subagents_have_conversations:
        return set()
    names = {run.confirm_agent() for run in subagents.list_own_runs(hook_run)}
    others = {conflict["file"] for conflict in conflicts if conflict["held_by"] not in names}
    return {str(conflict["file"]) for conflict in conflicts} - others


def _list_lock_conflicts(
    hook_run: HookRun, files: list[str], located: leases.Located | None = None
) -> list[leases.LeaseConflict]:
    if not hook_run.call_in_session("memory_get_locks").get("locks"):
        return []
    return leases.list_conflicts(hook_run, files[:_MAX_FILES_CHECKED], located)


def _list_changed_files(report: leases.EditReport, before: dict[str, EditLease]) -> set[str]:
    """The files that others edited after our lease on them was granted."""
    return {
        overlap["file"]
        for overlap in report.overlaps
        if overlap["file"] in before and _overlap_time(overlap) > before[overlap["file"]].at
    }


def _overlap_time(overlap: dict[str, Any]) -> float:
    return datetime.fromisoformat(str(overlap["when"])).timestamp()


def _report_unchecked_commit(pid: str) -> int:
    if not _was_unchecked(pid):
        return 0
    commit, files = git.run_git("rev-parse", "HEAD"), git.list_committed_files()
    fault_log.log_text("guard", f"commit {commit} bypassed the check")
    hook_run = find_acting_run()
    conflicts = _list_lock_conflicts(hook_run, files)
    notes = "\n".join(leases.format_conflict(conflict) for conflict in conflicts)
    hook_run.call_in_session(
        "memory_update_work",
        title=f"Commit {commit[:12]} bypassed the guard",
        status="completed",
        files_touched=files[:_MAX_FILES_REPORTED],
        notes=notes[:10_000],
    )
    for holder in dict.fromkeys(str(conflict["held_by"]) for conflict in conflicts):
        held_files = sorted(
            {str(conflict["file"]) for conflict in conflicts if conflict["held_by"] == holder}
        )
        hook_run.call_in_session(
            "memory_send_message",
            to_instance=holder,
            subject=f"Commit {commit[:12]} changed files that you hold",
            message=f"{hook_run.confirm_agent()} committed {', '.join(held_files[:20])}, bypassing the guard.",
        )
    _keep_notices(hook_run)
    return 0


def _was_unchecked(pid: str) -> bool:
    """Whether neither this git process nor this tree was checked; commits of a rebase or cherry-pick do not count."""
    mark = git.git_folder() / _CHECKED_FILE
    try:
        checked = mark.read_text(encoding="utf-8").split()
        mark.unlink()
    except FileNotFoundError:
        checked = []
    if (pid and pid in checked) or git.run_git("rev-parse", "HEAD^{tree}") in checked:
        return False
    return not any((git.git_folder() / name).exists() for name in _IN_PROGRESS_FILES)


def _keep_notices(hook_run: HookRun) -> None:
    """Keep notices that came with a reply for the agent's next hook."""
    if hook_run.tool != "git":
        hook_run.state.put_notices(hook_run.context)


def _print_error(text: str) -> None:
    sys.stderr.write(f"{text}\n")
