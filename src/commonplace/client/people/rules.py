"""`commonplace rule`: list the rules that hold, add one, test one, remove one, and propose some from what people denied."""

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.client.people import terminal
from commonplace.client.people.person import CallOperation, choose_project, open_session, require_project
from commonplace.client.people.terminal import TableRow
from commonplace.client.project import find_repository

_TITLES = ("RULE", "SCOPE", "ON", "DO", "HITS", "BY", "UNTIL", "WHAT")
_TEST_TITLES = ("RULE", "SCOPE", "DO", "BY", "SAYS")
_PROPOSAL_TITLES = ("TIMES", "DENIED", "PROPOSAL")
_GLOBAL = "global"
_SHARED = "shared"


def run(arguments: argparse.Namespace, call: CallOperation) -> int:
    return _ACTS[arguments.act](arguments, call)


def _list_rules(arguments: argparse.Namespace, call: CallOperation) -> int:
    project = choose_project(arguments)
    scope = {"scope": project} if project else {}
    reply = call("memory_guidelines", {"action": "list", **scope})
    rules = [each for each in reply["guidelines"] if each.get("enforce")]
    if arguments.json:
        terminal.print_json({"count": len(rules), "rules": rules})
        return 0
    terminal.print_table(_TITLES, [_build_row(rule) for rule in rules])
    if not rules:
        terminal.print_note(
            'No rules. Add one: commonplace rule add NAME --command "git push --force|-f" --say TEXT --reason TEXT'
        )
    return 0


def _build_row(rule: dict[str, Any]) -> TableRow:
    enforce = rule["enforce"]
    cells = (
        rule["name"],
        rule["scope"],
        ",".join(enforce["on"]),
        enforce["do"] + ("+hold" if enforce.get("hold") else ""),
        str(rule.get("hits", 0)),
        rule.get("enforced_by") or "-",
        enforce.get("expires", "")[:10] or "never",
        _describe_match(enforce),
    )
    return TableRow(cells, {"says": enforce.get("say") or rule["rule"], "reason": enforce.get("reason", "")})


def _describe_match(enforce: dict[str, Any]) -> str:
    parts = [
        f"{name} {', '.join(value) if isinstance(value, list) else value}"
        for name, value in enforce.get("match", {}).items()
    ]
    unless = enforce.get("unless", {})
    exceptions = [
        f"{name} {', '.join(value) if isinstance(value, list) else value}" for name, value in unless.items()
    ]
    return " and ".join(parts or ["always"]) + (f" unless {', '.join(exceptions)}" if exceptions else "")


def _add_rule(arguments: argparse.Namespace, call: CallOperation) -> int:
    enforce = _build_enforcement(arguments)
    if enforce["do"] in ("deny", "ask"):
        _require_person("A rule that prevents something")
    values = {"action": "set", "name": arguments.name, "rule": arguments.say, "enforce": enforce}
    reply = _write(arguments, call, values)
    if arguments.json:
        terminal.print_json(reply)
    else:
        print(f"{reply['status']}\t{reply['scope']}\t{reply['name']}")
        terminal.print_note("Sessions get it with their next reply. Try it: commonplace rule test COMMAND")
    return 0


def _build_enforcement(arguments: argparse.Namespace) -> dict[str, Any]:
    """What is left out is left out: the server knows the defaults and explains what is missing."""
    match = {
        "tool": arguments.tool,
        "path": arguments.path,
        "command": arguments.command,
        "text": arguments.text,
    }
    unless = {
        "ran": arguments.unless_ran,
        "within": arguments.within,
        "branch": arguments.unless_branch,
        "role": arguments.unless_role,
    }
    given = {
        "on": arguments.on or ["command" if arguments.command else "edit"],
        "match": _drop_empty(match),
        "unless": _drop_empty(unless),
        "do": arguments.do,
        "reason": arguments.reason,
        "hold": arguments.hold,
        "expires": arguments.expires,
    }
    return _drop_empty(given)


def _drop_empty(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def _write(arguments: argparse.Namespace, call: CallOperation, values: dict[str, Any]) -> dict[str, Any]:
    """Call as this person, so that the rule has an author whom agents can write to."""
    project = _SHARED if arguments.all else require_project(arguments)
    with open_session(call, project) as call_in_session:
        return call_in_session("memory_guidelines", values | {"scope": _GLOBAL if arguments.all else project})


def _require_person(what: str) -> None:
    from commonplace.client.checkout.acting_author import runs_for_agent  # only these acts ask

    if runs_for_agent():
        raise errors.Forbidden(
            f"{what} is set by a person, and this is an agent's shell.",
            hint="Tell a person which rule you propose and why; they run this command in a terminal of their own.",
        )


def _remove_rule(arguments: argparse.Namespace, call: CallOperation) -> int:
    _require_person("The removal of a rule")
    reply = _write(arguments, call, {"action": "delete", "name": arguments.name})
    if arguments.json:
        terminal.print_json(reply)
    else:
        print(f"{reply['status']}\t{reply['scope']}\t{reply['name']}")
    return 0


def _test_rules(arguments: argparse.Namespace, call: CallOperation) -> int:
    """The exit code is 0 if nothing fires that prevents it, else 1."""
    values = {
        "command": arguments.line,
        "file": arguments.file,
        "text": arguments.text,
        "on": arguments.on,
        "scope": choose_project(arguments),
    }
    reply = call("memory_rule_test", _drop_empty(values))
    if arguments.json:
        terminal.print_json(reply)
    else:
        rows = [_build_test_row(rule) for rule in reply["fires"]]
        terminal.print_table(_TEST_TITLES, rows)
        if not rows:
            terminal.print_note("No rule fires.")
    return int(any(rule["do"] in ("deny", "ask") for rule in reply["fires"]))


def _build_test_row(rule: dict[str, Any]) -> TableRow:
    unless = rule.get("unless", {})
    excuse = f"{', '.join(unless['ran'])} succeeded within {unless['within']}" if unless else ""
    return TableRow(
        (rule["rule"], rule["scope"], rule["do"], rule["by"] or "-", rule["say"]),
        {"reason": rule.get("reason", ""), "unless": excuse},
    )


def _propose_rules(arguments: argparse.Namespace, _call: CallOperation) -> int:
    from commonplace.client.rules.denial_proposals import (  # reads every transcript
        MIN_DENIALS,
        list_proposals,
    )

    root = None if arguments.all else find_repository(Path.cwd())
    proposals = list_proposals(arguments.days, root)
    if arguments.json:
        terminal.print_json({"proposals": [proposal._asdict() for proposal in proposals]})
        return 0
    rows = [
        TableRow((str(proposal.times), proposal.example, _render_command(proposal.name, proposal.enforce)))
        for proposal in proposals
    ]
    terminal.print_table(_PROPOSAL_TITLES, rows)
    if not rows:
        where = "anywhere" if root is None else "in this repository"
        terminal.print_note(f"Nothing was denied {MIN_DENIALS} times {where} in {arguments.days} days.")
    return 0


def _render_command(name: str, enforce: dict[str, Any]) -> str:
    kind, what = next(iter(enforce["match"].items()))
    words = ["commonplace", "rule", "add", name, f"--{kind}", what, "--do", enforce["do"]]
    words += ["--reason", enforce["reason"], "--say", "WHAT TO DO INSTEAD"]
    return shlex.join(words)


_ACTS: dict[str, Callable[[argparse.Namespace, CallOperation], int]] = {
    "list": _list_rules,
    "add": _add_rule,
    "test": _test_rules,
    "remove": _remove_rule,
    "from-denials": _propose_rules,
}
