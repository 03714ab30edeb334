"""What the server says about the team, seen by an agent that only looks."""

from typing import Any

from product import Product

_NAME = "observer"


class Observer:
    def __init__(self, server: Product) -> None:
        self._server = server
        self._session = server.call("memory_start_session", project="webstore", claude_instance=_NAME)

    def _look(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self._server.call(operation, session_id=self._session["session_id"], **arguments)

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
        matches = self._server.call("search_sessions", query=query)["matches"]
        return [match["snippet"] for match in matches]
