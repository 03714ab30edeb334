"""The incidents that users of several agents in one clone report, replayed with real git and real hooks.

`make incidents` runs each hook as a process of its own; here most run in the test's process, which is the same program.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_samples import load_samples
from hooked import Agent, Done, git, repository, run

import product
from commonplace.client.agents import AGENTS_WITH_HOOKS

CART, TAX = "cart of ann\n", "tax of ben\n"
SWEEPS = (
    "git add -A",
    "git add .",
    "git add --all",
    "git add -u",
    "git commit -am x",
    "git add src",
    "git add -A && git stash",
)
STASHES = (
    "git stash",
    "git stash push -u",
    "git stash -m wip",
    "git stash pop",
    "git stash clear",
    "env X=1 git stash apply",
)
SWITCHES = ("git checkout feature", "git switch feature", "git checkout -b other", "git switch -c other", "git checkout HEAD~0",
            "git -c alias.go=checkout go feature", "git co feature")  # fmt: skip
DISCARDS = (
    "git reset --hard", "git checkout -- .", "git checkout .", "git restore .", "git checkout -f", "git restore src/cart.py",
    "git checkout HEAD -- src", "git -C . reset --hard HEAD", "bash -c 'git reset --hard'", "cd src && git checkout -- .",
    "git checkout -- $(git diff --name-only)", "git rm -qf src/cart.py",
)  # fmt: skip
INTEGRATIONS = ("git rebase feature", "git pull --rebase --autostash", "git merge feature")
CLEANS = ("git clean -fd", "git clean -f", "git clean -fdx")
TAKEN_BY_NAME = ("git add src/cart.py", "git commit -m x src/cart.py", "git commit -m x -- src")
WRITES = (
    "sed -i s/cart/x/ src/cart.py", "echo x > src/cart.py", "rm src/cart.py", "mv src/cart.py src/c.py", "rm -rf src",
    "cp src/tax.py src/cart.py", "echo x | tee src/cart.py", "black src/cart.py",
    "cd src && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: cart.py\n@@\n-cart\n+x\n*** End Patch\nEOF\n",
)  # fmt: skip


@pytest.fixture
def arrive(agent: Callable[..., Agent], request: pytest.FixtureRequest) -> Callable[..., Agent]:
    is_long = request.config.getoption("--long")

    def start(tool: str = "claude", **more: Any) -> Agent:
        return replace(agent(tool, **more), apart=is_long)

    return start


@pytest.fixture
async def pair(arrive: Callable[..., Agent]) -> tuple[Agent, Agent]:
    """Ann and Ben in one clone; each has changed a file and not committed it."""
    ann, ben = arrive("claude"), arrive("codex")
    for each in (ann, ben):
        await each.start()
    assert not (await ann.write("src/cart.py", CART)).denial
    assert not (await ben.write("src/tax.py", TAX)).denial
    return ann, ben


def texts(folder: Path) -> tuple[str, str]:
    return (folder / "src/cart.py").read_text(), (folder / "src/tax.py").read_text()


def committed(folder: Path) -> list[str]:
    return git(folder, "show", "--name-only", "--format=", "HEAD").split()


async def refused(agent: Agent, line: str, *way: str) -> None:
    """The command is refused, nothing is lost, and the refusal says what to run."""
    before = texts(agent.cwd)
    answer = await agent.run_shell(line)
    assert answer.denial, line
    for words in way:
        assert words in answer.denial, (words, answer.denial)
    assert texts(agent.cwd) == before


def without_reasons(body: dict[str, Any]) -> dict[str, Any]:
    return {
        name: without_reasons(value) if isinstance(value, dict) else value
        for name, value in body.items()
        if name not in ("permissionDecisionReason", "reason", "user_message", "agent_message", "denied")
    }


def use_tool(agent: Agent, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What Claude Code sends before a call of one of its own tools."""
    return load_samples()["claude"].build_command(agent, "") | {"tool_name": name, "tool_input": arguments}


async def command(agent: Agent, *words: str) -> Done:
    """A command of ours that the agent runs."""
    mine = {"COMMONPLACE_AGENT_SESSION": agent.session}
    return await run(product.command(*words), agent.cwd, agent.environ | mine)


async def test_what_would_take_or_destroy_the_work_of_a_neighbour_is_refused_with_the_right_way(pair, shop):
    ann, ben = pair
    git(shop, "branch", "feature")
    git(shop, "config", "alias.co", "checkout")
    await ann.write("notes.txt", "mine\n")
    await ben.write("scratch.txt", "bens\n")
    incidents = [
        *((line, ("commonplace git shelve", "src/tax.py", "src/cart.py")) for line in STASHES[:3]),
        *((line, ("commonplace git unshelve",)) for line in STASHES[3:]),
        *((line, ("git add -- ", "src/tax.py", "src/cart.py")) for line in SWEEPS),
        *((line, ("git worktree add", "../shop-")) for line in SWITCHES),
        *((line, ("src/cart.py",)) for line in (*DISCARDS, *TAKEN_BY_NAME)),
        *((line, ("git worktree add -b main-", "src/cart.py")) for line in INTEGRATIONS),
        *((line, ("git clean -f -- scratch.txt", "notes.txt")) for line in CLEANS),
        *((line, (f"leased by {ann.name}",)) for line in WRITES),
    ]
    for line, way in incidents:
        await refused(ben, line, *way)
    assert (shop / "notes.txt").read_text() == "mine\n"
    assert git(shop, "branch", "--show-current") == "main"
    assert git(shop, "for-each-ref", "refs/commonplace") == ""


async def test_how_strict_the_gate_is_and_for_whom(pair, shop):
    ann, ben = pair
    warned = await ben.shell("git stash (((")
    assert (warned.denial, "could not parse" in warned.context) == ("", True)
    for mode, denied, told in (("warn", False, True), ("off", False, False), ("guard", True, False)):
        (shop / ".commonplace.toml").write_text(f'git = "{mode}"\n')
        answer = await ben.shell("git reset --hard")
        assert (bool(answer.denial), "src/cart.py" in answer.context) == (denied, told), mode
    await ann.end()
    assert (await ben.shell("git stash")).denial == ""


async def test_a_sweep_is_replaced_by_a_commit_of_own_files(pair, shop):
    _ann, ben = pair
    assert (await ben.run_shell("git add -A && git commit -m work")).denial
    assert (await ben.run_shell("git add -- src/tax.py && git commit -qm work")).code == 0
    assert committed(shop) == ["src/tax.py"]
    (shop / ".gitignore").write_text(".env\n")
    git(shop, "add", ".gitignore")
    git(shop, "commit", "-qm", "ignore", "--", ".gitignore")
    (shop / ".env").write_text("key\n")
    await refused(ben, "git clean -fdx", ".env")
    assert (shop / ".env").read_text() == "key\n"


async def test_every_program_is_refused_in_its_own_way(pair, arrive):
    ann, _ben = pair
    for tool in AGENTS_WITH_HOOKS:
        answer = await arrive(tool).shell("git reset --hard")
        assert ann.name in answer.denial, tool
        assert (answer.code, without_reasons(answer.body)) == load_samples()[tool].DENIAL, tool


async def test_shelving_takes_own_changes_only_and_brings_them_back(pair, shop):
    ann, ben = pair
    done = await command(ben, "git", "shelve", "-m", "half")
    assert done.code == 0, done.stderr
    assert texts(shop) == (CART, "a\n")
    assert not (await ann.write("src/new.py", "n\n")).denial
    done = await command(ben, "git", "unshelve")
    assert done.code == 0, done.stderr
    assert texts(shop) == (CART, TAX)
    assert git(shop, "for-each-ref", "refs/commonplace") == ""


async def test_a_stash_of_another_working_tree_is_not_popped_here(arrive, shop, tmp_path):
    git(shop, "worktree", "add", "-q", "-b", "tax", str(tmp_path / "shop-tax"))
    ann, ben = arrive("claude"), arrive("codex", cwd=tmp_path / "shop-tax")
    await ann.write("src/cart.py", CART)
    await ben.write("src/tax.py", TAX)
    await refused(ann, "git stash", "commonplace git shelve")
    git(shop, "stash")  # a person, say
    await refused(ben, "git stash pop", "commonplace git unshelve")
    assert git(shop, "stash", "list") != ""


async def test_the_suggested_working_tree_can_be_made(pair, shop):
    _ann, ben = pair
    git(shop, "branch", "feature")
    denial = (await ben.shell("git checkout feature")).denial
    line = (
        next(text for text in denial.splitlines() if "git worktree add" in text)
        .lstrip("- ")
        .partition("    ")[0]
    )
    assert (await ben.run_shell(line)).code == 0
    assert git(shop.parent / "shop-feature", "branch", "--show-current") == "feature"


async def test_a_commit_does_not_take_what_a_neighbour_has_staged(pair, shop):
    ann, ben = pair
    assert (await ann.run_shell("git add src/cart.py")).code == 0
    assert (await ben.run_shell("git add src/tax.py")).code == 0
    await refused(ben, "git commit -m tax", "git commit -m tax -- src/tax.py")
    assert (await ben.run_shell("git commit -qm tax -- src/tax.py")).code == 0
    assert committed(shop) == ["src/tax.py"]
    assert (await ann.run_shell("git commit -qm cart")).code == 0
    assert committed(shop) == ["src/cart.py"]


async def test_own_changes_may_be_discarded_and_are_rescued_first(pair, shop):
    _ann, ben = pair
    assert (await ben.run_shell("git checkout -- src/tax.py")).code == 0
    assert texts(shop) == (CART, "a\n")
    listed = await command(ben, "git", "rescue", "list")
    assert "git checkout -- src/tax.py" in listed.stdout
    done = await command(ben, "git", "rescue", "restore", "last", "src/tax.py")
    assert done.code == 0, done.stderr
    assert texts(shop) == (CART, TAX)


async def test_a_forced_push_does_not_delete_what_others_pushed(pair, shop, tmp_path):
    ann, ben = pair
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "remote.git")
    git(shop, "remote", "add", "origin", str(tmp_path / "remote.git"))
    git(shop, "push", "-q", "-u", "origin", "main")
    await refused(ben, "git push --force", "--force-with-lease=main:")
    await refused(ben, "git push origin +main", "--force-with-lease=main:")
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(tmp_path / "remote.git"), "other")
    for name, value in (("user.name", "Cid"), ("user.email", "cid@example.com")):
        git(other, "config", name, value)
    git(other, "commit", "-q", "--allow-empty", "-m", "cids")
    git(other, "push", "-q")
    git(shop, "fetch", "-q")
    await refused(ann, "git push -f origin main", "git rebase origin/main")
    assert "cids" in git(tmp_path / "remote.git", "log", "--format=%s", "main")
    assert (await ann.shell("git push --force-with-lease origin main")).denial == ""
    assert (await ann.shell("git push")).denial == ""


async def test_a_working_tree_is_not_removed_under_its_agent(arrive, shop, tmp_path):
    linked = tmp_path / "shop-tax"
    git(shop, "worktree", "add", "-q", "-b", "tax", str(linked))
    ann, ben = arrive("claude"), arrive("codex", cwd=linked)
    await ann.start()
    await ben.write("src/tax.py", TAX)
    denial = (await ann.run_shell(f"git worktree remove --force {linked}")).denial
    assert (ben.name in denial, (linked / "src/tax.py").read_text()) == (True, TAX)
    assert ben.name in (await ann.run_shell(f"rm -rf {linked}")).denial
    assert ben.name in (await ann.run_shell(f"mv {linked} /tmp/elsewhere")).denial
    there, remove = {"cwd": str(linked)}, {"action": "remove", "discard_changes": True}
    leaves = await ann.hook(use_tool(ann, "ExitWorktree", remove) | there)
    assert (ben.name in leaves.denial, (linked / "src/tax.py").read_text()) == (True, TAX)
    assert not (await ann.hook(use_tool(ann, "ExitWorktree", {"action": "keep"}) | there)).denial
    assert not (await ann.hook(use_tool(ann, "ExitWorktree", remove))).denial
    await ben.end()
    assert (await ann.run_shell(f"git worktree remove --force {linked}")).code == 0
    assert not linked.exists()
    done = await command(ann, "git", "rescue", "show", "last")
    assert "M src/tax.py" in done.stdout


async def test_a_branch_of_another_is_not_deleted(arrive, shop, tmp_path):
    git(shop, "worktree", "add", "-q", "-b", "tax", str(tmp_path / "shop-tax"))
    ann, ben = arrive("claude"), arrive("codex", cwd=tmp_path / "shop-tax")
    await ann.start()
    await ben.start()
    assert (
        await ben.run_shell("git commit -q --allow-empty -m work && git switch -q -c next HEAD~1")
    ).code == 0
    denial = (await ann.run_shell("git branch -D tax")).denial
    assert "git branch -d tax" in denial
    assert git(shop, "branch", "--list", "tax") != ""
    assert (await ben.run_shell("git branch -q -D tax")).code == 0
    assert git(shop, "log", "--format=%s", "-1", "--glob=refs/commonplace/rescue") == "work"


async def test_whoever_is_alone_is_never_bothered(arrive):
    ann = arrive("claude")
    await ann.write("src/cart.py", CART)
    for line in ("git stash", "git stash pop", "git checkout -q -b x", "git add -A", "git commit -qam x", "git reset -q --hard HEAD~1",
                 "git clean -fdx"):  # fmt: skip
        done = await ann.run_shell(line)
        assert (done.denial, done.code) == ("", 0), (line, done)
    restored = await command(ann, "git", "rescue", "list")
    assert restored.code == 0


async def test_the_next_hook_says_who_moved_the_branch(pair, shop):
    ann, ben = pair
    (shop / ".commonplace.toml").write_text('git = "warn"\n')
    asked = await ben.run_shell("git checkout -q -b feature")
    assert asked.denial == ""
    context = (await ann.shell("ls")).context
    assert f"the branch is now feature, moved by {ben.name} at" in context
    assert "moved by" not in (await ann.shell("ls")).context
    assert "moved by" not in (await ben.shell("ls")).context


async def test_three_agents_in_one_clone_and_two_working_trees(arrive, shop, tmp_path):
    git(shop, "worktree", "add", "-q", "-b", "tax", str(tmp_path / "shop-tax"))
    ann, ben, cid = arrive("claude"), arrive("gemini"), arrive("copilot", cwd=tmp_path / "shop-tax")
    await ann.write("src/cart.py", CART)
    await ben.write("src/tax.py", TAX)
    await cid.start()
    for line in ("git stash", "git add -A", "git reset --hard", "git checkout -q -b x"):
        for each in (ann, ben):
            assert (await each.run_shell(line)).denial, line
    assert (await cid.run_shell("git checkout -q -b x")).code == 0
    assert texts(shop) == (CART, TAX)


async def test_a_session_that_goes_to_a_working_tree_of_its_own_is_no_neighbour_any_more(pair, shop):
    ann, ben = pair
    assert (await ben.run_shell("git commit -qm tax -- src/tax.py")).code == 0
    assert (await ben.run_shell("git worktree add -q -b mine ../shop-mine")).code == 0
    moved = replace(ben, cwd=shop.parent / "shop-mine")
    await moved.write("src/new.py", "bens\n")
    await moved.write("src/tax.py", "bens\n")
    assert (await moved.shell("git add -A && git commit -m x")).denial == ""
    assert (await moved.shell("git stash")).denial
    (shop / "src/tax.py").write_text("anns\n")
    await ann.edited(shop / "src/tax.py")
    assert (await ann.run_shell("git add -A && git commit -qm all && git checkout -q -b other")).code == 0
    assert committed(shop) == ["src/cart.py", "src/tax.py"]


async def test_what_a_neighbour_staged_is_not_taken_by_a_continued_cherry_pick(pair, shop):
    ann, ben = pair
    git(shop, "commit", "-qm", "both", "-a")
    git(shop, "checkout", "-q", "-b", "feature", "HEAD~1")
    (shop / "src/tax.py").write_text("feature\n")
    git(shop, "commit", "-qam", "feature")
    git(shop, "checkout", "-q", "main")
    assert (await ben.run_shell("git cherry-pick feature")).code != 0
    await ann.write("src/cart.py", "anns again\n")
    assert (await ann.run_shell("git add src/cart.py")).code == 0
    (shop / "src/tax.py").write_text("merged\n")
    assert (await ben.run_shell("git add src/tax.py")).code == 0
    await refused(
        ben, "git cherry-pick --continue", "git restore --staged -- src/cart.py", "git cherry-pick --continue"
    )
    assert (await ben.run_shell("git restore --staged -- src/cart.py")).code == 0
    assert (await ben.run_shell("git -c core.editor=true cherry-pick --continue")).code == 0
    assert (committed(shop), texts(shop)) == (["src/tax.py"], ("anns again\n", "merged\n"))


async def test_changes_in_submodules_are_rescued_before_they_are_discarded(pair, shop, tmp_path):
    _ann, ben = pair
    library = repository(tmp_path / "library", "lib.py")
    git(shop, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    git(shop, "commit", "-qm", "library", "--", "lib", ".gitmodules")
    for line in ("git submodule foreach 'git reset --hard'", "git submodule update --force"):
        (shop / "lib/lib.py").write_text(f"before {line}\n")
        assert (await ben.run_shell(line)).code == 0
        assert (
            git(shop / "lib", "show", "refs/commonplace/rescue/" + newest_rescue(shop / "lib") + ":lib.py")
            == f"before {line}"
        )


def newest_rescue(root: Path) -> str:
    names = git(
        root, "for-each-ref", "--format=%(refname:lstrip=3)", "--sort=-refname", "refs/commonplace/rescue"
    )
    return names.split("\n")[0]


async def test_changes_without_a_lease_are_rescued_before_a_command_deletes_them(arrive, shop, tmp_path):
    linked = tmp_path / "shop-tax"
    git(shop, "worktree", "add", "-q", "-b", "tax", str(linked))
    ann, ben = arrive("claude", COMMONPLACE_HOOKS_LOCK="check"), arrive("codex")
    cid = arrive("gemini", cwd=linked, COMMONPLACE_HOOKS_LOCK="check")
    await ann.write("src/cart.py", CART)
    await cid.write("src/tax.py", TAX)
    await ben.start()
    for line, root, name, text in (
        ("rm src/cart.py", shop, "src/cart.py", CART),
        (f"cd {linked} && rm -rf src", linked, "src/tax.py", TAX),
    ):
        assert (await ben.run_shell(line)).code == 0
        assert not (root / name).exists()
        assert git(shop, "show", f"refs/commonplace/rescue/{newest_rescue(shop)}:{name}") == text.strip()


async def test_a_script_is_refused_for_what_it_does_and_not_for_what_it_might_do(pair, shop):
    _ann, ben = pair
    (shop / "run.sh").write_text('case "$1" in reset) git reset --hard ;; *) echo ok ;; esac\n')
    (shop / "wipe.sh").write_text("set -e\nwipe() { git checkout -- .; }\nwipe\n")
    assert (await ben.run_shell("bash run.sh test")).code == 0
    assert git(shop, "show", f"refs/commonplace/rescue/{newest_rescue(shop)}:src/cart.py") == CART.strip()
    await refused(ben, "bash wipe.sh", "src/cart.py")
