"""`commonplace status --watch`: the team in a terminal, drawn anew when something changed.

`render_frame` builds the lines and knows no terminal; `run` fetches the live state and draws until Ctrl-C.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from commonplace import errors
from commonplace.client.people import terminal
from commonplace.client.people.person import CallOperation

_MIN_COLUMNS, _MIN_ROWS = 40, 10
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_SPARKS = " ▁▂▃▄▅▆▇█"
_ACTIVE_SECONDS = 300
_NAME_COLUMNS, _AGE_COLUMNS = 18, 5
_SAYS = {
    "permission": "asks permission",
    "question": "asks",
    "plan": "shows a plan",
    "mail": "writes",
    "blocked": "is blocked",
    "disputed": "wrote something disputed",
    "pending_agent": "waits to be admitted",
}

Style = Callable[[str, str], str]
"""Adds a colour to a text, or not."""


def run(arguments: argparse.Namespace, call: CallOperation) -> int:
    values = {"project": arguments.project} if arguments.project else {}
    is_terminal = sys.stdout.isatty()
    if is_terminal:
        sys.stdout.write(_ENTER)
    try:
        _draw_until_interrupted(
            lambda: call("memory_get_live_state", values), arguments.interval, is_terminal
        )
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - or the interpreter complains at its end
        return 0
    finally:
        if is_terminal:
            sys.stdout.write(_LEAVE)
            sys.stdout.flush()


def _draw_until_interrupted(
    fetch: Callable[[], dict[str, Any]], interval: float, is_terminal: bool
) -> NoReturn:
    state: dict[str, Any] | None = None
    shown: list[str] = []
    while True:
        problem = ""
        try:
            state = fetch()
        except errors.Unavailable as refusal:
            problem = refusal.message
            if state is None and not is_terminal:
                raise
        size = shutil.get_terminal_size((80, 24))
        columns, rows = max(size.columns, _MIN_COLUMNS), max(size.lines, _MIN_ROWS)
        lines = render_frame(
            state or {}, columns, rows if is_terminal else 0, terminal.style, datetime.now(UTC), problem
        )
        if is_terminal:
            _draw(lines)
        elif lines[1:] != shown[1:]:  # the first line has the time
            print("\n".join([*lines, ""]), flush=True)
        shown = lines
        time.sleep(max(interval, 0.2))


def _draw(lines: Sequence[str]) -> None:
    body = "\n".join(f"{line}{_CLEAR_LINE}" for line in lines)
    sys.stdout.write(f"{_HOME}{body}{_CLEAR_BELOW}")
    sys.stdout.flush()


def render_frame(
    state: dict[str, Any], columns: int, rows: int, style: Style, now: datetime, problem: str = ""
) -> list[str]:
    """The lines of one frame, none wider than `columns`; `rows` 0: as many as there are."""
    needs = [need for need in state.get("needs_you", []) if need["kind"] != "idle"]
    idle = {need["agent"] for need in state.get("needs_you", []) if need["kind"] == "idle"}
    agents = state.get("agents", [])
    room = [10**6] * 3 if not rows else _share_rows(rows - 8, len(needs) * 2, len(agents), _count_held(state))
    sections = [
        _render_needs(needs, room[0] // 2 or 1, columns, style, now),
        _render_agents(agents, idle, room[1] or 1, columns, style, now),
        _render_files(state, room[2] or 1, columns, style),
    ]
    lines = [_render_head(state, needs, agents, columns, style, now)]
    if problem:
        lines.append(
            style(
                terminal.fit_width(f"The server does not answer: {terminal.clean_line(problem)}", columns),
                "31",
            )
        )
    lines.append(_render_prevented(state, columns, style))
    for section in sections:
        lines += ["", *section]
    return lines[:rows] if rows else lines


def _share_rows(left: int, *wanted: int) -> list[int]:
    """How many rows each section gets, at most what it wants; who wants little leaves more to the others."""
    shares = [0] * len(wanted)
    for place in sorted(range(len(wanted)), key=lambda index: wanted[index]):
        waiting = sum(1 for share in shares if not share)
        shares[place] = min(wanted[place], max(left // max(waiting, 1), 1))
        left -= shares[place]
    return shares


def _render_head(
    state: dict[str, Any], needs: list[Any], agents: list[Any], columns: int, style: Style, now: datetime
) -> str:
    waiting = f"{len(needs)} need you" if needs else "nobody needs you"
    text = f" · {_count(len(agents), 'agent')} · {_count(_count_held(state), 'file')} held"
    stamp = now.astimezone().strftime("%H:%M:%S")
    left = f"Commonplace  {waiting}{text}"
    gap = " " * max(1, columns - terminal.display_width(left) - len(stamp))
    line = terminal.fit_width(f"{left}{gap}{stamp}", columns)
    marked = style(waiting, "1;31" if needs else "32")
    return style("Commonplace", "1") + line.removeprefix("Commonplace").replace(waiting, marked, 1)


def _render_prevented(state: dict[str, Any], columns: int, style: Style) -> str:
    counts = state.get("prevented_counts") or {}
    said = ", ".join(_count(number, kind.replace("_", " ").rstrip("s")) for kind, number in counts.items())
    line = f"Prevented today: {said or 'nothing had to be'}"
    return style(terminal.fit_width(line, columns), "33" if counts else "2")


def _render_needs(needs: list[Any], most: int, columns: int, style: Style, now: datetime) -> list[str]:
    lines = [style("NEEDS YOU", "1")]
    for need in needs[:most]:
        request = need.get("request") or {}
        says = _SAYS.get(request.get("kind") or need["kind"], need["kind"].replace("_", " "))
        asked = [question["question"] for question in request.get("questions", [])]
        what = " / ".join(filter(None, (*asked, request.get("text"), need.get("title"), need.get("text"))))
        head = f"{_age(need['since'], now):>{_AGE_COLUMNS}} {need['agent']} {says}"
        hint = (
            f"commonplace answer {request['id']}"
            if request.get("can_answer")
            else _describe_place(request, need)
        )
        lines.append(style(terminal.fit_width(f"{head}: {terminal.clean_line(what)}", columns), "31"))
        lines.append(
            style(terminal.fit_width(f"{' ' * _AGE_COLUMNS} {terminal.clean_line(hint)}", columns), "2")
        )
    return _finish(lines, len(needs) - most, "Nobody is waiting for you.", columns, style)


def _describe_place(request: dict[str, Any], need: dict[str, Any]) -> str:
    words = [request.get("tool"), request.get("machine") and f"on {request['machine']}"]
    words += [request.get("directory") and f"in {request['directory']}"]
    place = " ".join(word for word in words if word)
    return f"answer in its window: {place}" if place else f"in {need['project']}"


def _render_agents(
    agents: list[Any], idle: set[str], most: int, columns: int, style: Style, now: datetime
) -> list[str]:
    lines = [style("AGENTS", "1")]
    for agent in agents[:most]:
        seconds = _seconds_since(agent["active"], now)
        is_quiet = seconds > _ACTIVE_SECONDS or agent["agent"] in idle
        mark = "○" if is_quiet else "●"
        name = terminal.fit_width(terminal.clean_line(agent["agent"]), _NAME_COLUMNS)
        padded = name + " " * (_NAME_COLUMNS - terminal.display_width(name))
        spark = _spark(agent.get("acts", []))
        held = f"{_count(len(agent.get('holds', [])), 'file')}" if agent.get("holds") else ""
        more = " · ".join(filter(None, (agent.get("task"), agent.get("branch"), held)))
        head = f"{_age(agent['active'], now):>{_AGE_COLUMNS}} {mark} {padded} {spark} "
        line = terminal.fit_width(head + (terminal.clean_line(more) or "no task given"), columns)
        lines.append(style(line, "2") if is_quiet else line.replace(mark, style(mark, "32"), 1))
    return _finish(lines, len(agents) - most, "No agent is working.", columns, style)


def _render_files(state: dict[str, Any], most: int, columns: int, style: Style) -> list[str]:
    held = [file for file in state.get("files", []) if file.get("mode")]
    lines = [style("LOCKS", "1")]
    for file in held[:most]:
        until = datetime.fromisoformat(file["until"]).astimezone().strftime("%H:%M")
        reason = f" ({file['reason']})" if file.get("reason") else ""
        text = f"{' ' * _AGE_COLUMNS} {file['path']}  {file['agent']}{reason}, until {until}"
        lines.append(terminal.fit_width(" " * _AGE_COLUMNS + " " + terminal.clean_line(text), columns))
    return _finish(lines, len(held) - most, "No file is held.", columns, style)


def _finish(lines: list[str], more: int, nothing: str, columns: int, style: Style) -> list[str]:
    if len(lines) == 1:
        return [*lines, style(terminal.fit_width(f"{' ' * _AGE_COLUMNS} {nothing}", columns), "2")]
    return [*lines, style(f"{' ' * _AGE_COLUMNS} and {more} more", "2")] if more > 0 else lines


def _count_held(state: dict[str, Any]) -> int:
    return sum(1 for file in state.get("files", []) if file.get("mode"))


def _spark(acts: Sequence[int]) -> str:
    """Acts per minute of the last quarter of an hour."""
    most = max(3, *acts, 0) if acts else 3
    return "".join(_SPARKS[min(8, round(number / most * 8))] for number in acts) or " " * 15


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _seconds_since(stamp: str, now: datetime) -> int:
    return max(0, int((now - datetime.fromisoformat(stamp)).total_seconds()))


def _age(stamp: str, now: datetime) -> str:
    seconds = _seconds_since(stamp, now)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
