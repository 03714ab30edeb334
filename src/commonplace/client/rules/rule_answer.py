"""What a hook answers when a rule fires: prevent, ask, warn or add words, the same words in every program.

Before it prevents anything, the hook asks the server whether the rule still exists. Without an answer only rules marked
`hold` decide.
"""

from typing import TYPE_CHECKING

from commonplace.client.companion.hook_event import AgentHooks, HookAnswer
from commonplace.client.rules import command_runs, rule_reports
from commonplace.client.rules.event_rules import ask_server
from commonplace.client.rules.hook_facts import HookFacts, PatchFacts
from commonplace.quoting.hidden_characters import quote_line
from commonplace.rules.command_pattern import parse_pattern
from commonplace.rules.rule import Rule
from commonplace.rules.rule_check import RuleFacts, list_fired, may_match

if TYPE_CHECKING:
    from commonplace.client.companion.hook_run import HookRun

_MAX_BLOCKED_STOPS = 3
"""How often in a row a rule keeps an agent from stopping: one that cannot comply must be able to end."""
_PATCH_BEGIN = "*** Begin Patch"
_AWAY_TEXT = "(It was not enforced: no server answers, and the rule is not marked `hold`.)"
_UNNAMED_AUTHORS = ("", "operator", "anonymous")


def check_rules(hook_run: "HookRun", hooks: AgentHooks, on: str) -> HookAnswer:
    rules = hook_run.rules.load()
    is_awaited = _note_event(hook_run, rules, on)
    situations = _list_situations(hook_run, rules, on)
    fired = _list_fired(rules, situations)
    if hook_run.event.kind in hooks.denying_kinds:
        if any(rule.do in rule_reports.PREVENTING for rule, _ in fired):
            answer = _decide(hook_run, hooks, situations)
            if answer.denial:
                return answer
            fired = [(rule, facts) for rule, facts in fired if rule.do not in rule_reports.PREVENTING]
        elif on == "stop":
            hook_run.state.clear_blocked_stops()
    return _tell(hook_run, fired)._replace(reports_end=is_awaited)


def _list_situations(hook_run: "HookRun", rules: list[Rule], on: str) -> list[RuleFacts]:
    """What is about to happen; a command that commits or applies a patch is both."""
    facts, role = HookFacts(hook_run, on), hook_run.rules.role
    situations: list[RuleFacts] = [facts]
    if on == "command" and _PATCH_BEGIN in facts.line:
        patch = PatchFacts(hook_run)
        situations += [patch] if patch.files else []
    if on == "command" and any("commit" in rule.on for rule in rules) and may_commit(facts.line):
        from commonplace.client.rules.commit_facts import LineCommitFacts  # few commands commit

        commit = LineCommitFacts(hook_run, facts.split, role)
        situations += [commit] if commit.commits else []
    for situation in situations:
        situation.role = role
    return situations


def may_commit(line: str) -> bool:
    return may_match(parse_pattern("git commit"), line)


def _list_fired(rules: list[Rule], situations: list[RuleFacts]) -> list[tuple[Rule, RuleFacts]]:
    return [(rule, facts) for facts in situations for rule in list_fired(rules, facts)]


def _decide(hook_run: "HookRun", hooks: AgentHooks, situations: list[RuleFacts]) -> HookAnswer:
    """Prevent what is about to happen, if the rule still exists; without a server, if it is marked `hold`."""
    is_answered = ask_server(hook_run)
    preventing = [
        (rule, facts)
        for rule, facts in _list_fired(hook_run.rules.load(), situations)
        if rule.do in rule_reports.PREVENTING
    ]
    deciding = [(rule, facts) for rule, facts in preventing if rule.hold or is_answered]
    if deciding and not _gives_up(hook_run, *deciding[0]):
        return _prevent(hook_run, hooks, *deciding[0])
    if not deciding:
        hook_run.context += [f"{render_head(rule)} {_AWAY_TEXT}" for rule, _ in preventing]
    return HookAnswer()


def _note_event(hook_run: "HookRun", rules: list[Rule], on: str) -> bool:
    """Remember what later rules may ask about: commands for `unless.ran`, edited files for `stop`.

    Whether it is a command whose end matters.
    """
    if on == "command" and command_runs.is_asked_for(rules, hook_run.event.command):
        command_runs.note_start(hook_run)
        return True
    if on == "edit" and any("stop" in rule.on and rule.paths for rule in rules):
        hook_run.state.add_edited_files(list(HookFacts(hook_run, on).files))
    return False


def _gives_up(hook_run: "HookRun", rule: Rule, facts: RuleFacts) -> bool:
    """Whether a rule has kept the agent from stopping often enough."""
    if facts.on != "stop":
        return False
    blocked = hook_run.state.count_blocked_stops()
    if blocked < _MAX_BLOCKED_STOPS:
        hook_run.state.add_blocked_stop()
        return False
    hook_run.state.clear_blocked_stops()
    hook_run.context.append(f"{render_head(rule)} (It stopped you {blocked} times; the turn ends now.)")
    return True


def _prevent(hook_run: "HookRun", hooks: AgentHooks, rule: Rule, facts: RuleFacts) -> HookAnswer:
    files = [file for file in facts.files if rule.paths][:50]
    rule_reports.report_fired(hook_run, rule, describe_subject(facts), files)
    asks = rule.do == "ask" and hook_run.event.kind in hooks.asking_kinds
    return HookAnswer(denial=render_denial(rule, asks=asks), asks=asks)


def _tell(hook_run: "HookRun", fired: list[tuple[Rule, RuleFacts]]) -> HookAnswer:
    """Add the words of rules that only warn or inject; a warning is also shown to the person."""
    warnings = []
    for rule, facts in fired:
        rule_reports.report_fired(hook_run, rule, describe_subject(facts), [], prevents=False)
        if rule.do == "inject":
            hook_run.context.append(rule.text)
        else:
            warnings.append(render_head(rule))
    return HookAnswer(warning="\n".join(warnings))


def describe_subject(facts: RuleFacts) -> str:
    """What was about to happen, in short."""
    if facts.on == "command":
        return facts.line
    if facts.on in ("edit", "commit"):
        return f"{facts.on} of {', '.join(list(facts.files)[:5])}"
    return str(facts.on)


def render_head(rule: Rule) -> str:
    return f'Rule "{quote_line(rule.name)}" by {rule.author or "an admin"} ({rule.scope}): {quote_line(rule.text)}'


def render_denial(rule: Rule, *, asks: bool = False) -> str:
    """The rule, its author, its reason, and how to object."""
    addressee = "@admins" if rule.author in _UNNAMED_AUTHORS else rule.author
    lines = [render_head(rule)]
    if rule.reason:
        lines.append(f"Reason: {quote_line(rule.reason)}")
    if rule.ran:
        lines.append(
            f"It does not apply for {rule.within} after `{'` or `'.join(rule.ran)}` has succeeded; run it as a command"
            " of its own, without a pipe, so that its exit code is known."
        )
    if rule.expires:
        lines.append(f"It holds until {rule.expires[:10]}.")
    if asks:
        return "\n".join(lines)
    if rule.do == "ask":
        lines.append(
            "A person must approve it, and this program cannot ask: tell them what you need and why."
        )
    lines.append(
        "Nothing was done. Do not work around it. To object:"
        f' memory_send_message(to_instance="{addressee}", subject="rule {quote_line(rule.name)}", message=...)'
    )
    return "\n".join(lines)
