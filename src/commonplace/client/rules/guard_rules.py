"""Rules on `commit` in the commit guard. An agent's commit is refused; a person at a terminal is only warned."""

from typing import TYPE_CHECKING, NamedTuple

from commonplace.client.checkout import git_program as git
from commonplace.client.rules import rule_reports
from commonplace.client.rules.commit_facts import CommitFacts
from commonplace.client.rules.event_rules import ask_server
from commonplace.client.rules.rule_answer import describe_subject, render_denial, render_head
from commonplace.rules.rule_check import list_fired

if TYPE_CHECKING:
    from commonplace.client.companion.hook_run import HookRun


class BrokenRules(NamedTuple):
    denials: list[str]
    warnings: list[str]


def check_commit(hook_run: "HookRun", *, is_person: bool) -> BrokenRules:
    """What the rules say about the staged changes; without a server only those marked `hold` refuse."""
    is_answered = ask_server(hook_run)
    rules = [rule for rule in hook_run.rules.load() if "commit" in rule.on]
    if not rules:
        return BrokenRules([], [])
    facts = CommitFacts(hook_run, str(git.worktree_root()), hook_run.rules.role)
    denials, warnings = list[str](), list[str]()
    for rule in list_fired(rules, facts):
        is_refused = rule.do in rule_reports.PREVENTING and not is_person and (rule.hold or is_answered)
        if is_refused:
            rule_reports.report_fired(hook_run, rule, describe_subject(facts), list(facts.files))
            denials.append(render_denial(rule))
        else:
            warnings.append(render_head(rule))
    return BrokenRules(denials, warnings)
