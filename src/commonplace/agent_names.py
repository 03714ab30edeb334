"""What the rooms store under the name of an agent, and how it follows when the agent gets another name.

A room lists every column that holds an agent's name in its `Room`; tests/rooms/test_agent_names.py fails for one that is
not listed. `rooms/sessions/identity.py` decides when an agent is renamed, and to what.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from commonplace.access import Caller
from commonplace.store.database import Tx

Follows = Literal["session", "agent", "room", "never"]
"""What a rename does with a column.

`session`: it is rewritten in the rows of the renamed sessions. `agent`: in all rows of the agent. `room`: the room's
`on_rename` does it. `never`: the column records the past, under the name of that time.
"""


@dataclass(frozen=True, slots=True)
class AgentColumn:
    table: str
    column: str
    follows: Follows

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(frozen=True, slots=True)
class AgentRename:
    """An agent of a project gets another name. The new name may be known already: then the two become one.

    The result is as if both had been one agent from the start: of two values, deliveries or bindings for the same thing
    the later one stays.
    """

    caller: Caller
    project: str
    sessions: tuple[str, ...]
    """The sessions that get the name: the one that asked, and those of its agent that are idle."""
    old: str
    new: str
    old_owner: str
    new_owner: str
    """The names under which private things are stored (`audience.py`)."""
    moves_agent: bool
    """False if another window still works under the old name: then only the session is renamed."""
    moves_private: bool
    """False also if the same key uses the old name in another project: private values belong to both."""
    now: int


OnRename = Callable[[Tx, AgentRename], Awaitable[None]]


def declare_agent_columns(
    *,
    session: Iterable[str] = (),
    agent: Iterable[str] = (),
    room: Iterable[str] = (),
    never: Iterable[str] = (),
) -> tuple[AgentColumn, ...]:
    """The columns of a room that hold names of agents, each as `table.column`, by what they follow."""
    groups: dict[Follows, Iterable[str]] = {"session": session, "agent": agent, "room": room, "never": never}
    return tuple(
        AgentColumn(table, column, follows)
        for follows, names in groups.items()
        for table, _, column in (name.partition(".") for name in names)
    )


async def move_agent_columns(tx: Tx, rename: AgentRename, columns: Sequence[AgentColumn]) -> None:
    """Rewrite the columns that follow the session or the agent."""
    for item in columns:
        if item.follows == "session":
            await tx.run(
                f"update {item.table} set {item.column} = $3 where project = $1 and session = any($2)",
                rename.project,
                rename.sessions,
                rename.new,
            )
        elif item.follows == "agent" and rename.moves_agent:
            await tx.run(
                f"update {item.table} set {item.column} = $3 where project = $1 and {item.column} = $2",
                rename.project,
                rename.old,
                rename.new,
            )
