"""Of all who met an error, those who overcame it are found first, however the question is put."""

import pytest
from archived import Sync, found, registered
from transcribed import Script, fixed, unsolved, uploaded

from team import Team


@pytest.fixture
async def sync(team: Team) -> Sync:
    return await registered(team)


QUESTIONS = (
    "ModuleNotFoundError: No module named 'yaml'",
    "how did we fix ModuleNotFoundError: No module named 'yaml'?",
    "how did we fix ModuleNotFoundError yaml",
    "No module named yaml",
)


async def test_search_sessions_finds_the_one_session_that_overcame_what_many_met(sync: Sync):
    await uploaded(sync, "fixed", fixed())
    for n in range(12):
        await uploaded(sync, f"unsolved-{n}", unsolved(n))
    for question in QUESTIONS:
        answer = await sync.search_sessions(query=question, limit=3)
        assert [each["session_id"] == "fixed" for each in answer["matches"]] == [True, False, False], question
        assert answer["truncated"] is True


async def test_search_sessions_tells_how_an_error_was_fixed_before_who_wanted_it_fixed(sync: Sync):
    await uploaded(sync, "fixed", fixed())
    for n in range(6):
        await uploaded(sync, f"asked-{n}", Script(n).user("Please fix the ModuleNotFoundError of yaml"))
    assert (await found(sync, "how did we fix ModuleNotFoundError yaml"))[0] == ("fixed", 2, "error")


@pytest.mark.parametrize("question", QUESTIONS)
async def test_search_sessions_prefers_where_an_error_was_overcome_in_another_project(
    team: Team, sync: Sync, question: str
):
    other = await registered(team, project="zoo")
    await uploaded(sync, "unsolved", unsolved(30))
    await uploaded(other, "fixed", fixed())
    assert [session for session, _, _ in await found(sync, question)][:2] == ["fixed", "unsolved"]


async def test_search_sessions_shows_what_was_said_before_an_error_that_is_hardly_about_it(sync: Sync):
    await uploaded(sync, "fixed", fixed())
    said = Script().user("Which importer reads the rows of the supplier's price list?")
    await uploaded(sync, "said", said)
    assert (await found(sync, "importer of the supplier's price list"))[0] == ("said", 0, "user")
