"""Who asks, and about which project: shared by the commands of a person."""

import argparse
import contextlib
import getpass
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.client.project import find_project_setting, find_repository, project_of_folder

CallOperation = Callable[[str, Mapping[str, Any]], dict[str, Any]]

_MIN_TOKEN_BUDGET = 300
_NOT_NAME = re.compile(r"[^\w.@:+-]+")


def choose_project(arguments: argparse.Namespace) -> str | None:
    """The project that is named, else that of this folder; None for every project."""
    if arguments.all:
        return None
    if arguments.project:
        return str(arguments.project)
    folder = Path.cwd()
    is_project = find_repository(folder) or find_project_setting(folder, "project")
    return project_of_folder(folder) if is_project or os.environ.get("COMMONPLACE_PROJECT") else None


def require_project(arguments: argparse.Namespace) -> str:
    project = choose_project(arguments)
    if project is None:
        raise errors.Invalid("This folder is not in a repository.", hint="Name the project: --project P")
    return project


def list_projects(call: CallOperation) -> list[dict[str, Any]]:
    """The overview of every project that the caller may see; names are spelled as the server does."""
    projects: list[dict[str, Any]] = call("memory_list_projects", {"limit": 200})["projects"]
    return projects


def find_item(
    call: CallOperation, item_id: str, project: str | None, *, looks_elsewhere: bool = True
) -> dict[str, Any]:
    """What an id stands for: in this project, else in any other that the caller may see."""
    others = [item["project"] for item in list_projects(call)] if looks_elsewhere else []
    for candidate in dict.fromkeys([*([project] if project else []), *others]):
        item = call("memory_get_by_id", {"doc_id": item_id, "project": candidate})
        if item["found"]:
            return item
    raise errors.NotFound(
        f"There is no '{item_id}' that you may read.",
        hint="Find ids with: commonplace search WORDS, or commonplace backlog --done",
    )


def find_own_name(call: CallOperation) -> str:
    """The agent that the key is bound to, else COMMONPLACE_AGENT, else the name of the key, else the login name."""
    status = call("memory_admin", {"action": "auth_status"})
    bound, key_name = ("", "") if status.get("operator") else (status.get("agent"), status.get("name"))
    login = _NOT_NAME.sub("-", getpass.getuser()).strip("-")
    return str(bound or os.environ.get("COMMONPLACE_AGENT") or key_name or login)


@contextlib.contextmanager
def open_session(call: CallOperation, project: str) -> Iterator[CallOperation]:
    """Calls in a session of this person, which ends with the command: what is written needs an author."""
    name = find_own_name(call)
    start = {"project": project, "claude_instance": name, "token_budget": _MIN_TOKEN_BUDGET}
    session_id = call("memory_start_session", start)["session_id"]
    try:
        yield lambda operation, values: call(operation, {"session_id": session_id, **values})
    except errors.Refusal:
        with contextlib.suppress(errors.Refusal):  # what was refused first is the news
            call("memory_end_session", {"session_id": session_id, "summary": ""})
        raise
    call("memory_end_session", {"session_id": session_id, "summary": ""})
