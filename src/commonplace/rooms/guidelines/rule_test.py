"""`memory_rule_test`: which rules would fire for a command, an edit, a commit, a prompt or a stop."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field

from commonplace import access, errors
from commonplace.call import Call
from commonplace.client.git.file_writes import list_written_paths
from commonplace.client.git.shell_parser import parse_line
from commonplace.clock import iso
from commonplace.operation import operation
from commonplace.rooms.guidelines import model, store
from commonplace.rules.rule import Rule, read_rule
from commonplace.rules.rule_check import RuleFacts, list_fired

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
        parsed = parse_line(self.line, "/")
        return [path.lstrip("/") for command in parsed.commands for path in list_written_paths(command)]


@operation("memory_rule_test", role="readonly", session="optional", example={"command": "git push --force"})
async def rule_test(
    call: Call,
    command: TestedText | None = None,
    file: TestedPath | None = None,
    text: TestedText | None = None,
    on: Literal["edit", "command", "commit", "prompt", "stop"] | None = None,
    scope: model.GuidelineScope | None = None,
) -> model.RuleTest:
    """Test enforced guidelines: would rules fire."""
    project = call.resolve_project(scope) if scope and scope != model.GLOBAL_SCOPE else call.project
    occasion = on or ("command" if command else "edit" if file else "")
    if not occasion:
        raise errors.Invalid(
            "Nothing to test.", hint="Pass `command`, or `file` (and `text`), or `on` with `text`."
        )
    rows = await store.list_enforced_guidelines(call.tx, [access.ALL_PROJECTS, project])
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
