"""`commonplace answer`: what agents wait for, and a person's answer from a terminal.

An agent must not answer itself: the command refuses to run in an agent's shell, and the server takes answers of people
only (`rooms/requests/people.py`). What is printed here is what the answer is bound to.
"""

import argparse
import sys
from typing import Any

from commonplace import errors
from commonplace.client.people import terminal
from commonplace.client.people.person import CallOperation, choose_project
from commonplace.client.people.terminal import TableRow

_TITLES = ("ID", "AGENT", "PROJECT", "KIND", "SINCE", "WHAT")
_DECISIONS = {
    "allow": "allow",
    "yes": "allow",
    "approve": "allow",
    "deny": "deny",
    "no": "deny",
    "decline": "deny",
}


def run(arguments: argparse.Namespace, call: CallOperation) -> int:
    _require_person()
    # Whoever names a request means that one, whatever the folder.
    project = arguments.project if arguments.id else choose_project(arguments)
    requests = call("memory_list_requests", {"project": project} if project else {})["requests"]
    if arguments.id:
        return _answer_one(arguments, call, _find_request(requests, arguments.id))
    if arguments.json:
        terminal.print_json({"requests": requests})
        return 0
    waiting = [request for request in requests if request["kind"] != "idle"]
    if sys.stdin.isatty() and sys.stdout.isatty() and any(request.get("can_answer") for request in waiting):
        return _answer_in_turn(call, [request for request in waiting if request.get("can_answer")])
    terminal.print_table(_TITLES, [_build_row(request) for request in requests])
    if not requests:
        terminal.print_note("Nobody is waiting for you.")
    return 0


def _require_person() -> None:
    from commonplace.client.checkout.acting_author import runs_for_agent  # only this command asks

    if runs_for_agent():
        raise errors.Forbidden(
            "Only people answer requests of agents, and this is an agent's shell.",
            hint="Answer on the page (`commonplace open`) or in a terminal of your own.",
        )


def _find_request(requests: list[dict[str, Any]], prefix: str) -> dict[str, Any]:
    found = [request for request in requests if request["id"].startswith(prefix)]
    if len(found) != 1:
        raise errors.NotFound(
            f"{'Several requests start' if found else 'No open request starts'} with '{prefix}'.",
            hint="List them with: commonplace answer --all",
        )
    return found[0]


def _answer_one(arguments: argparse.Namespace, call: CallOperation, request: dict[str, Any]) -> int:
    _print_request(request)
    if not arguments.answer:
        return 0
    given = _build_answer(request, arguments.answer, arguments.note or "")
    _send(call, request, given)
    return 0


def _build_answer(request: dict[str, Any], words: list[str], note: str) -> dict[str, Any]:
    more = {"note": note} if note else {}
    if request["kind"] == "question":
        if len(words) == 1 and words[0] in ("deny", "decline") and not _is_option(request, words[0]):
            return {"decision": "deny", **more}
        return {"decision": "answer", "answers": words, **more}
    decision = _DECISIONS.get(words[0].lower()) if len(words) == 1 else None
    if decision is None:
        raise errors.Invalid(
            f"'{' '.join(words)}' does not answer a {request['kind']}.",
            hint="Write allow or deny, and --note TEXT.",
        )
    return {"decision": decision, **more}


def _is_option(request: dict[str, Any], word: str) -> bool:
    return any(option["label"] == word for item in request["questions"] for option in item.get("options", []))


def _send(call: CallOperation, request: dict[str, Any], given: dict[str, Any]) -> None:
    bound = {"project": request["project"], "request_id": request["id"], "shown": request["shown"]}
    call("memory_answer_request", bound | given)
    print(f"{request['id']}\tanswered")


def _answer_in_turn(call: CallOperation, requests: list[dict[str, Any]]) -> int:
    """Ask about each request; an empty line skips it."""
    for request in requests:
        _print_request(request)
        try:
            given = _ask(request)
        except EOFError:
            print()
            return 0
        if given is None:
            continue
        try:
            _send(call, request, given)
        except errors.Conflict as refusal:
            terminal.print_note(refusal.message)
    return 0


def _ask(request: dict[str, Any]) -> dict[str, Any] | None:
    if request["kind"] == "question":
        answers = [
            terminal.ask(f"{terminal.clean_line(item['question'])[:60]} > ").strip()
            for item in request["questions"]
        ]
        answers = [_pick_option(item, text) for item, text in zip(request["questions"], answers, strict=True)]
        return {"decision": "answer", "answers": answers} if all(answers) else None
    word = terminal.ask("[a]llow, [d]eny, Enter: later > ").strip().lower()
    decision = {"a": "allow", "d": "deny"}.get(word) or _DECISIONS.get(word)
    if decision is None:
        return None
    note = terminal.ask("Note (optional) > ").strip() if decision == "deny" else ""
    return {"decision": decision, **({"note": note} if note else {})}


def _pick_option(item: dict[str, Any], text: str) -> str:
    """The option of this number, else the text itself."""
    options = [option["label"] for option in item.get("options", [])]
    if text.isdecimal() and 0 < int(text) <= len(options):
        return str(options[int(text) - 1])
    return text


def _print_request(request: dict[str, Any]) -> None:
    where = " ".join(filter(None, (request.get("tool"), request.get("machine"), request.get("directory"))))
    title = f": {request['title']}" if request.get("title") else ""
    print(
        terminal.clean_line(
            f"{request['id']}  {request['agent']} in {request['project']} ({request['kind']}{title})"
        )
    )
    if where:
        print(f"  {terminal.clean_line(where)}")
    for line in terminal.clean_text(request.get("text", "")).splitlines():
        print(f"  | {line}")
    for item in request.get("questions", []):
        print(f"  ? {terminal.clean_line(item['question'])}")
        for number, option in enumerate(item.get("options", []), 1):
            about = f"  ({option['description']})" if option.get("description") else ""
            print(f"    {number}. {terminal.clean_line(option['label'] + about)}")
    if not request.get("can_answer"):
        terminal.print_note("  It takes no answer from here: answer in its own window.")


def _build_row(request: dict[str, Any]) -> TableRow:
    asked = " / ".join(item["question"] for item in request.get("questions", []))
    what = " ".join(filter(None, (request.get("title"), request.get("text"), asked)))
    kind = (
        request["kind"]
        if request.get("can_answer") or request["kind"] == "idle"
        else f"{request['kind']} (there)"
    )
    return TableRow((request["id"], request["agent"], request["project"], kind, request["since"], what))
