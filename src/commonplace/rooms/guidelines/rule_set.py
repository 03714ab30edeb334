"""The rules that hooks enforce: who may set one, and what a hook is sent.

What a rule is: `rules/`. Rules come from memory_guidelines alone: nothing that agents store, import or say becomes one.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from pydantic import Field

from commonplace import access, errors
from commonplace.call import Call
from commonplace.clock import SECOND
from commonplace.operation import operation
from commonplace.rooms.guidelines import model, store
from commonplace.rules.rule_schema import PERSONS_EFFECTS, validate_enforcement
from commonplace.store.database import Row

MAX_VERSION_CHARACTERS = 40

RuleVersion = Annotated[str, Field(max_length=MAX_VERSION_CHARACTERS)]


def prepare_enforcement(call: Call, given: dict[str, Any] | None, existing: Row | None) -> str:
    """What a guideline enforces, validated and encoded; empty if that is not said."""
    if existing is not None and existing["enforce"]:
        require_right_to_change(call, existing)
    if given is None:
        return ""
    enforcement = validate_enforcement(given, datetime.fromtimestamp(call.now / SECOND, UTC))
    if enforcement["do"] in PERSONS_EFFECTS:
        _require_person(call, f"A rule that does `{enforcement['do']}`")
    return msgspec.json.encode(enforcement).decode()


def require_right_to_change(call: Call, row: Row) -> None:
    """Whoever may not set a rule that prevents something may not weaken one either."""
    if model.decode_enforcement(row["enforce"])["do"] in PERSONS_EFFECTS:
        _require_person(call, f"To change the rule '{row['name']}'")


def _require_person(call: Call, what: str) -> None:
    if not call.caller.decides_for_others:
        raise errors.Forbidden(
            f"{what} takes a person or a key with the role admin: it binds every agent of the team.",
            hint="Ask a person to run `commonplace rule add` or to use the page; `warn` and `inject` need none.",
        )


@operation("rules", role="readonly", session=False)
async def load_rules(call: Call, project: str, known: RuleVersion) -> model.RuleSet:
    """The rules of a project and the global ones, if their version is not the known one."""
    projects = [access.ALL_PROJECTS, project]
    versions = await store.list_rule_versions(call.tx, projects)
    version = ".".join(versions.get(name, "") for name in projects)
    if version == known:
        return model.RuleSet()
    rows = await store.list_enforced_guidelines(call.tx, projects) if versions else []
    return model.RuleSet(
        version=version,
        project=project,
        role=call.caller.role,
        rules=[model.StoredRule.from_row(row) for row in rows],
    )


LOAD_RULES = load_rules
"""Run after a call of a hook (`edges/rest.py`), so that new rules ride on its reply."""
