"""The rules that hooks enforce: who may set one, what a hook is sent, and which would fire.

What a rule is: `rules/`. Rules come from memory_guidelines alone: nothing that agents store, import or say becomes one.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field

from commonplace import access, errors
from commonplace.call import Call
from commonplace.clock import SECOND, iso
from commonplace.operation import operation
from commonplace.rooms.guidelines import model, store
from commonplace.rules.rule import Rule, read_rule
from commonplace.rules.rule_check import RuleFacts, list_fired
from commonplace.rules.rule_schema import PERSONS_EFFECTS, validate_enforcement
from commonplace.rules.shell_line import split_line
from commonplace.rules.written_paths import list_written_paths
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
    rows = await store.list_guidelines_of_projects(call.tx, projects, enforced_only=True) if versions else []
    return model.RuleSet(
        version=version,
        project=project,
        role=call.caller.role,
        rules=[model.StoredRule.from_row(row) for row in rows],
    )


LOAD_RULES = load_rules
"""Run after a call of a hook (`edges/rest.py`), so that new rules ride on its reply."""


TestedText = Annotated[str, Field(max_length=10_000)]
TestedPath = Annotated[str, Field(max_length=4_096)]

_NONE_FIRE = "No rule fires."


class _TestedFacts(RuleFacts):
    """As if no command had run: the reply names the command that would excuse. Paths count from the repository's root."""

    @property
    def files(self) -> Sequence[str]:
        # A pattern is not expanded: the files are on the machine of the agent.
        if self.on != "command" or set("*?[") & set(self.line):
            return super().files
        commands = split_line(self.line, "/")
        return [path.lstrip("/") for command in commands for path in list_written_paths(command)]


@operation(
    "memory_rule_test",
    role="readonly",
    session="optional",
    example={"command": "git push --force"},
    keywords="would rules fire",
)
async def rule_test(
    call: Call,
    command: TestedText | None = None,
    file: TestedPath | None = None,
    text: TestedText | None = None,
    on: Literal["edit", "command", "commit", "prompt", "stop"] | None = None,
    scope: model.GuidelineScope | None = None,
) -> model.RuleTest:
    """Test which enforced guidelines would stop a command or an edit."""
    project = call.resolve_project(scope) if scope and scope != model.GLOBAL_SCOPE else call.project
    occasion = on or ("command" if command else "edit" if file else "")
    if not occasion:
        raise errors.Invalid(
            "Nothing to test.", hint="Pass `command`, or `file` (and `text`), or `on` with `text`."
        )
    rows = await store.list_guidelines_of_projects(
        call.tx, [access.ALL_PROJECTS, project], enforced_only=True
    )
    rules = [_read_row(row) for row in rows]
    facts = _TestedFacts(
        occasion,
        files=[file] if file else [],
        line=command or "",
        text=text or "",
        branch=call.caller.branch,
        role=call.caller.role,
    )
    fired = list_fired(rules, facts, iso(call.now))
    return model.RuleTest(fires=[_describe_rule(rule) for rule in fired], message="" if fired else _NONE_FIRE)


def _read_row(row: Any) -> Rule:
    return read_rule(msgspec.to_builtins(model.StoredRule.from_row(row)))


def _describe_rule(rule: Rule) -> model.FiredRule:
    unless = {"ran": list(rule.ran), "within": rule.within} if rule.ran else {}
    return model.FiredRule(
        rule=rule.name,
        scope=rule.scope,
        do=rule.do,
        say=rule.text,
        by=rule.author,
        reason=rule.reason,
        unless=unless,
    )
