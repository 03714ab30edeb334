"""Runs the calls that the documentation shows and writes their replies below them.

A block that is fenced as `calls` has lines such as `ann> memory_lock_files {"files": ["cart.py"]}`. Each agent has a
window of its own, so nobody passes a session_id. `# 45 minutes later` lets time pass. Ids are shortened to `doc_1`,
and later calls of the page may use the short form. `operation_docs.py` decides which pages there are.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from commonplace.access import LOCAL, OPERATOR
from commonplace.call import Calls
from commonplace.clock import MINUTE, SECOND
from commonplace.errors import Refusal
from commonplace.window import conversation_window

RunCall = Callable[[str, str, dict[str, Any]], Awaitable[str]]
"""Runs a tool for the agent of this name and returns the reply, or the refusal, as JSON text."""

_BLOCK = re.compile(r"(^```calls\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)
_STEP = re.compile(
    r"^(?:(?P<agent>[a-z][\w-]*)> (?P<tool>\w+)|# (?P<minutes>\d+) minutes? later$)", re.MULTILINE
)
_RANDOM_ID = re.compile(r"\b(?:(smk|cwt)_[\w-]{43}|([A-Za-z][\w-]*?)_[0-9a-f]{8,40})(?![\w-])")
_LINE_CHARACTERS = 110
_TEXT_CHARACTERS = 240
_LISTED_ITEMS = 3
_UNSTABLE_FIELD = re.compile(r"findings|.*_ms|uptime_seconds|cursor|next_cursor|compressed_bytes")


@dataclass(frozen=True)
class DocumentedCall:
    agent: str
    tool: str
    arguments: str
    """As the page has them, with short ids."""

    def to_text(self) -> str:
        return f"{self.agent}> {self.tool} {self.arguments}".rstrip()


@dataclass(frozen=True)
class Pause:
    minutes: int

    def to_text(self) -> str:
        return f"# {self.minutes} minutes later"


Step = DocumentedCall | Pause


class DocumentationClock:
    """Time that passes between calls only: a second after each, and as much as a page says."""

    def __init__(self) -> None:
        self.now = 1_800_000_000 * SECOND

    def __call__(self) -> int:
        return self.now

    def advance(self, *, seconds: float = 0, minutes: float = 0) -> None:
        self.now += int(seconds * SECOND + minutes * MINUTE)


@dataclass
class ShortIds:
    """Random ids and their short forms, by order of appearance."""

    short_by_id: dict[str, str] = field(default_factory=dict)
    count_by_prefix: dict[str, int] = field(default_factory=dict)

    def shorten(self, text: str) -> str:
        return _RANDOM_ID.sub(self._shorten_match, text)

    def _shorten_match(self, match: re.Match[str]) -> str:
        prefix = match[1] or match[2]
        if match[0] not in self.short_by_id:
            self.count_by_prefix[prefix] = self.count_by_prefix.get(prefix, 0) + 1
            self.short_by_id[match[0]] = f"{prefix}_{self.count_by_prefix[prefix]}"
        return self.short_by_id[match[0]]

    def restore(self, text: str) -> str:
        for random_id, short in self.short_by_id.items():
            text = re.sub(rf"\b{re.escape(short)}\b", random_id, text)
        return text


@dataclass
class CallRunner:
    """The agents of one page: runs its steps in order and shows what they get."""

    run_call: RunCall
    advance: Callable[..., None]
    ids: ShortIds = field(default_factory=ShortIds)

    async def render_page(self, page: str) -> str:
        """The page with every reply written anew."""
        parts, end = [], 0
        for block in _BLOCK.finditer(page):
            shown = [await self.show_step(step) for step in parse_steps(block[2])]
            parts += [page[end : block.start()], block[1], "\n".join(shown), "\n", block[3]]
            end = block.end()
        return "".join(parts) + page[end:]

    async def show_step(self, step: Step) -> str:
        """The step as the page has it, and the reply to a call below."""
        if isinstance(step, Pause):
            self.advance(minutes=step.minutes)
            return step.to_text()
        self.advance(seconds=1)
        arguments = json.loads(self.ids.restore(step.arguments or "{}"))
        reply = self.ids.shorten(await self.run_call(step.agent, step.tool, arguments))
        return f"{step.to_text()}\n{format_json(_shorten_values(json.loads(reply)))}"


async def list_examples(runner: CallRunner, script: str) -> dict[str, str]:
    """The first call of each operation in the script with its reply; by `tool`, or `tool action` of a family."""
    examples: dict[str, str] = {}
    for step in parse_steps(script):
        shown = await runner.show_step(step)
        if isinstance(step, DocumentedCall):
            examples.setdefault(step.tool, shown)
            action = json.loads(step.arguments or "{}").get("action")
            examples.setdefault(f"{step.tool} {action}", shown)
    return examples


def run_in_process(calls: Calls) -> RunCall:
    """Each agent calls from a window of its own, on a machine without keys; `operator` is who runs the server."""

    async def run_call(agent: str, tool: str, arguments: dict[str, Any]) -> str:
        local = replace(LOCAL, windows=(conversation_window("docs", agent),))
        caller = OPERATOR if agent == OPERATOR.agent else local
        try:
            return (await calls.run(tool, arguments, caller)).to_text().decode()
        except Refusal as refusal:
            return json.dumps(refusal.to_dict())

    return run_call


def parse_steps(text: str) -> Iterator[Step]:
    """The steps of a block. What follows the arguments of a call is its old reply, which is ignored."""
    for match in _STEP.finditer(text):
        if match["minutes"]:
            yield Pause(int(match["minutes"]))
            continue
        rest = text[match.end() :].removeprefix(" ")
        arguments = (
            rest[: json.JSONDecoder().raw_decode(rest)[1]] if _has_arguments(text, match.end()) else ""
        )
        yield DocumentedCall(match["agent"], match["tool"], arguments)


def _has_arguments(text: str, end: int) -> bool:
    """A reply stands on a line of its own; arguments follow the tool's name."""
    return text[end : end + 2] == " {"


def _shorten_values(value: Any) -> Any:
    """The value with long texts cut, long lists counted, and without what changes from run to run."""
    if isinstance(value, str):
        return value if len(value) <= _TEXT_CHARACTERS else value[:_TEXT_CHARACTERS].rstrip() + " …"
    if isinstance(value, list):
        items = [_shorten_values(item) for item in value[:_LISTED_ITEMS]]
        return items + ([f"… {len(value) - _LISTED_ITEMS} more"] if len(value) > _LISTED_ITEMS else [])
    if isinstance(value, dict):
        return {
            name: "…" if (item or item == 0) and _UNSTABLE_FIELD.fullmatch(name) else _shorten_values(item)
            for name, item in value.items()
        }
    return value


def format_json(value: Any, indent: int = 0) -> str:
    """JSON in few lines: an object or a list stands on one line if it fits."""
    line = json.dumps(value, ensure_ascii=False)
    if indent + len(line) <= _LINE_CHARACTERS or not isinstance(value, dict | list) or not value:
        return line
    inner = " " * (indent + 2)
    if isinstance(value, list):
        items = [inner + format_json(item, indent + 2) for item in value]
        return "[\n" + ",\n".join(items) + "\n" + " " * indent + "]"
    fields = [f"{inner}{json.dumps(name)}: {format_json(item, indent + 2)}" for name, item in value.items()]
    return "{\n" + ",\n".join(fields) + "\n" + " " * indent + "}"
