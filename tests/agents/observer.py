"""What the server says about the team, seen by an agent that only looks."""

from collections import Counter
from pathlib import Path
from typing import Any

from commonplace.beacon import read_beacon
from product import Product

_NAME, _PROJECT = "observer", "webstore"


class Observer:
    def __init__(self, server: Product, key: str, data: Path) -> None:
        self._server, self._key, self._data = server, key, data
        start = server.call("memory_start_session", key, project=_PROJECT, claude_instance=_NAME)
        self._session_id = start["session_id"]

    def _look(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self._server.call(operation, self._key, session_id=self._session_id, **arguments)

    def create_blackboard(self) -> str:
        board = self._server.call(
            "create_session", self._key, agent_session=self._session_id, purpose="the cart"
        )
        return str(board["session_id"])

    def list_agents(self) -> set[str]:
        agents = self._look("memory_list_agents")["agents"]
        return {agent["instance"] for agent in agents} - {_NAME}

    def list_live_agents(self) -> set[str]:
        """Agents with a session that has not ended."""
        agents = self._look("memory_get_agent_status")["agents"]
        return {agent["instance"] for agent in agents if agent["sessions"]} - {_NAME}

    def list_locks(self) -> dict[str, str]:
        """Who holds which file."""
        return {lock["file"]: lock["held_by"] for lock in self._look("memory_get_locks")["locks"]}

    def list_matches(self, query: str) -> list[str]:
        """Snippets of archived transcripts."""
        matches = self._server.call("search_sessions", self._key, query=query)["matches"]
        return [match["snippet"] for match in matches]

    def count_prevented(self) -> Counter[tuple[str, str]]:
        """How often each agent was kept from something, by the kind of it."""
        prevented = self._look("memory_get_live_state")["prevented"]
        return Counter((entry["kind"], entry["agent"]) for entry in prevented)

    def list_requests(self) -> dict[str, dict[str, Any]]:
        """What programs wait for, by the first line that a person sees; not the next prompt."""
        requests = self._look("memory_list_requests")["requests"]
        waiting = [request for request in requests if request["kind"] != "idle"]
        return {request["text"].partition("\n")[0]: request for request in waiting}

    def act_as_operator(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """As the person who runs the server does on their command line: an agent may not do everything."""
        token = str(read_beacon(self._data)["token"])
        return self._server.call(operation, token, **arguments)
