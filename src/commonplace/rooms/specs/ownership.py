"""Who may change a spec: its owner and admins of the project; and how everybody else gets it changed.

A spec whose owner has had no session for a week may be taken over, unless a key is bound to the owner's name: then the
name is somebody's, and an admin decides.
"""

from commonplace import errors
from commonplace.call import Call
from commonplace.clock import DAY
from commonplace.identity.liveness import AgentPresence, load_presence
from commonplace.project import is_project_admin
from commonplace.rooms.admin import store as keys
from commonplace.rooms.messages import sending
from commonplace.rooms.messages.contributes import MESSAGE_SENT
from commonplace.rooms.messages.model import MessageDraft
from commonplace.rooms.specs import model
from commonplace.store.database import Row

ABANDONED_AFTER = 7 * DAY
"""So long an owner is away before another agent may take its spec over."""


async def require_owner(call: Call, name: str, previous: Row | None, requested: str | None) -> str:
    """Return the spec's owner after this call; refuse if the caller may not change the spec or its owner."""
    current = previous["owner"] if previous else call.agent
    new_owner = requested or current
    if current == new_owner == call.agent:
        return new_owner
    if await is_project_admin(call.tx, call.project, call.caller, call.agent):
        return new_owner
    if current == call.agent:
        raise errors.Forbidden(
            "Only a project admin can set another owner.",
            hint="Omit owner to keep the spec yours.",
            owner=current,
        )
    presence = await load_presence(call.tx, call.project, current, call.now)
    is_abandoned = await _is_abandoned(call, presence, previous)
    if is_abandoned and requested == call.agent:
        await _mail_former_owner(call, name, current)
        return call.agent
    raise _refuse(call, name, presence, is_abandoned=is_abandoned)


async def describe_change(call: Call, spec: Row) -> str:
    """Tell a reader who is not the owner how to get the spec changed; an admin can change it."""
    owner = spec["owner"]
    if owner == call.agent or await is_project_admin(call.tx, spec["project"], call.caller, call.agent):
        return ""
    presence = await load_presence(call.tx, spec["project"], owner, call.now)
    return (
        f"Only {owner} or an admin can; {presence.describe(call.now)}."
        f" Propose it: {model.format_proposal_call(spec['name'], owner)}"
    )


async def _is_abandoned(call: Call, owner: AgentPresence, spec: Row | None) -> bool:
    """A person needs no session to publish a spec, so the last version counts as a sign of its owner, too."""
    last_sign = max(owner.last_active_at or 0, spec["updated_at"] if spec else 0)
    if owner.is_live or last_sign > call.now - ABANDONED_AFTER:
        return False
    return owner.agent not in await keys.list_bound_names(call.tx, call.project, "", call.now)


def _refuse(call: Call, name: str, owner: AgentPresence, *, is_abandoned: bool) -> errors.Forbidden:
    take_over = (
        f"To take it over, call again with owner='{call.agent}': {owner.agent} is told by mail. Or ask: "
        if is_abandoned
        else ""
    )
    return errors.Forbidden(
        f"'{name}' belongs to {owner.agent}; only its owner or a project admin can change it."
        f" {owner.describe(call.now)}.",
        hint=f"{take_over}{model.format_proposal_call(name, owner.agent)} gives {owner.agent} the text, to publish it"
        " with memory_define_spec. Until then go on with what does not need it.",
        owner=owner.agent,
    )


async def _mail_former_owner(call: Call, name: str, owner: str) -> None:
    draft = MessageDraft(
        project=call.project,
        sender=call.agent,
        sender_project=call.project,
        to=owner,
        body=f"I took over the spec '{name}' and published a new version: you had no session for a week."
        " memory_get_spec has it, with what changed since you read it.",
        subject=f"Spec {name} has a new owner",
        priority="normal",
        category="contract",
        require_human=False,
    )
    row = await sending.insert_message(call.tx, draft, [owner], call.now)
    call.emit(MESSAGE_SENT, {"agent": owner}, audience=f"inbox:{owner}", id=row["id"], priority="normal")
