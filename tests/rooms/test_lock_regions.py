"""Leases on regions of a file: lines of a version, lines without one, and symbols."""

import pytest

from commonplace.file_region import MAX_SPANS, LineSpan, join_spans, shorten_path, split_region

OLD, NEW = "@a0a0a0a0a0a0", "@b1b1b1b1b1b1"
TREE, OTHER_TREE = "%0c0c0c0c", "%1d1d1d1d"


async def can_both_lock(team, mine, theirs):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    assert (await ann.lock_files(files=[mine]))["success"]
    return (await ben.lock_files(files=[theirs]))["success"]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("tax.py:10-40", "tax.py:42-50"),
        ("tax.py#L10-L40", "tax.py:42"),
        ("cart.py#Cart.total", "cart.py#Cart.add"),
        ("cart.cpp#Cart::total()", "cart.cpp#Tax"),
        ("cart.py#Cart", "cart.py#Carton"),
        (f"cart.py:10-12{OLD}", f"cart.py:14{OLD}"),
        (f"cart.py:10-12{OLD}", f"cart.py:13+{OLD}"),
        (f"cart.py:10-12{OLD}#Cart.total", "cart.py#Cart.add"),
        (f"cart.py:12+{OLD}{TREE}", f"cart.py:12+{OLD}{TREE}"),
        (f"cart.py:10-12{OLD}&20-22{NEW}", f"cart.py:10-12{NEW}"),
    ],
)
async def test_regions_apart_are_locked_by_two(team, mine, theirs):
    assert await can_both_lock(team, mine, theirs)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("tax.py:10-40", "tax.py:41-50"),
        ("tax.py:40-10", "tax.py:20"),
        ("cart.py#Cart", "cart.py#Cart.total"),
        ("cart.py#Cart.total", "cart.py#Cart"),
        ("cart.py#Cart.total", "cart.py:10-40"),
        ("cart.py:10-12", f"cart.py:50-60{OLD}"),
        (f"cart.py:10-12{OLD}", f"cart.py:13{OLD}"),
        (f"cart.py:10-12{OLD}", f"cart.py:12+{OLD}"),
        (f"cart.py:12+{OLD}{TREE}", f"cart.py:12+{OLD}{OTHER_TREE}"),
        (f"cart.py:12+{OLD}", f"cart.py:12+{OLD}"),
        (f"cart.py:12+{OLD}{TREE}", f"cart.py:12~{OLD}{TREE}"),
        (f"cart.py:10-12{OLD}", f"cart.py:50-60{NEW}"),
        (f"cart.py:10-12{OLD}#Cart.total", f"cart.py:50-60{NEW}#Cart.add"),
        (f"cart.py:10-12{OLD}", "cart.py#Cart.add"),
        (f"cart.py:10-12{OLD}#Cart.total", "cart.py#Cart"),
        (f"src/cart.py:10-12{OLD}", "src/"),
        ("src/cart.py#Cart", "src/*.py"),
        ("**/cart.py", "src/cart.py:10"),
        (f"cart.py:10-12{OLD}", "cart.py"),
        ("cart.py", f"cart.py:10-12{OLD}"),
    ],
)
async def test_regions_that_may_meet_are_not(team, mine, theirs):
    assert not await can_both_lock(team, mine, theirs)


async def test_the_conflict_names_lines_and_symbol(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await ann.lock_files(files=[f"cart.py:10-12,40+{OLD}#Cart.total"], reason="rounding")
    (conflict,) = (await ben.lock_files(files=[f"cart.py:11{NEW}"]))["conflicts"]
    assert (conflict["file"], conflict["lock"]) == ("cart.py", "cart.py:10-12,40+")
    assert conflict["region"] == {"from": 10, "to": 40, "lines": "10-12,40+", "symbol": "Cart.total"}
    assert conflict["bases"] == [OLD[1:]]


async def test_get_locks_shows_regions_with_their_symbol(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await ann.lock_files(files=[f"cart.py:10-12{OLD}{TREE}#Cart.total", "tax.py#rate"])
    listed = (await ben.get_locks())["locks"]
    assert {lock["file"]: lock["region"] for lock in listed} == {
        "cart.py": {"from": 10, "to": 12, "symbol": "Cart.total"},
        "tax.py": {"symbol": "rate"},
    }
    assert not (await ben.get_locks(path_pattern=f"cart.py:20{OLD}"))["locks"]
    assert (await ben.get_locks(path_pattern="cart.py"))["locks"]


async def test_regions_of_one_agent_become_one_lock(team):
    ann = await team.agent("ann")
    first = (await ann.lock_files(files=[f"cart.py:10-12{OLD}"], reason="rounding"))["locked"][0]
    second = (await ann.lock_files(files=[f"cart.py:30{OLD}"]))["locked"][0]
    inside = (await ann.lock_files(files=[f"cart.py:11{OLD}"]))["locked"][0]
    assert second["token"] > first["token"]
    assert inside["token"] == second["token"]
    (own,) = (await ann.get_locks())["your_locks"]
    assert (own["region"]["lines"], own["reason"]) == ("10-12,30", "rounding")


async def test_a_file_lock_gives_its_regions(team):
    ann = await team.agent("ann")
    file = (await ann.lock_files(files=["cart.py"]))["locked"][0]
    region = (await ann.lock_files(files=[f"cart.py:11{OLD}"]))["locked"][0]
    assert region["token"] == file["token"]
    assert len((await ann.get_locks())["your_locks"]) == 1


@pytest.mark.parametrize(
    ("named", "released"),
    [
        ("cart.py", ["cart.py:10-12", "cart.py#Cart.add"]),
        ("cart.py:10-12", ["cart.py:10-12"]),
        ("cart.py#Cart.add", ["cart.py#Cart.add"]),
        ("cart.py#Cart.total", ["cart.py:10-12"]),
        ("cart.py:10", []),
    ],
)
async def test_unlock_files_takes_the_file_or_a_region(team, named, released):
    ann = await team.agent("ann")
    await ann.lock_files(files=[f"cart.py:10-12{OLD}#Cart.total", "cart.py#Cart.add"])
    reply = await ann.unlock_files(files=[named])
    assert sorted(reply["released"]) == sorted(released)
    assert bool(reply.get("not_held")) is not bool(released)


async def test_a_waiter_is_told_when_its_lines_are_free(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await ann.lock_files(files=[f"cart.py:10-12{OLD}"])
    await ben.lock_files(files=[f"cart.py:12-20{OLD}"])
    assert (await ann.get_locks())["wanted_by"][0]["region"] == {"from": 12, "to": 20}
    await ann.unlock_files(files=["cart.py"])
    notices = (await ben.heartbeat())["_notice"]
    assert any(f"cart.py:12-20{OLD} is free" in notice for notice in notices)


async def test_a_waiter_that_gets_its_lines_in_another_version_waits_no_more(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await ann.lock_files(files=[f"cart.py:10-12{OLD}"])
    await ben.lock_files(files=[f"cart.py:50{NEW}"])
    assert (await ben.lock_files(files=[f"cart.py:30{OLD}&50{NEW}"]))["success"]
    assert not (await ann.get_locks()).get("waiting")


async def test_the_token_of_a_region_fences_its_file(team):
    ann = await team.agent("ann")
    token = (await ann.lock_files(files=[f"cart.py:10-12{OLD}"]))["locked"][0]["token"]
    done = await ann.update_work(title="cart", status="in_progress", files_touched=["cart.py"], token=[token])
    assert "error" not in done


@pytest.mark.parametrize(
    ("text", "file", "shown"),
    [
        (f"a.py:10-12,40+{OLD}{TREE}#Cart.total,Tax", "a.py", "a.py:10-12,40+"),
        ("a.py:7", "a.py", "a.py:7"),
        ("a.py:7:3", "a.py", "a.py:7"),
        ("a.cpp#Cart::add()", "a.cpp", "a.cpp#Cart.add"),
        ("notes/#1.md", "notes/#1.md", "notes/#1.md"),
        ("a.py", "a.py", "a.py"),
    ],
)
def test_a_region_follows_its_path(text, file, shown):
    path, region = split_region(text)
    assert (path, shorten_path(text)) == (file, shown)
    assert region is None or split_region(path + region.text) == (path, region)


def test_many_spans_are_joined_with_their_nearest():
    spans = [LineSpan.of_lines(line, line) for line in range(1, 1_000, 10)]
    joined = join_spans([*spans, LineSpan.of_lines(5_000, 5_000)])
    assert len(joined) == MAX_SPANS
    assert joined[-1] == LineSpan(4_999, 5_000)
    assert all(any(outer.contains(span) for outer in joined) for span in spans)
