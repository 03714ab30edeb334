"""commonplace guard check, committed: what the hooks of a git repository run.

`check` stands before a commit and refuses files that another agent has leased. `committed` stands behind it and notes
a commit that went past the check, as `git commit --no-verify` allows.
"""

import os
import re
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from commonplace.client import remote
from commonplace.client.guard import git
from commonplace.client.hooks import leases, log
from commonplace.client.hooks.event import Event
from commonplace.client.hooks.settings import settings
from commonplace.client.hooks.state import Lease, State, everyone
from commonplace.client.hooks.tree import tree_of
from commonplace.client.hooks.visit import Visit, ancestors

_SESSION_OF_AGENT = ("COMMONPLACE_AGENT_SESSION", "CLAUDE_CODE_SESSION_ID", "GEMINI_SESSION_ID")
_PATIENCE = 2.0
_LOOKED_AT = 1_000
_LISTED = 200
_MARK = "commonplace-guard"
_GOING_ON = ("rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer")
_NOT_NAME = re.compile(r"[^\w.-]+")


def main(given: list[str]) -> int:
    """`given` are the words of the command line: guard check|committed [PID OF GIT]."""
    act = {"check": _check, "committed": _committed}[given[1]]
    try:
        return act(given[2] if len(given) > 2 else "")  # noqa: PLR2004 - the third word
    except Exception as wrong:  # noqa: BLE001 - the outermost line: our faults keep nobody from committing
        log.fault(f"guard {given[1]}", wrong)
        _say(f"commonplace guard: nothing was checked ({wrong})")
        return 0


def _check(pid: str) -> int:
    files = git.staged()
    visit, refused = _visit(), []
    try:
        refused = refusals(visit, files) if files else []
    except (remote.ServerUnreachable, remote.ServerRefusal) as away:
        log.fault("guard check", away)
        _say(f"commonplace guard: nothing was checked. {away}")
    _pass_on(visit)
    if refused:
        _say("\n".join(["commonplace guard: the commit is refused.", *refused, _PAST]))
        return 1
    (git.own_folder() / _MARK).write_text(f"{pid} {git.ask('write-tree')}", encoding="utf-8")
    return 0


_PAST = "`git commit --no-verify` goes past this; the holders are told."


def refusals(visit: Visit, files: list[str]) -> list[str]:
    """A line for every file that must not be committed now."""
    if visit.tool == "git":
        return [leases.told(conflict) for conflict in _met(visit, files)]
    before = visit.state.leases()
    reply = visit.ask_as_session("memory_get_locks")
    held = {lease["file"]: lease["token"] for lease in reply.get("your_locks", [])}
    if conflicts := leases.take(visit, files, visit.settings.minutes):
        return [leases.told(conflict) for conflict in conflicts]
    older = [file for file in files if file in before and held.get(file, 0) > before[file].token]
    lost = {file: before[file] for file in files if file in before and file not in held}
    return [_STALE.format(file=file) for file in [*older, *_changed_since(visit, lost)]]


_STALE = (
    "{file}: your lease on it lapsed after your edit, and it was granted anew since. Somebody else may have changed"
    " the file: look at it, then commit again."
)


def _met(visit: Visit, files: list[str]) -> list[leases.Conflict]:
    if not visit.ask_as_session("memory_get_locks").get("locks"):
        return []
    return leases.held_by_others(visit, files[:_LOOKED_AT])


def _changed_since(visit: Visit, lost: dict[str, Lease]) -> list[str]:
    """The files that others touched after our lease on them was granted."""
    if not lost:
        return []
    reply = visit.ask_as_session(
        "memory_update_work", title="Edits", status="in_progress", files_touched=list(lost)[:_LISTED]
    )
    touched = [each for each in reply.get("overlaps", []) if each["agent"] != visit.session().agent]
    later = {each["file"] for each in touched if each["file"] in lost and _at(each) > lost[each["file"]].at}
    return sorted(later)


def _at(overlap: dict[str, Any]) -> float:
    return datetime.fromisoformat(str(overlap["when"])).timestamp()


def _committed(pid: str) -> int:
    if not _went_past(pid):
        return 0
    commit, files = git.ask("rev-parse", "HEAD"), git.committed()
    log.note("guard", f"commit {commit} went past the check")
    visit = _visit()
    conflicts = _met(visit, files)
    notes = "\n".join(leases.told(conflict) for conflict in conflicts)
    visit.ask_as_session(
        "memory_update_work",
        title=f"Commit {commit[:12]} went past the guard",
        status="completed",
        files_touched=files[:_LISTED],
        notes=notes[:10_000],
    )
    for holder in dict.fromkeys(str(conflict["held_by"]) for conflict in conflicts):
        theirs = sorted({str(each["file"]) for each in conflicts if each["held_by"] == holder})
        visit.ask_as_session(
            "memory_send_message",
            to_instance=holder,
            subject=f"Commit {commit[:12]} changed files that you hold",
            message=f"{visit.session().agent} committed {', '.join(theirs[:20])} past the guard.",
        )
    _pass_on(visit)
    return 0


def _went_past(pid: str) -> bool:
    """Neither this run of git nor this very tree was checked; a rebase or a pick is no commit of ours."""
    mark = git.own_folder() / _MARK
    try:
        checked = mark.read_text(encoding="utf-8").split()
        mark.unlink()
    except FileNotFoundError:
        checked = []
    if (pid and pid in checked) or git.ask("rev-parse", "HEAD^{tree}") in checked:
        return False
    return not any((git.own_folder() / name).exists() for name in _GOING_ON)


def _pass_on(visit: Visit) -> None:
    """News that came with an answer is the agent's; its next hook tells it."""
    if visit.tool != "git":
        visit.state.put_notices(visit.context)


def _visit() -> Visit:
    """As the agent that commits, if one can be told; else as a person, who holds no lease."""
    root = git.root().resolve()
    calm = settings()
    calm = calm._replace(seconds=max(calm.seconds, _PATIENCE))
    name, tool = _agent_session(root)
    if tool:
        return Visit(tool, Event("before_edit", "pre-commit", name, str(root)), calm)
    person = "git-" + _NOT_NAME.sub("_", os.environ.get("USER") or os.environ.get("USERNAME") or "somebody")
    return Visit("git", Event("before_edit", "pre-commit", f"git-{root}", str(root)), calm, person)


def _agent_session(root: Path) -> tuple[str, str]:
    """What its environment says, else the one session of this working tree with which the most processes are shared."""
    given = next((os.environ[name] for name in _SESSION_OF_AGENT if os.environ.get(name)), "")
    if given:
        known = State(given).session()
        at_home = known is not None and tree_of(known.root).main == tree_of(str(root)).main
        return (given, known.tool) if known and at_home else ("", "")
    above = set(ancestors())
    near = {
        name: (len(above.intersection(session.ancestors)), session.tool)
        for name, session in everyone().items()
        if session.root == str(root) and session.tool != "git"
    }
    most = max((count for count, _ in near.values()), default=0)
    best = [(name, tool) for name, (count, tool) in near.items() if count == most > 0]
    return best[0] if len(best) == 1 else ("", "")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
