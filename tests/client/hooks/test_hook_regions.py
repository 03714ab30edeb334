"""An edit leases the lines that it changes: two agents in one file, in one checkout and in linked working trees."""

import pytest
from hooked import both_stores, git, replace_text

from commonplace.client.commands import guard
from team import Agent

CART = """import decimal

RATE = 19


class Cart:
    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)
        return item

    def total(self):
        net = sum(self.items)
        return net * RATE


def empty():
    return Cart()
"""


@pytest.fixture
def cart(shop):
    path = shop / "src/cart.py"
    path.write_text(CART)
    git(shop, "commit", "-qam", "cart")
    return path


@pytest.fixture
def tree(cart, tmp_path):
    """A linked working tree of the shop."""
    git(cart.parent, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    return tmp_path / "other"


@both_stores
async def test_two_agents_edit_two_functions_of_a_file_in_one_checkout(agent, cart):
    ann, ben = agent(), agent("codex")
    assert not (await replace_text(ann, cart, "append(item)", "append((item, 1))")).denial
    assert not (await replace_text(ben, cart, "net * RATE", "round(net * RATE)")).denial
    denied = await replace_text(ben, cart, "append((item, 1))", "extend([item])")
    assert ann.name in denied.denial
    assert "line 11 as committed, in Cart.add" in denied.denial
    assert "edit other lines of the file" in denied.denial
    assert "round(net * RATE)" in cart.read_text()
    assert "append((item, 1))" in cart.read_text()


async def test_lines_next_to_each_other_are_free_in_one_checkout_and_denied_in_linked_ones(near, cart, tree):
    ann, ben, carol = near(), near(), near(cwd=tree)
    assert not (await replace_text(ann, cart, "net = sum(self.items)", "net = 1")).denial
    assert not (await replace_text(ben, cart, "    return net * RATE", "    return net")).denial
    there = tree / "src/cart.py"
    assert (await replace_text(carol, there, "    def total(self):", "    def sum(self):")).denial


async def test_lines_that_others_added_above_move_nothing(near, cart):
    ann, ben, carol = near(), near(), near()
    many = "import decimal\n" + "import os\n" * 30
    assert not (await replace_text(ann, cart, "import decimal\n", many)).denial
    assert not (await replace_text(ben, cart, "net * RATE", "round(net * RATE)")).denial
    assert (await replace_text(carol, cart, "round(net * RATE)", "0")).denial


async def test_the_same_lines_are_denied_in_linked_working_trees(near, cart, tree):
    ann, ben = near(), near(cwd=tree)
    assert not (await replace_text(ann, cart, "append(item)", "append((item, 1))")).denial
    there = tree / "src/cart.py"
    assert (await replace_text(ben, there, "append(item)", "extend([item])")).denial
    assert not (await replace_text(ben, there, "return Cart()", "return None")).denial


async def test_additions_at_one_place_are_shared_in_one_checkout_only(near, cart, tree):
    ann, ben, carol = near(), near(), near(cwd=tree)
    assert not (await replace_text(ann, cart, "import decimal\n", "import decimal\nimport os\n")).denial
    assert not (await replace_text(ben, cart, "import os\n", "import os\nimport sys\n")).denial
    assert (await replace_text(ben, cart, "import os\n", "import os.path\n")).denial
    there = tree / "src/cart.py"
    assert (await replace_text(carol, there, "import decimal\n", "import decimal\nimport re\n")).denial


async def test_what_is_undone_is_leased_too(near, cart):
    ann, ben = near(), near()
    assert not (await replace_text(ann, cart, "net * RATE", "net")).denial
    assert (await replace_text(ben, cart, "        return net\n", "        return net * RATE\n")).denial


async def test_lines_are_compared_over_a_commit(near, shop, cart):
    ann, ben = near(), near()
    assert not (await replace_text(ann, cart, "append(item)", "append((item, 1))")).denial
    git(shop, "commit", "-qam", "items have a count")
    assert not (await replace_text(ben, cart, "net * RATE", "round(net * RATE)")).denial
    assert (await replace_text(ben, cart, "append((item, 1))", "append(item)")).denial
    assert not (await replace_text(ann, cart, "RATE = 19", "RATE = 7")).denial
    assert (await replace_text(ann, cart, "round(net * RATE)", "net")).denial


async def test_a_version_that_is_not_here_excludes(near, cart, team):
    ann = near()
    stranger = await team.agent("stranger", project="shop")
    locked = await stranger.lock_files(files=["src/cart.py:1-2@0123456789ab"])
    assert locked["success"]
    assert (await replace_text(ann, cart, "return Cart()", "return None")).denial


@pytest.mark.parametrize("held", ["src/cart.py", "src/", "src/cart.py#Cart.total", "src/cart.py:400"])
async def test_a_lock_by_hand_excludes_the_lines_that_it_may_mean(near, cart, team, held):
    ann = near()
    stranger = await team.agent("stranger", project="shop")
    await stranger.lock_files(files=[held])
    assert (await replace_text(ann, cart, "net * RATE", "net")).denial
    elsewhere = await replace_text(ann, cart, "append(item)", "append(1)")
    assert bool(elsewhere.denial) is (held != "src/cart.py#Cart.total")


async def test_what_cannot_be_located_leases_the_file(near, shop, cart):
    ann, ben = near(), near()
    assert not (await ann.write("src/new.py", "a = 1\n")).denial
    assert (await replace_text(ben, shop / "src/new.py", "a = 1", "a = 2")).denial
    assert not (await replace_text(ann, cart, "append(item)", "append(1)")).denial
    assert (await ben.write("src/cart.py", "all new\n")).denial
    assert (await replace_text(ben, cart, "no such text", "x")).denial


@pytest.mark.parametrize("where", ["repository", "user"])
async def test_regions_are_switched_off_by_one_setting(near, shop, cart, where):
    if where == "repository":
        (shop / ".commonplace.toml").write_text('regions = "off"\n')
    more = {"COMMONPLACE_HOOKS_REGIONS": "off"} if where == "user" else {}
    ann, ben = near(**more), near(**more)
    assert not (await replace_text(ann, cart, "append(item)", "append(1)")).denial
    assert (await replace_text(ben, cart, "net * RATE", "net")).denial


async def test_the_denial_can_be_waited_for(near, cart, team):
    ann, ben = near(), near()
    await replace_text(ann, cart, "append(item)", "append(1)")
    denial = (await replace_text(ben, cart, "append(1)", "append(2)")).denial
    wanted = denial.partition("files=['")[2].partition("'")[0]
    model = Agent(team.calls, denial.partition("for these tools is ")[2].split()[0])
    asked = await model.lock_files(files=[wanted])
    assert [conflict["held_by"] for conflict in asked["conflicts"]] == [ann.name]
    await ann.end()
    assert (await model.lock_files(files=[wanted]))["success"]
    assert not (await replace_text(ben, cart, "append(1)", "append(2)")).denial


PATCH = """*** Begin Patch
*** Update File: src/cart.py
@@ class Cart:
     def total(self):
         net = sum(self.items)
-        return net * RATE
+        return round(net * RATE)
*** End Patch
"""


async def test_a_patch_leases_the_lines_of_its_chunks(near, cart):
    ann, ben = near("codex"), near()
    patched = {"tool_name": "apply_patch", "tool_input": {"command": PATCH}}
    assert not (await ann.hook(ann.sends("before_edit", "src/cart.py") | patched)).denial
    assert (await replace_text(ben, cart, "net * RATE", "net")).denial
    assert not (await replace_text(ben, cart, "append(item)", "append(1)")).denial


# -- commits --------------------------------------------------------------------------------------------------


@pytest.fixture
def guarded(shop):
    for name in ("pre-commit", "post-commit"):
        guard.install_hook(shop / ".git/hooks", name)


@pytest.mark.usefixtures("guarded")
async def test_both_commit_their_lines_of_one_file_in_linked_working_trees(near, cart, tree):
    ann, ben = near(), near(cwd=tree)
    there = tree / "src/cart.py"
    assert not (await replace_text(ann, cart, "append(item)", "append(1)")).denial
    assert not (await replace_text(ben, there, "net * RATE", "net")).denial
    for one, place in ((ann, cart), (ben, there)):
        git(place.parent, "add", place.name)
        assert (await one.commit()).code == 0
    assert not (await replace_text(ben, there, "return Cart()", "return None")).denial
