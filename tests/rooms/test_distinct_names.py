"""Different names are different projects and agents, and names that only look the same are refused."""

import pytest

from commonplace import access, errors
from commonplace.look_alikes import looks_like, skeleton
from commonplace.project import list_old_spellings
from team import Team

CYRILLIC_ALICE = "\u0430lice"


@pytest.mark.parametrize(
    ("name", "other"),
    [("काम", "कोम"), ("C", "C++"), ("C", "C#"), ("C++", "C#"), ("কাজ", "কজ"), ("F#", "F"), ("กา", "กี")],
)
def test_names_that_differ_in_marks_or_signs_are_different(name: str, other: str):
    assert access.normalize_project_name(name) != access.normalize_project_name(other)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("The Shop!", "the_shop"),
        ("a+b", "a_b"),
        ("#1 shop", "1_shop"),
        ("C++ tools", "c++_tools"),
        ("cafe\u0301", "café"),
        ("काम", "काम"),
        ("می\u200cخواهم", "میخواهم"),  # noqa: RUF001 - Persian
        ("  web/app  ", "web_app"),
    ],
)
def test_a_name_has_one_spelling(spelling: str, name: str):
    assert access.normalize_project_name(spelling) == name
    assert access.normalize_project_name(name) == name


@pytest.mark.parametrize("name", ["+", "##", " ", "---"])
def test_signs_alone_are_no_name(name: str):
    with pytest.raises(errors.Invalid):
        access.normalize_project_name(name)


async def test_projects_of_c_and_its_kin_keep_their_rows_apart(team: Team):
    for project in ("C", "C++", "C#"):
        agent = await team.agent("ann", project)
        await agent.add_backlog_item(title=f"for {project}")
    listed = [await (await team.agent("ann", project)).list_backlog() for project in ("C", "C++", "C#")]
    assert [[item["title"] for item in one["items"]] for one in listed] == [
        ["for C"],
        ["for C++"],
        ["for C#"],
    ]


@pytest.mark.parametrize("name", [CYRILLIC_ALICE, "al\u0456ce", "\uff41lice"])
async def test_an_agent_that_looks_like_another_is_refused(team: Team, name: str):
    await team.agent("alice")
    with pytest.raises(errors.Conflict) as refusal:
        await team.agent(name)
    assert "'alice'" in refusal.value.message
    await team.agent("alice")


async def test_a_project_that_looks_like_another_is_refused_without_naming_it(team: Team):
    await team.agent("alice", "paypal")
    with pytest.raises(errors.Conflict) as refusal:
        await team.agent("bob", "p\u0430ypal")
    assert "'paypal'" not in refusal.value.message
    with pytest.raises(errors.Conflict):
        await team.anyone(access.OPERATOR).project(action="create", name="p\u0430ypal")


async def test_a_roster_takes_no_agent_that_looks_like_another(team: Team):
    operator = team.anyone(access.OPERATOR)
    await operator.project(action="create", name="shop")
    await operator.project(action="add_agent", name="shop", agent="alice")
    with pytest.raises(errors.Conflict):
        await operator.project(action="add_agent", name="shop", agent=CYRILLIC_ALICE)


async def test_everyday_names_stand_beside_each_other(team: Team):
    for name in ("worker1", "workerl", "Jose", "José", "анна", "amma"):
        await team.agent(name)


async def test_projects_that_earlier_versions_shortened_are_told(team: Team):
    rows = [("c", "C++"), ("the_shop", "The Shop!"), ("plain", "plain")]
    for name, display_name in rows:
        await team.database.write(
            lambda tx, name=name, shown=display_name: tx.run(
                "insert into project (name, display_name, registered, ignore_case, created_at)"
                " values ($1, $2, 1, 0, 0)",
                name,
                shown,
            )
        )
    assert await team.database.read(list_old_spellings) == [("c", "c++")]
    started = (await team.agent("ann", "C++")).started
    assert started["did_you_mean"][0] == "'c++' is a new project; earlier versions kept it in 'c'"


def test_a_skeleton_is_that_of_unicode():
    assert skeleton("p\u0430ypal") == skeleton("paypal")
    assert not looks_like("alice", "Alice")
    assert not looks_like("jose", "josé")
