"""What the gate says about one git command: nothing, or why it is refused and what to run instead."""

import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from commonplace.client.git.checkout import ChangedFile, OtherSession

_MAX_FILES_NAMED = 8
_MAX_FILES_IN_COMMAND = 50


class Denial(NamedTuple):
    reason: str
    ways: tuple[str, ...]
    """Commands, or advice, that do what was wanted without touching the work of others."""
    files: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


class Judgement(NamedTuple):
    denial: Denial | None = None
    destroys: bool = False
    """Whether it destroys changes of the working tree, so that they are rescued first."""
    with_ignored: bool = False
    """Whether it destroys files that git ignores, too."""
    commits: tuple[str, ...] = ()
    """Commits that it makes unreachable."""
    moves_head: bool = False
    root: str = ""
    """The working tree whose changes it destroys, if it is another one."""


LET_THROUGH = Judgement()


def refuse(
    reason: str, *ways: str, files: Sequence[ChangedFile] = (), agents: Iterable[str] = ()
) -> Judgement:
    return Judgement(Denial(reason, ways, tuple(file.path for file in files), tuple(dict.fromkeys(agents))))


def list_agents(others: Iterable[OtherSession]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(other.agent for other in others))


def ask_agents(others: Iterable[OtherSession]) -> str:
    return f"ask {name_agents(other.agent for other in others)}: memory_send_message"


def is_free(file: ChangedFile) -> bool:
    """Whether nobody else can lose it: the session's own, or left by one that has ended."""
    return file.mine or (bool(file.agent) and not file.live)


def name_agents(agents: Iterable[str]) -> str:
    names = list(dict.fromkeys(agents))
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def name_sessions(others: Sequence[OtherSession]) -> str:
    verb = "works" if len({other.agent for other in others}) == 1 else "work"
    return f"{name_agents(other.agent for other in others)} {verb}"


def name_files(files: Sequence[ChangedFile]) -> str:
    """`src/cart.py (ben, 12:01)`, and how many more."""
    named = [_name_file(file) for file in files[:_MAX_FILES_NAMED]]
    more = len(files) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _name_file(file: ChangedFile) -> str:
    if not file.agent:
        return f"{file.path} (nobody reported it)"
    return f"{file.path} ({file.agent}, {file.at[11:16]})"


def list_owners(files: Iterable[ChangedFile], others: Iterable[OtherSession]) -> tuple[str, ...]:
    """Who would lose something: the owners; if nobody reported the files, everybody else here."""
    owners = dict.fromkeys(file.agent for file in files if file.agent)
    return tuple(owners or dict.fromkeys(other.agent for other in others))


def quote_files(paths: Sequence[str]) -> str:
    """The files as words of a command; `…` if they are too many."""
    words = [shlex.quote(path) for path in paths[:_MAX_FILES_IN_COMMAND]]
    return " ".join(words + (["…"] if len(paths) > _MAX_FILES_IN_COMMAND else []))


def render_denial(command: str, denial: Denial) -> str:
    return "\n".join(
        [
            f"`{command}` is refused: {denial.reason}",
            "Nothing was run. Instead:",
            *(f"- {way}" for way in denial.ways),
        ]
    )


def render_warning(command: str, denial: Denial) -> str:
    ways = "\n".join(f"- {way}" for way in denial.ways)
    return f"`{command}` is risky: {denial.reason}\nBetter:\n{ways}"
