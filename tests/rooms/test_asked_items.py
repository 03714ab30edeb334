"""Questions that ask for items: the reply names the operation that lists them, and shows those that are named."""

import pytest

from commonplace.rooms.knowledge.asked_items import find_listing

WORK = "Who works on what: memory_get_active_work."
AGENTS = "Agents and their roles: memory_list_agents."
LATELY = "What happened lately: memory_get_active_work, memory_list_backlog(status='done')."
RULES = "All rules: memory_guidelines."
SPECS = "Specs and their owners: memory_list_specs."
DONE = "Tasks by status: memory_list_backlog(status='done')."


@pytest.fixture
async def nora(team):
    nora, finn = await team.agent("nora"), await team.agent("finn")
    await nora.define_spec(name="booking", content="A booking has guest, room, from, until and price_cents.")
    await finn.register_function(
        name="occupancy",
        file_path="src/occupancy.py",
        purpose="Who owns a room on each day of a month (contract booking).",
    )
    await nora.guidelines(action="set", name="cents", rule="Money is integer cents.", scope="shop")
    await nora.guidelines(action="set", name="tests", rule="Every change needs tests.", scope="shop")
    await finn.add_backlog_item(title="Occupancy report", description="Report the occupancy of a month.")
    await finn.send_message(to_instance="nora", subject="done", message="My tasks are done, please look.")
    await team.calls.search.drain_queue()
    return nora


@pytest.mark.parametrize(
    ("question", "hint"),
    [
        ("What does finn work on?", WORK),
        ("who is working on the calendar", WORK),
        ("who reviews changes?", AGENTS),
        ("which tasks are done", DONE),
        ("what happened today, summary for standup", LATELY),
        ("which specs are there?", SPECS),
        ("which rules apply in this project?", RULES),
    ],
)
async def test_query_names_the_operation_that_answers_better(nora, question, hint):
    for answer in (await nora.query(query=question), await nora.search_global(query=question)):
        assert answer["message"].endswith(hint)


@pytest.mark.parametrize(
    "question",
    [
        "what is the rule for rounding",
        "what are the rules for our office plants",
        "which firewall rules apply in staging",
        "asyncio pending tasks destroyed at exit",
        "celery tasks are done but not acknowledged",
        "why does the retry not work on windows",
        "what happens if the contract is broken",
        "who calls the api without a key",
        "how does the api work",
    ],
)
def test_questions_for_knowledge_ask_for_no_list(question):
    assert find_listing(question) is None


async def test_query_names_no_operation_if_the_best_result_is_what_it_lists(nora):
    answer = await nora.query(query="who owns the contract booking")
    assert (answer["results"][0]["kind"], answer.get("message")) == ("spec", None)


async def test_query_names_no_operation_for_kinds_that_the_caller_left_out(nora):
    answer = await nora.query(query="which tasks are done", memory_types=["learning"])
    assert answer["message"] == "Nothing relevant found."


async def test_question_for_the_rules_finds_every_guideline_of_a_small_project(nora):
    for question in ("which rules apply in this project?", "what are our guidelines"):
        results = (await nora.query(query=question))["results"]
        assert {result["title"] for result in results[:2]} == {"cents", "tests"}


@pytest.mark.parametrize(
    "question",
    [
        "Who owns the contract booking",
        "occupancy of a room on each day of a month in the booking contract",
        "booking api: who owns a room on each day",
    ],
)
async def test_query_puts_a_spec_first_that_the_question_names(nora, question):
    results = (await nora.query(query=question))["results"]
    assert (results[0]["kind"], results[0]["title"]) == ("spec", "booking")
    relevances = [result["relevance"] for result in results]
    assert relevances == sorted(relevances, reverse=True)


async def test_query_shows_no_weak_results_beside_the_operation_that_answers(nora):
    await nora.send_message(
        to_instance="finn", subject="calendar", message="Please look at what juno does before you work on it."
    )
    assert (await nora.query(query="juno work"))["result_count"] > 0
    answer = await nora.query(query="what is juno working on")
    assert (answer["results"], answer["message"]) == ([], f"Nothing relevant found. {WORK}")
