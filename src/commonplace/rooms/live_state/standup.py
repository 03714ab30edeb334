"""The standup: what was done since a time, by whom, with what proof, and what is open; as data and as Markdown.

Proof is what can be checked: commits that hooks saw checked out, commit ids and test results that an agent named in its own
words. The words are shown as told, the commits of hooks as seen.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.rooms.live_state import standup_store, store
from commonplace.rooms.live_state.model import build_prevented_list, short_text
from commonplace.rooms.requests import store as request_store
from commonplace.store.database import Row, Tx

_COMMIT = re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b")
_TESTS = re.compile(
    r"\b\d+ (?:tests? )?passed\b|\b(?:all )?tests? (?:pass|passed|are green|green)\b", re.IGNORECASE
)
_MAX_PROOFS = 5
_SHORT_COMMIT = 10
_MARKUP = re.compile(r"([\\`*_\[\]<>#|])")


class FinishedWork(Reply):
    """`kind`: item, work or handoff. `proof` is what its own text names: commits and test results."""

    kind: str
    id: str
    title: str
    at: str
    how: str = ""
    proof: list[str] = []


class AgentStandup(Reply):
    """`commits` were seen by hooks: `branch commit`."""

    agent: str
    project: str
    done: list[FinishedWork]
    learned: list[str] = []
    commits: list[str] = []
    files: int = 0


class OpenWork(Reply):
    """`kind`: item, blocked, handoff or request."""

    kind: str
    id: str
    project: str
    title: str
    since: str
    agent: str = ""
    why: str = ""


class Standup(Reply):
    since: str
    until: str
    agents: list[AgentStandup]
    open: list[OpenWork]
    prevented: dict[str, int] = {}
    markdown: str = ""


async def build_standup(tx: Tx, projects: Sequence[str], since: int, now: int) -> Standup:
    by_agent: dict[tuple[str, str], AgentStandup] = {}

    def find(project: str, agent: str) -> AgentStandup:
        return by_agent.setdefault((project, agent), AgentStandup(agent=agent, project=project, done=[]))

    for row in await standup_store.list_completed_items(tx, projects, since):
        done = _finish("item", row, row["resolution"], row["completed_at"])
        find(row["project"], row["completed_by"]).done.append(done)
    for row in await standup_store.list_completed_work(tx, projects, since):
        find(row["project"], row["agent"]).done.append(_finish("work", row, row["notes"], row["updated_at"]))
    for row in await standup_store.list_documents(tx, projects, since):
        if row["type"] == "handoff":
            done = _finish("handoff", row, row["content"], row["created_at"])
            find(row["project"], row["author"]).done.append(done)
        else:
            find(row["project"], row["author"]).learned.append(f"{row['title']} ({row['id']})")
    for row in await standup_store.list_heads(tx, projects, since):
        commit = f"{row['branch']} {row['head'][:_SHORT_COMMIT]}".strip()
        known = find(row["project"], row["agent"]).commits
        if commit not in known:
            known.append(commit)
    for row in await standup_store.count_touched_files(tx, projects, since):
        find(row["project"], row["agent"]).files = int(row["files"])
    standup = Standup(
        since=iso(since),
        until=iso(now),
        agents=sorted(by_agent.values(), key=lambda item: (-len(item.done), item.project, item.agent)),
        open=await _list_open(tx, projects, since, now),
        prevented=await _count_prevented(tx, projects, since),
    )
    standup.markdown = render_standup(standup)
    return standup


def _finish(kind: str, row: Row, how: str, at: int) -> FinishedWork:
    return FinishedWork(
        kind=kind, id=row["id"], title=row["title"], at=iso(at), how=short_text(how), proof=find_proof(how)
    )


def find_proof(text: str) -> list[str]:
    """Commit ids and test results that a text names."""
    found = [*(match[0] for match in _TESTS.finditer(text)), *(match[0] for match in _COMMIT.finditer(text))]
    return list(dict.fromkeys(found))[:_MAX_PROOFS]


async def _list_open(tx: Tx, projects: Sequence[str], since: int, now: int) -> list[OpenWork]:
    requests = [
        _open("request", row, row["title"] or row["body"] or row["kind"], row["created_at"], row["agent"])
        for row in await request_store.list_waiting_requests(tx, projects, now)
        if row["kind"] != "idle"
    ]
    blocked = [
        _open(
            "blocked",
            row,
            row["title"],
            row["updated_at"],
            row["agent"],
            row["blocked_reason"] or row["blocked_by"],
        )
        for row in await store.list_blocked_work(tx, projects)
    ]
    items = [
        _open("item", row, row["title"], row["updated_at"], row["assigned_to"], row["status"])
        for row in await standup_store.list_open_items(tx, projects)
    ]
    handoffs = [
        _open("handoff", row, row["title"], row["created_at"], row["agent"])
        for row in await standup_store.list_open_handoffs(tx, projects, since)
    ]
    return [*requests, *blocked, *items, *handoffs]


def _open(kind: str, row: Row, title: str, at: int, agent: str, why: str = "") -> OpenWork:
    return OpenWork(
        kind=kind,
        id=row["id"],
        project=row["project"],
        title=short_text(title),
        since=iso(at),
        agent=agent,
        why=short_text(why),
    )


async def _count_prevented(tx: Tx, projects: Sequence[str], since: int) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for entry in build_prevented_list(await store.list_prevented(tx, projects, since)):
        counts[entry.kind] += 1
    return dict(counts)


def render_standup(standup: Standup) -> str:
    """Markdown to paste. What agents wrote is escaped: it must not become a heading or a link."""
    lines = [
        f"# Standup, {standup.since[:16].replace('T', ' ')} to {standup.until[:16].replace('T', ' ')} UTC"
    ]
    for item in standup.agents:
        if item.done or item.learned or item.commits or item.files:
            lines += ["", f"## {_plain(item.agent)} ({_plain(item.project)})", *_render_agent(item)]
    lines += ["", "## Open"]
    lines += [_render_open(item) for item in standup.open] or ["Nothing."]
    if standup.prevented:
        said = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in standup.prevented.items())
        lines += ["", f"Prevented: {said}."]
    return "\n".join(lines) + "\n"


def _render_agent(item: AgentStandup) -> Iterable[str]:
    for done in item.done:
        proof = f" [{', '.join(map(_plain, done.proof))}]" if done.proof else " [no proof named]"
        yield f"- {_plain(done.title)} ({done.id}){proof}"
    if item.learned:
        yield f"- Learned: {'; '.join(map(_plain, item.learned))}"
    facts = [f"{item.files} file{'s' * (item.files != 1)} changed"] if item.files else []
    facts += [f"at {_plain(commit)}" for commit in item.commits[:_MAX_PROOFS]]
    if facts:
        yield f"- Seen: {', '.join(facts)}"


def _render_open(item: OpenWork) -> str:
    who = f"{_plain(item.agent)}: " if item.agent else ""
    why = f" ({_plain(item.why)})" if item.why else ""
    return f"- {item.kind}: {who}{_plain(item.title)} ({item.id}, {_plain(item.project)}){why}"


def _plain(text: str) -> str:
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
