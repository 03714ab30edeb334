"""Of all who met an error, those who overcame it are found first, however the question is put."""

import pytest
from sync_client import SyncClient, register_sync_client, search_places
from transcript_script import TranscriptScript, script_with_fixed_error, script_with_open_error, upload_script

from team import Team


@pytest.fixture
async def sync(team: Team) -> SyncClient:
    return await register_sync_client(team)


QUESTIONS = (
    "ModuleNotFoundError: No module named 'yaml'",
    "how did we fix ModuleNotFoundError: No module named 'yaml'?",
    "how did we fix ModuleNotFoundError yaml",
    "No module named yaml",
    "ModuleNotFoundError: No module named 'yaml' how was that fixed?",
)


async def test_search_sessions_finds_the_one_session_that_overcame_what_many_met(sync: SyncClient):
    await upload_script(sync, "fixed", script_with_fixed_error())
    for n in range(12):
        await upload_script(sync, f"unsolved-{n}", script_with_open_error(n))
    for question in QUESTIONS:
        answer = await sync.search_sessions(query=question, limit=3)
        assert [each["session_id"] == "fixed" for each in answer["matches"]] == [True, False, False], question
        assert answer["truncated"] is True


async def test_search_sessions_tells_how_an_error_was_fixed_before_who_wanted_it_fixed(sync: SyncClient):
    await upload_script(sync, "fixed", script_with_fixed_error())
    for n in range(6):
        await upload_script(
            sync, f"asked-{n}", TranscriptScript(n).user("Please fix the ModuleNotFoundError of yaml")
        )
    assert (await search_places(sync, "how did we fix ModuleNotFoundError yaml"))[0] == ("fixed", 2, "error")


@pytest.mark.parametrize("question", QUESTIONS)
async def test_search_sessions_prefers_where_an_error_was_overcome_in_another_project(
    team: Team, sync: SyncClient, question: str
):
    other = await register_sync_client(team, project="zoo")
    await upload_script(sync, "unsolved", script_with_open_error(30))
    await upload_script(other, "fixed", script_with_fixed_error())
    assert [session for session, _, _ in await search_places(sync, question)][:2] == ["fixed", "unsolved"]


async def test_search_sessions_shows_what_was_said_before_an_error_that_is_hardly_about_it(sync: SyncClient):
    await upload_script(sync, "fixed", script_with_fixed_error())
    said = TranscriptScript().user("Which importer reads the rows of the supplier's price list?")
    await upload_script(sync, "said", said)
    assert (await search_places(sync, "importer of the supplier's price list"))[0] == ("said", 0, "user")


async def test_search_sessions_finds_the_very_error_before_its_neighbours(sync: SyncClient):
    for n, name in enumerate(("tomla", "tomlb", "tomlc")):
        script = TranscriptScript(n).user("Start the importer")
        script.run("python app.py", f"ModuleNotFoundError: No module named '{name}'", failed=True)
        script.run(f"pip install {name} && python app.py", "imported 7 rows")
        await upload_script(sync, name, script)
    for name in ("tomla", "tomlb", "tomlc"):
        for question in (f"No module named '{name}'", f"how did we fix No module named {name}"):
            match = (await sync.search_sessions(query=question))["matches"][0]
            assert (match["session_id"], "gone at line" in match["snippet"]) == (name, True), question
