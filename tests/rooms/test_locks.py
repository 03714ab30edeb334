"""Two agents, one repository: who may edit what."""

import pytest

from commonplace import access, errors
from commonplace.masking.session_ids import hash_session_id

EPOCH = 1 << 40
CLOCK_START = "2027-01-15T08:00:00Z"
HALF_PAST = "2027-01-15T08:30:00Z"


async def holds_exactly(agent, *files):
    locks = await agent.get_locks()
    return [lock["file"] for lock in locks.get("your_locks", [])] == list(files)


# -- granting and refusing ------------------------------------------------------------------------------------


async def test_lock_files_grants_each_path_with_a_growing_token(team):
    alice = await team.agent("alice")
    assert await alice.lock_files(files=["src/b.py", "src/a.py"], reason="rename") == {
        "success": True,
        "locked": [
            {"file": "src/b.py", "token": EPOCH + 1, "expires_at": HALF_PAST},
            {"file": "src/a.py", "token": EPOCH + 2, "expires_at": HALF_PAST},
        ],
    }
    assert (await alice.lock_files(files=["docs/"]))["locked"][0]["token"] == EPOCH + 3


async def test_lock_files_refuses_what_another_holds_and_names_the_holder(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/app.py"], reason="rename", minutes=10)
    team.clock.advance(seconds=30)
    refused = await bob.lock_files(files=["src/app.py"])
    assert refused == {
        "locked": [],
        "success": False,
        "conflicts": [
            {
                "file": "src/app.py",
                "held_by": "alice",
                "project": "shop",
                "since": CLOCK_START,
                "reason": "rename",
                "expires_at": "2027-01-15T08:10:00Z",
                "stale": False,
                "mode": "exclusive",
            }
        ],
        "message": "1 of 1 paths are locked by others; nothing was locked."
        " The holder was told. A notice tells you once when it is free (memory_unlock_files withdraws this)."
        " Do other work, or call again with wait_seconds.",
    }


async def test_lock_files_is_all_or_nothing(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["b.py"])
    assert not (await bob.lock_files(files=["a.py", "b.py", "c.py"]))["success"]
    assert await bob.get_locks() == {
        "total_count": 1,
        "locks": [
            {
                "file": "b.py",
                "held_by": "alice",
                "since": CLOCK_START,
                "reason": "",
                "expires_at": HALF_PAST,
                "stale": False,
                "mode": "exclusive",
            }
        ],
        "wanted_by": [{"file": "b.py", "agent": "bob", "since": CLOCK_START}],
    }


@pytest.mark.parametrize(
    ("held", "wanted", "free"),
    [
        ("src/", "src/app.py", False),
        ("src/app.py", "src/", False),
        ("src/**", "src/lib/deep/x.py", False),
        ("src/lib/", "src/", False),
        ("./", "anything.py", False),
        ("src/*.py", "src/a*", False),
        ("src/*.py", "src/lib/a.py", True),
        ("**/*.py", "docs/conf.py", False),
        ("src/", "srcs/app.py", True),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", False),
        ("app/[id]/page.tsx", "app/[slug]/layout.tsx", True),
        ("src\\app.py", "./src//lib/../app.py", False),
        ("README.md", "readme.md", True),
    ],
)
async def test_lock_files_compares_what_paths_mean(team, held, wanted, free):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    assert (await alice.lock_files(files=[held]))["success"]
    assert (await bob.lock_files(files=[wanted]))["success"] is free


async def test_conflict_names_the_others_lock_where_it_is_not_the_same_path(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/"])
    [conflict] = (await bob.lock_files(files=["src/app.py"]))["conflicts"]
    assert (conflict["file"], conflict["lock"]) == ("src/app.py", "src/")


async def test_lock_files_ignores_case_where_the_project_says_so(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await team.database.write(lambda tx: tx.run("update project set ignore_case = 1 where name = 'shop'"))
    first = await alice.lock_files(files=["Src/README.md"])
    assert not (await bob.lock_files(files=["src/readme.MD"]))["success"]
    assert (await alice.lock_files(files=["src/readme.md"]))["locked"] == first["locked"]
    assert await alice.unlock_files(files=["SRC/readme.md"]) == {
        "released": ["Src/README.md"],
        "notified": ["bob"],
    }


async def test_lock_files_sees_earlier_locks_after_the_project_began_to_ignore_case(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["Src/"])
    await team.database.write(lambda tx: tx.run("update project set ignore_case = 1 where name = 'shop'"))
    assert not (await bob.lock_files(files=["src/a.py"]))["success"]


async def test_lock_files_cuts_absolute_paths_at_the_working_directory(team):
    alice = await team.agent("alice", working_directory="/home/me/shop")
    bob = await team.agent("bob")
    locked = await alice.lock_files(files=["/home/me/shop/src/app.py"])
    assert locked["locked"][0]["file"] == "src/app.py"
    assert not (await bob.lock_files(files=["src/app.py"]))["success"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"files": []},
        {"files": [""]},
        {"files": ["../outside.py"]},
        {"files": ["/etc/passwd"]},
        {"files": ["a\nb"]},
        {"files": ["*" * 9 + "/?" * 9]},
        {"files": [f"f{n}" for n in range(201)]},
        {"files": ["a"], "minutes": 0},
        {"files": ["a"], "minutes": 241},
        {"files": ["a"], "mode": "mine"},
        {"files": ["a"], "wait_seconds": 61},
    ],
)
async def test_lock_files_refuses_wrong_arguments_and_locks_nothing(team, arguments):
    alice = await team.agent("alice")
    with pytest.raises(errors.Invalid):
        await alice.lock_files(**arguments)
    assert await alice.get_locks() == {"locks": [], "total_count": 0}


async def test_lock_files_of_another_project_do_not_meet(team):
    alice, bob = await team.agent("alice"), await team.agent("bob", project="other")
    await alice.lock_files(files=["./"])
    assert (await bob.lock_files(files=["./"]))["success"]


async def test_lock_files_bounds_what_one_session_holds(team):
    alice = await team.agent("alice")
    for part in range(5):
        await alice.lock_files(files=[f"d{part}/{n}" for n in range(200)])
    with pytest.raises(errors.TooMany):
        await alice.lock_files(files=["one/more"])
    assert (await alice.get_locks())["total_count"] == 1000


# -- one's own locks ------------------------------------------------------------------------------------------


async def test_lock_files_again_renews_and_keeps_the_token(team):
    alice = await team.agent("alice")
    first = await alice.lock_files(files=["a.py"])
    team.clock.advance(minutes=1)
    again = await alice.lock_files(files=["a.py"], minutes=60)
    assert again["locked"] == [
        {"file": "a.py", "token": first["locked"][0]["token"], "expires_at": "2027-01-15T09:01:00Z"}
    ]


async def test_lock_files_again_for_less_time_never_shortens(team):
    alice = await team.agent("alice")
    await alice.lock_files(files=["a.py"], minutes=60)
    again = await alice.lock_files(files=["a.py"], minutes=1)
    assert again["locked"][0]["expires_at"] == "2027-01-15T09:00:00Z"
    assert ("a.py" in again["message"], "memory_unlock_files" in again["message"]) == (True, True)


async def test_lock_files_is_not_stopped_by_ones_own_directory(team):
    alice = await team.agent("alice")
    await alice.lock_files(files=["src/"])
    assert (await alice.lock_files(files=["src/app.py"]))["success"]


async def test_lock_files_of_the_same_agent_in_another_session_conflicts(team):
    first, second = await team.agent("alice"), await team.agent("alice")
    await first.lock_files(files=["a.py"])
    assert not (await second.lock_files(files=["a.py"]))["success"]


# -- shared ---------------------------------------------------------------------------------------------------


async def test_shared_locks_stand_together_and_keep_writers_out(team):
    alice, bob, carol = [await team.agent(name) for name in ("alice", "bob", "carol")]
    assert (await alice.lock_files(files=["src/"], mode="shared"))["success"]
    assert (await bob.lock_files(files=["src/a.py"], mode="shared"))["success"]
    refused = await carol.lock_files(files=["src/a.py"])
    assert {(conflict["held_by"], conflict["mode"]) for conflict in refused["conflicts"]} == {
        ("alice", "shared"),
        ("bob", "shared"),
    }


async def test_exclusive_lock_keeps_readers_out(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"])
    assert not (await bob.lock_files(files=["a.py"], mode="shared"))["success"]


async def test_shared_lock_becomes_exclusive_only_for_its_sole_holder(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    first = await alice.lock_files(files=["a.py"], mode="shared")
    await bob.lock_files(files=["a.py"], mode="shared")
    assert not (await alice.lock_files(files=["a.py"]))["success"]
    await bob.unlock_files()
    upgraded = await alice.lock_files(files=["a.py"])
    assert upgraded["locked"][0]["token"] > first["locked"][0]["token"]
    assert not (await bob.lock_files(files=["a.py"], mode="shared"))["success"]


async def test_exclusive_lock_stays_exclusive_when_asked_for_again_as_shared(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    first = await alice.lock_files(files=["a.py"])
    assert (await alice.lock_files(files=["a.py"], mode="shared"))["locked"] == first["locked"]
    assert not (await bob.lock_files(files=["a.py"], mode="shared"))["success"]


# -- unlocking ------------------------------------------------------------------------------------------------


async def test_unlock_files_says_what_was_released_what_stays_and_what_was_not_held(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py", "b.py", "src/"])
    await bob.lock_files(files=["c.py"])
    assert await alice.unlock_files(files=["./a.py", "c.py", "src/x.py"]) == {
        "released": ["a.py"],
        "still_held": ["b.py", "src/"],
        "not_held": ["c.py", "src/x.py"],
    }
    assert await holds_exactly(bob, "c.py")


async def test_unlock_files_without_files_releases_all_of_mine_alone(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py", "b.py"])
    await bob.lock_files(files=["c.py"])
    assert await alice.unlock_files() == {"released": ["a.py", "b.py"]}
    assert await alice.unlock_files() == {"released": []}
    assert await holds_exactly(bob, "c.py")


async def test_unlock_files_of_a_lapsed_lock_is_not_held(team):
    alice = await team.agent("alice")
    await alice.lock_files(files=["a.py"], minutes=1)
    team.clock.advance(minutes=2)
    answer = await alice.unlock_files(files=["a.py"])
    assert answer == {"released": [], "not_held": ["a.py"]}


# -- seeing ---------------------------------------------------------------------------------------------------


async def test_get_locks_shows_tokens_of_ones_own_alone(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"], reason="rename", mode="shared")
    await bob.lock_files(files=["b.py"])
    assert await alice.get_locks() == {
        "total_count": 2,
        "locks": [
            {
                "file": "b.py",
                "held_by": "bob",
                "since": CLOCK_START,
                "reason": "",
                "expires_at": HALF_PAST,
                "stale": False,
                "mode": "exclusive",
            }
        ],
        "your_locks": [
            {
                "file": "a.py",
                "token": EPOCH + 1,
                "since": CLOCK_START,
                "reason": "rename",
                "expires_at": HALF_PAST,
                "mode": "shared",
            }
        ],
    }


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("src", {"src/", "src/app.py"}),
        ("src/app.py", {"src/", "src/app.py"}),
        ("src/lib/x.py", {"src/"}),
        ("**/*.md", {"src/", "docs/*.md"}),
        ("docs/", {"docs/*.md"}),
        ("app/[id]/page.tsx", {"app/[id]/page.tsx"}),
        ("nothing/here.py", set()),
        ("./", {"src/", "src/app.py", "docs/*.md", "app/[id]/page.tsx"}),
    ],
)
async def test_get_locks_finds_what_a_pattern_meets(team, pattern, expected):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/", "src/app.py"])
    await alice.lock_files(files=["docs/*.md", "app/[id]/page.tsx"])
    answer = await bob.get_locks(path_pattern=pattern)
    assert {lock["file"] for lock in answer.get("locks", [])} == expected
    assert answer["total_count"] == len(expected)


async def test_get_locks_shows_two_hundred_and_counts_all(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    for part in ("a", "b"):
        await alice.lock_files(files=[f"{part}/{n}.py" for n in range(150)])
    for arguments in ({}, {"path_pattern": "./"}):
        answer = await bob.get_locks(**arguments)
        assert (len(answer["locks"]), answer["total_count"]) == (200, 300)


async def test_locks_never_show_a_session_id(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"])
    replies = repr([await bob.lock_files(files=["a.py"]), await bob.get_locks()])
    assert alice.session_id not in replies
    assert hash_session_id(alice.session_id) not in replies


@pytest.mark.parametrize(
    ("mine", "theirs"), [("src", "src/app.py"), ("src/app.py", "src"), ("src", "src/"), ("src", "src/*.py")]
)
async def test_lock_files_of_a_path_covers_everything_below_it(team, mine, theirs):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=[mine])
    refused = await bob.lock_files(files=[theirs])
    assert [conflict["held_by"] for conflict in refused["conflicts"]] == ["alice"]
    assert (await bob.lock_files(files=["srcs", "src.py", "**/*.md"]))["success"]


async def test_lock_files_renews_a_directory_under_either_spelling(team):
    alice = await team.agent("alice")
    first = await alice.lock_files(files=["src"])
    again = await alice.lock_files(files=["src/", "src"])
    assert again["locked"] == first["locked"]
    assert (await alice.unlock_files(files=["src"]))["released"] == ["src"]


async def test_list_locks_needs_no_session(team):
    alice = await team.agent("alice")
    await alice.lock_files(files=["cart.py"], reason="totals")
    listed = await team.anyone(access.Caller("readonly", frozenset({"shop"}), "key_r")).list_locks(
        project="shop"
    )
    assert [(lock["file"], lock["held_by"]) for lock in listed["locks"]] == [("cart.py", "alice")]


# -- changed by others ----------------------------------------------------------------------------------------


async def test_lock_files_names_what_others_changed_since_the_caller_did(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    team.clock.advance(seconds=1)
    await alice.lock_files(files=["cart.py", "tax.py"])
    await alice.update_work(title="cart", status="in_progress", files_touched=["cart.py"])
    await alice.unlock_files()
    team.clock.advance(seconds=60)
    await bob.update_work(title="cart", status="in_progress", files_touched=["cart.py"])
    again = await alice.lock_files(files=["cart.py", "tax.py"])
    assert again["changed"] == [{"file": "cart.py", "changed_by": "bob", "age": "just now"}]


@pytest.mark.parametrize(
    ("path", "mode", "seen"),
    [
        ("cart.py", "exclusive", {"last_locked_by": "carol", "age": "just now"}),
        ("cart.py#Cart.total", "exclusive", {"last_locked_by": "carol", "age": "just now"}),
        ("tax.py", "exclusive", {"changed_by": "bob", "age": "1min"}),
        ("cart.py", "shared", {"changed_by": "bob", "age": "1min"}),
    ],
    ids=["file", "region", "other file", "reader"],
)
async def test_lock_files_names_who_had_the_file_locked_after_the_reported_change(team, path, mode, seen):
    alice, bob, carol = [await team.agent(name) for name in ("alice", "bob", "carol")]
    team.clock.advance(seconds=1)
    await bob.lock_files(files=["cart.py"])
    await bob.update_work(title="cart", status="in_progress", files_touched=["cart.py"])
    await bob.unlock_files()
    team.clock.advance(seconds=60)
    await carol.lock_files(files=[path], mode=mode)
    await carol.unlock_files()
    team.clock.advance(seconds=8)
    assert (await alice.lock_files(files=["cart.py"]))["changed"] == [{"file": "cart.py", **seen}]


async def test_lock_files_names_who_reported_a_change_before_unlocking(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    team.clock.advance(seconds=1)
    await bob.lock_files(files=["cart.py"])
    await bob.update_work(title="cart", status="in_progress", files_touched=["cart.py"])
    team.clock.advance(seconds=5)
    await bob.unlock_files()
    (changed,) = (await alice.lock_files(files=["cart.py"]))["changed"]
    assert changed["changed_by"] == "bob"


async def test_lock_files_names_who_had_the_file_locked_when_its_session_ended(team):
    alice, bob, carol = [await team.agent(name) for name in ("alice", "bob", "carol")]
    team.clock.advance(seconds=1)
    await bob.update_work(title="cart", status="in_progress", files_touched=["cart.py"])
    team.clock.advance(seconds=1)
    await carol.lock_files(files=["cart.py"])
    await carol.end_session(summary="done")
    (changed,) = (await alice.lock_files(files=["cart.py"]))["changed"]
    assert changed["last_locked_by"] == "carol"


async def test_lock_files_does_not_repeat_a_change_that_the_caller_has_followed(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    team.clock.advance(seconds=1)
    await bob.update_work(title="cart", status="in_progress", files_touched=["cart.py"])
    team.clock.advance(seconds=1)
    await alice.update_work(title="cart", status="in_progress", files_touched=["cart.py"])
    assert "changed" not in await alice.lock_files(files=["cart.py"])
