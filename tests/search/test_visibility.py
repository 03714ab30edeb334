"""Whatever is done in whatever order: a query sees what is there, at once, and never what is not."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace import errors
from patience import PATIENCE_SECONDS

WORDS = ("walrus", "otterBay", "seal_point", "src/newt.py", "heron")
PROJECTS = ("shop", "bank")

steps = st.lists(
    st.tuples(
        st.sampled_from(["store", "store", "archive", "restore", "rewrite", "embed", "expire"]),
        st.sampled_from(PROJECTS),
        st.integers(0, 5),
        st.sampled_from(WORDS),
    ),
    min_size=1,
    max_size=12,
)


class Model:
    """What must be found: (project, title) -> the document's id, word and status."""

    def __init__(self, agents, team):
        self.agents, self.team, self.kept, self.count = agents, team, {}, 0

    async def take(self, act, project, place, word):
        mine = [key for key in self.kept if key[0] == project]
        await getattr(self, act)(project, mine[place % len(mine)] if mine else None, word)

    async def store(self, project, _key, word):
        self.count += 1
        title = f"Note {self.count}"
        made = await self.agents[project].store(
            title=title, content=f"Number {self.count} tells of {word} only.", memory_type="adr"
        )
        self.kept[project, title] = [made["id"], word, "active"]

    async def archive(self, project, key, _word):
        await self._change(project, key, "archived")

    async def restore(self, project, key, _word):
        await self._change(project, key, "active")

    async def _change(self, project, key, status):
        if key:
            await self.agents[project].change_status(doc_id=self.kept[key][0], new_status=status)
            self.kept[key][2] = status

    async def rewrite(self, project, key, word):
        if key and self.kept[key][2] == "active":
            self.count += 1
            content = f"Number {self.count} tells of {word} only."
            arguments = {"title": key[1], "content": content, "memory_type": "adr", "force_store": True}
            made = await self.agents[project].store(**arguments)
            if made["id"] == self.kept[key][0]:
                self.kept[key][1] = word
            else:
                self.kept[project, f"{key[1]} {self.count}"] = [made["id"], word, "active"]

    async def embed(self, *_):
        await self.team.calls.search.drain_queue()

    async def expire(self, project, _key, word):
        self.count += 1
        made = await self.agents[project].store(
            title=f"Brief {self.count}",
            content=f"{word} for a day, {self.count}.",
            memory_type="adr",
            expires_in_days=1,
        )
        self.team.clock.advance(days=2)
        self.kept[project, f"Brief {self.count}"] = [made["id"], word, "expired"]

    async def check(self):
        for project, agent in self.agents.items():
            for word in WORDS:
                answer = await agent.query(query=word, limit=50, include_shared=False)
                found = {each["id"] for each in answer.get("results", [])}
                mine = {tuple(entry) for key, entry in self.kept.items() if key[0] == project}
                expected = {
                    identity for identity, about, status in mine if about == word and status == "active"
                }
                alive = {identity for identity, _, status in mine if status == "active"}
                assert expected <= found <= alive


@pytest.mark.slow
async def test_query_sees_what_was_written_before_and_nothing_that_is_gone_or_foreign(team):
    agents = {}
    loop = asyncio.get_running_loop()

    async def play(taken):
        agents.update({project: await team.agent("alice", project=project) for project in PROJECTS})
        model = Model(agents, team)
        await clear(team, agents)
        for step in taken:
            await model.take(*step)
            await model.check()

    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
    @given(steps)
    def examples(taken):
        asyncio.run_coroutine_threadsafe(play(taken), loop).result(PATIENCE_SECONDS)

    await asyncio.to_thread(examples)


async def clear(team, agents):
    for project, agent in agents.items():
        rows = await team.database.read(
            lambda tx, project=project: tx.all(
                "select id from document where project = $1 and status = 'active'", project
            )
        )
        for row in rows:
            try:
                await agent.change_status(doc_id=row["id"], new_status="archived")
            except errors.NotFound:
                raise AssertionError(row["id"]) from None
