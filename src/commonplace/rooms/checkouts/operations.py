"""Report and list working trees: which sessions share one, what they hold in it, and what was prevented there."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from commonplace import access
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.file_region import tag_working_tree
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.identity.session import AgentSession
from commonplace.notices import notify_agents
from commonplace.operation import operation
from commonplace.rooms.checkouts import model, store
from commonplace.rooms.checkouts.contributes import EVENTS
from commonplace.rooms.checkouts.store import CheckoutPlace, CheckoutState
from commonplace.rooms.guidelines.model import GLOBAL_SCOPE
from commonplace.rooms.guidelines.store import count_rule_hit
from commonplace.rooms.locks.model import Lease, LeaseMoment, LockRequest
from commonplace.rooms.locks.store import list_candidate_leases, list_leases_of_others, project_ignores_case
from commonplace.store.database import Row

_MAX_LEASES = 200
_MAX_FILES_PER_SESSION = 10


async def show_sessions(call: Call, rows: Sequence[Row], root: str) -> list[model.CheckoutSession]:
    """Render the sessions, each with the newest of the files that it holds and touched."""
    if not rows:
        return []
    locked, touched = await _list_locked(call), await _list_touched(call, [row["session"] for row in rows])
    shown = []
    for row in rows:
        session = model.CheckoutSession.from_row(row, root)
        session.locked = locked[row["session"]][:_MAX_FILES_PER_SESSION]
        session.touched = touched[row["session"]][:_MAX_FILES_PER_SESSION]
        shown.append(session)
    return shown


async def _list_locked(call: Call) -> dict[str, list[str]]:
    fold, now = await project_ignores_case(call.tx, call.project), await call.tx.clock()
    leases = await list_leases_of_others(call.tx, call.project, call.own_session.id, fold, now, _MAX_LEASES)
    names: dict[str, list[str]] = defaultdict(list)
    for lease in leases:
        names[lease.session].append(lease.name)
    return names


async def _list_touched(call: Call, sessions: Sequence[str]) -> dict[str, list[str]]:
    since = call.now - SESSION_LIVE_MICROSECONDS
    paths: dict[str, list[str]] = defaultdict(list)
    for row in await store.list_touched_files(call.tx, call.project, sessions, since):
        paths[row["session"]].append(row["path"])
    return paths


_NO_HOOKS = (
    "Uncommitted changes are only known where the hooks run (`commonplace install`); ask git for them. `others` are the"
    " live sessions of the project with the files that each has locked or reported; `here` means in your folder."
)
_NO_FOLDER = " Yours is unknown: pass working_directory to memory_start_session."


@operation(
    "memory_checkout_status", role="readonly", keywords="checkout, uncommitted, owners, shelved changes"
)
async def checkout_status(call: Call) -> model.CheckoutStatus:
    """Show who shares this git working tree and whose each dirty file is."""
    session = call.own_session
    own = await store.load_checkout(call.tx, session)
    if own is None:
        return await _show_without_hooks(call, session)
    place = CheckoutPlace(own["machine"], own["root"], own["repository"])
    others = await _list_others(call, session, place)
    reported = max(
        (row for row in (own, *others) if row["root"] == place.root and "dirty" in row.keys()),  # noqa: SIM118 - a row
        key=lambda row: row["at"],
    )
    return model.CheckoutStatus(
        root=place.root,
        branch=own["branch"],
        others=await show_sessions(call, others, place.root),
        dirty=await _list_owners(call, session, place, model.decode_names(reported["dirty"])),
        shelved=model.decode_names(reported["shelved"]),
        as_of=iso(reported["at"]) if reported["at"] else "",
    )


async def _show_without_hooks(call: Call, session: AgentSession) -> model.CheckoutStatus:
    root = session.working_directory
    since = call.now - SESSION_LIVE_MICROSECONDS
    rows = await store.list_sessions_of_project(call.tx, session, since)
    return model.CheckoutStatus(
        root=root,
        others=await show_sessions(call, rows, root),
        message=_NO_HOOKS + ("" if root else _NO_FOLDER),
    )


@operation(
    "memory_report_checkout",
    writes=True,
    idempotent=True,
    example={"machine": "laptop", "root": "/home/ann/shop", "repository": "/home/ann/shop", "branch": "main"},
    verbatim=("root", "repository", "tree", "files", "branch"),
)
async def report_checkout(
    call: Call,
    machine: model.MachineName,
    root: Annotated[model.FolderPath, Field(description="The root of a git working tree.")],
    repository: Annotated[
        model.FolderPath,
        Field(
            description="The main working tree, or the folder of a bare repository: the same for all linked working trees."
        ),
    ],
    branch: model.BranchName = "",
    head: model.CommitId = "",
    tree: Annotated[
        model.FolderPath | None,
        Field(
            description="The working tree that the answer is about, if it is another one of the repository."
        ),
    ] = None,
    files: model.RepositoryPaths | None = None,
    shelved: model.ShelfNames | None = None,
    is_moving: Annotated[
        bool, Field(description="Whether the session is about to move the branch of its working tree.")
    ] = False,
    only_asks: Annotated[
        bool,
        Field(
            description="Record nothing: a person asks, who does not count as a session in this working tree."
        ),
    ] = False,
) -> model.CheckoutFacts:
    """Report the session's working tree; return who else is there and who changed these files last."""
    session, place = call.own_session, CheckoutPlace(machine, root, repository)
    before = await store.load_checkout(call.tx, session)
    others = await _list_others(call, session, place)
    state = CheckoutState(
        branch,
        head,
        None if files is None or tree else model.encode_names(files),
        None if shelved is None else model.encode_names(shelved),
        is_moving,
    )
    if not only_asks:
        await store.upsert_checkout(call.tx, session, place, state, call.now)
    asked = replace(place, root=tree or root)
    return model.CheckoutFacts(
        agent=session.agent,
        others=[model.CheckoutSession.from_row(row, asked.root) for row in others],
        files=await _list_owners(call, session, asked, files or []),
        moved_by=_find_mover(others, asked),
        known_branch=before["branch"] if before else "",
        known_head=before["head"] if before else "",
    )


@operation(
    "memory_report_prevented",
    writes=True,
    example={"kind": "command_denied", "what": "git stash", "files": ["src/cart.py"], "others": ["ben"]},
)
async def report_prevented(
    call: Call,
    kind: Annotated[model.PreventedKind, Field(description="What was prevented or done.")],
    what: Annotated[model.PreventedText, Field(description="The command, edit or commit, in short.")],
    files: model.PreventedFiles | None = None,
    others: model.PreventedAgents | None = None,
    rule: Annotated[model.PreventedText, Field(description="The rule that it broke.")] = "",
    rule_scope: Annotated[
        model.PreventedText, Field(description="The scope of that rule: `global` or the project.")
    ] = "",
) -> model.PreventedReport:
    """Report what a hook or the commit guard prevented, so that people can see it."""
    call.subject = f"{kind}: {what}"
    if rule:
        owner = access.ALL_PROJECTS if rule_scope == GLOBAL_SCOPE else call.project
        await count_rule_hit(call.tx, owner, rule, call.now)
    if kind == "conflict_predicted":
        await notify_agents(call.tx, call.project, others or [], what, call.now)
    call.emit(EVENTS[kind], what=what, files=files or [], others=others or [], rule=rule)
    return model.PreventedReport(status="reported")


async def _list_others(call: Call, session: AgentSession, place: CheckoutPlace) -> list[Row]:
    since = call.now - SESSION_LIVE_MICROSECONDS
    return [
        *await store.list_sessions_in_repository(call.tx, session, place, since),
        *await store.list_sessions_without_hooks(call.tx, session, place.root, since),
    ]


def _find_mover(others: Sequence[Row], place: CheckoutPlace) -> model.HeadMove | None:
    """The session that last moved the branch of this working tree."""
    moved = [row for row in others if row["root"] == place.root and row["moving_at"]]
    last = max(moved, key=lambda row: row["moving_at"], default=None)
    return model.HeadMove(agent=last["agent"], at=iso(last["moving_at"])) if last else None


async def _list_owners(
    call: Call, session: AgentSession, place: CheckoutPlace, files: Sequence[str]
) -> list[model.DirtyFile]:
    """Whose each file is: its last editor's, else its lease holder's.

    A file that the session itself edited last is somebody else's too while that one has leased lines of it here.
    """
    if not files:
        return []
    since = call.now - SESSION_LIVE_MICROSECONDS
    editors = await store.list_editors(call.tx, session.project, place, files, since)
    others = {file for file, row in editors.items() if row["session"] != session.id}
    leases = await _list_live_leases(call, session, [file for file in files if file not in others])
    tree = tag_working_tree(place.machine, place.root)
    here = [lease for lease in leases if lease.region is None or lease.region.tree in ("", tree)]
    sharing = [lease for lease in here if lease.region and lease.session != session.id]
    return [
        _owner_by_edit(file, editors[file], session)
        if file in editors and (file in others or not _find_holder(sharing, file))
        else _owner_by_lease(file, _find_holder(sharing if file in editors else here, file), session)
        for file in files
    ]


def _find_holder(leases: Sequence[Lease], file: str) -> Lease | None:
    """The last of those that cover the file."""
    return next((lease for lease in reversed(leases) if lease.covers_path(file)), None)


def _owner_by_edit(file: str, row: Row, session: AgentSession) -> model.DirtyFile:
    return model.DirtyFile(
        file=file,
        agent=row["agent"],
        mine=row["session"] == session.id,
        live=bool(row["live"]),
        at=iso(row["at"]),
    )


def _owner_by_lease(file: str, lease: Lease | None, session: AgentSession) -> model.DirtyFile:
    if lease is None:
        return model.DirtyFile(file=file)
    return model.DirtyFile(
        file=file,
        agent=lease.agent,
        mine=lease.session == session.id,
        live=True,
        at=iso(lease.granted_at),
        leased=True,
    )


async def _list_live_leases(call: Call, session: AgentSession, files: Sequence[str]) -> list[Lease]:
    """The leases on these files; those of the session itself last."""
    if not files:
        return []
    now, fold = await call.tx.clock(), await project_ignores_case(call.tx, session.project)
    requests = [LockRequest.from_path(file, "exclusive", fold) for file in files]
    leases = await list_candidate_leases(call.tx, session.project, requests, fold)
    shown = LeaseMoment(now, call.now)
    return sorted(
        (shown.move_to_wall(lease) for lease in leases if lease.blocks_others(now)),
        key=lambda lease: lease.session == session.id,
    )
