"""The check before a commit: what it refuses, what goes past it, and that it leaves no trace when it goes."""

import json
import stat
from pathlib import Path

import pytest
from hooked import Agent, both_stores, git, repository, run
from hypothesis import given, settings
from hypothesis import strategies as st

import product
from commonplace.client.commands import guard


def guarded(shop: Path, act: str = "install") -> None:
    for name in ("pre-commit", "post-commit"):
        getattr(guard, f"{act}_hook")(shop / ".git/hooks", name)


async def command(shop: Path, act: str) -> None:
    done = await run(product.command("guard", act), shop, {})
    assert (done.code, done.stderr) == (0, "")


def stage(shop: Path, *files: str) -> None:
    for file in files:
        (shop / file).write_text("changed\n")
    git(shop, "add", *files)


@both_stores
async def test_commit_agrees_with_the_hook(team, agent, shop):
    guarded(shop)
    alice, bob = agent("claude"), agent("codex")
    await alice.edit("src/cart.py")
    stage(shop, "src/cart.py")
    refused = await bob.commit()
    assert (refused.code, f"leased by {alice.name}" in refused.stderr) == (1, True)
    team.clock.advance(minutes=30, seconds=16)
    assert (await bob.edit("src/cart.py")).denial == ""
    assert (await bob.commit()).code == 0


async def test_holder_commits(near, shop):
    guarded(shop)
    alice = near()
    await alice.edit("src/cart.py")
    stage(shop, "src/cart.py")
    done = await alice.commit()
    assert (done.code, done.stderr) == (0, "")


async def test_holder_is_known_by_its_process_where_nothing_names_it(agent, shop, surroundings):
    guarded(shop)
    alice = agent()
    await alice.edit("src/cart.py")
    stage(shop, "src/cart.py")
    assert (await run(["git", "commit", "-m", "work"], shop, surroundings)).code == 0


async def test_person_is_refused_what_an_agent_holds(near, shop, surroundings):
    guarded(shop)
    alice = near()
    await alice.edit("src/cart.py")
    stage(shop, "src/cart.py", "src/tax.py")
    person = Agent("claude", shop, surroundings)
    refused = await person.commit()
    assert (refused.code, "src/cart.py is leased" in refused.stderr, "tax" in refused.stderr) == (
        1,
        True,
        False,
    )
    git(shop, "reset", "-q", "src/cart.py")
    assert (await person.commit()).code == 0


async def test_deleting_a_file_that_another_holds_is_refused(near, shop):
    guarded(shop)
    alice, bob = near(), near()
    await alice.edit("src/cart.py")
    await bob.start()
    git(shop, "rm", "-q", "src/cart.py")
    assert (await bob.commit()).code == 1


async def test_older_token_is_refused_once(team, near, shop):
    guarded(shop)
    alice, own = near(), team.anyone()
    session_id = (await alice.start()).session_id
    await alice.edit("src/cart.py")
    stage(shop, "src/cart.py")
    team.clock.advance(minutes=30, seconds=16)
    await own.lock_files(session_id=session_id, files=["src/cart.py"])
    refused = await alice.commit()
    assert (refused.code, "granted again" in refused.stderr) == (1, True)
    assert (await alice.commit()).code == 0


async def test_file_that_another_changed_since_is_refused_once(team, near, shop):
    guarded(shop)
    alice, bob = near(), near()
    await alice.edit("src/cart.py")
    stage(shop, "src/cart.py")
    team.clock.advance(minutes=30, seconds=16)
    await bob.edit("src/cart.py")
    await bob.edited("src/cart.py")
    await bob.end()
    assert (await alice.commit()).code == 1
    assert (await alice.commit()).code == 0


async def test_lease_that_lapsed_unnoticed_is_no_reason_to_refuse(team, near, shop):
    guarded(shop)
    alice = near()
    await alice.edit("src/cart.py")
    stage(shop, "src/cart.py")
    team.clock.advance(minutes=30, seconds=16)
    assert (await alice.commit()).code == 0


async def test_commit_in_another_repository_is_a_guests(team, near, tmp_path):
    other = repository(tmp_path / "other", "src/cart.py")
    guarded(other)
    alice, bob = near(), near(cwd=other)
    await alice.start()
    await bob.edit("src/cart.py")
    stage(other, "src/cart.py")
    alice.cwd = other
    assert f"leased by {bob.name}" in (await alice.commit()).stderr
    assert (await (await team.agent("carol", project="shop")).get_locks())["locks"] == []


async def test_news_that_a_commit_hears_reaches_the_agent(team, near, shop):
    guarded(shop)
    alice, bob = near(), await team.agent("bob", project="shop")
    await alice.start()
    await bob.send_message(to_instance=alice.name, message="Look!", priority="urgent")
    stage(shop, "src/cart.py")
    assert (await alice.commit()).code == 0
    assert "bob" in (await alice.edit("src/cart.py")).context


async def test_going_past_is_recorded_and_told_to_the_holder(team, near, shop):
    guarded(shop)
    alice, bob = await team.agent("alice", project="shop"), near()
    await alice.lock_files(files=["src/cart.py"])
    await bob.start()
    stage(shop, "src/cart.py")
    assert (await bob.commit("--no-verify")).code == 0
    commit = git(shop, "rev-parse", "HEAD")[:12]
    mail = (await alice.get_messages())["messages"]
    assert [(message["from"], message["subject"]) for message in mail] == [
        (bob.name, f"Commit {commit} changed files that you hold")
    ]
    work = (await alice.get_active_work())["recent_work_items"]
    assert [(item["title"], item["agent"], item["files"]) for item in work] == [
        (f"Commit {commit} bypassed the guard", bob.name, ["src/cart.py"])
    ]


@pytest.mark.parametrize(
    "act", [["rebase", "side"], ["cherry-pick", "side"], ["merge", "--no-ff", "-m", "m", "side"]]
)
async def test_what_git_commits_by_itself_went_past_nothing(team, shop, surroundings, act):
    git(shop, "switch", "-q", "-c", "side")
    stage(shop, "src/tax.py")
    git(shop, "commit", "-q", "-m", "side")
    git(shop, "switch", "-q", "main")
    stage(shop, "src/cart.py")
    git(shop, "commit", "-q", "-m", "main")
    guarded(shop)
    assert (await run(["git", *act], shop, surroundings)).code == 0
    alice = await team.agent("alice", project="shop")
    assert (await alice.get_active_work())["recent_work_items"] == []


async def test_merge_of_what_another_holds_is_not_refused(team, near, shop):
    alice, bob = await team.agent("alice", project="shop"), near()
    git(shop, "switch", "-q", "-c", "side")
    stage(shop, "src/tax.py")
    git(shop, "commit", "-q", "-m", "side")
    git(shop, "switch", "-q", "main")
    guarded(shop)
    await alice.lock_files(files=["src/tax.py"])
    await bob.start()
    git(shop, "merge", "-q", "--no-ff", "--no-commit", "side")
    assert (await bob.commit()).code == 0


async def test_server_away_lets_the_commit_pass_with_one_line(shop, home):
    guarded(shop)
    stage(shop, "src/cart.py")
    away = {"COMMONPLACE_URL": "http://127.0.0.1:9", "COMMONPLACE_HOME": str(home)}
    done = await run(["git", "commit", "-q", "-m", "work"], shop, away)
    assert (done.code, len(done.stderr.splitlines())) == (0, 1)
    assert "nothing was checked" in done.stderr


async def test_worktrees_of_the_repository_are_guarded_too(near, shop, tmp_path):
    git(shop, "worktree", "add", "-q", str(tmp_path / "side"))
    guarded(shop)
    alice, bob = near(), near(cwd=tmp_path / "side")
    await alice.edit("src/cart.py")
    await bob.start()
    stage(tmp_path / "side", "src/cart.py")
    assert (await bob.commit()).code == 1


# -- installing -----------------------------------------------------------------------------------------------


def photograph(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.lstat().st_mode)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


OTHERS = {
    "none": None,
    "shell": (b"#!/bin/sh\necho first >> ran\n", 0o755),
    "failing": (b"#!/usr/bin/env bash\necho first >> ran\nexit 3", 0o755),
    "python": (b"#!/usr/bin/env python3\nopen('ran', 'a').write('first\\n')\n", 0o700),
    "asleep": (b"#!/bin/sh\necho first >> ran\n", 0o644),
    "bare": (b"#!/bin/sh", 0o755),
}


@pytest.mark.parametrize("other", OTHERS)
async def test_other_hook_still_runs_and_comes_back_to_the_byte(shop, home, other):
    hooks = shop / ".git/hooks"
    if OTHERS[other]:
        content, mode = OTHERS[other]
        (hooks / "pre-commit").write_bytes(content)
        (hooks / "pre-commit").chmod(mode)
    before = photograph(hooks)
    guarded(shop)
    once = photograph(hooks)
    guarded(shop)
    assert photograph(hooks) == once != before
    stage(shop, "src/cart.py")
    away = {"COMMONPLACE_URL": "http://127.0.0.1:9", "COMMONPLACE_HOME": str(home)}
    done = await run(["git", "commit", "-q", "-m", "work"], shop, away)
    assert done.code == (1 if other == "failing" else 0)
    assert "nothing was checked" in done.stderr
    assert (shop / "ran").exists() == (other in ("shell", "failing", "python"))
    guarded(shop, "uninstall")
    assert photograph(hooks) == before


def test_link_is_kept_as_a_link(shop):
    script = shop / "check.sh"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    hook_path = shop / ".git/hooks/pre-commit"
    hook_path.symlink_to(script)
    guarded(shop)
    assert not hook_path.is_symlink()
    assert script.read_text() == "#!/bin/sh\nexit 0\n"
    guarded(shop, "uninstall")
    assert hook_path.readlink() == script


async def test_configured_folder_of_hooks_is_used(shop):
    git(shop, "config", "core.hooksPath", ".githooks")
    await command(shop, "install")
    assert stat.S_IMODE((shop / ".githooks/pre-commit").stat().st_mode) == 0o755
    assert not (shop / ".git/hooks/pre-commit").exists()
    await command(shop, "uninstall")
    assert not (shop / ".githooks").exists()


async def test_outside_of_a_repository_it_says_so(tmp_path):
    done = await run(product.command("guard", "install"), tmp_path, {})
    assert (done.code, "git repository" in done.stderr) == (5, True)


def test_lines_that_a_user_adds_stay(shop):
    guarded(shop)
    hook_path = shop / ".git/hooks/pre-commit"
    hook_path.write_bytes(hook_path.read_bytes() + b"make check\n")
    guarded(shop, "uninstall")
    assert hook_path.read_bytes().endswith(b"make check\n")
    assert b"guard check" not in hook_path.read_bytes()


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from([b"", b"#!/bin/sh\n", b"#!/bin/bash -e\n", b"#! /usr/bin/env sh\r\n", b"#!/bin/false\n"]),
    st.binary(max_size=60) | st.sampled_from([b"# Made by commonplace guard.\n", b"\n\n", b"echo\n"]),
    st.booleans(),
)
def test_any_hook_comes_back_to_the_byte(tmp_path_factory, first, rest, executable):
    folder = tmp_path_factory.mktemp("hooks")
    hook_path = folder / "pre-commit"
    hook_path.write_bytes(first + rest)
    hook_path.chmod(0o755 if executable else 0o644)
    before = photograph(folder)
    for _ in range(2):
        guard.install_hook(folder, "pre-commit")
    guard.uninstall_hook(folder, "pre-commit")
    assert photograph(folder) == before


def test_repository_of_nothing_can_be_guarded(tmp_path):
    repository(tmp_path / "empty")
    guard.install_hook(tmp_path / "empty/.git/hooks", "pre-commit")
    assert (tmp_path / "empty/.git/hooks/pre-commit").stat().st_mode & 0o111


async def test_agent_is_refused_what_another_changed_in_this_working_tree_and_a_person_is_warned(
    team, near, shop, surroundings, home
):
    guarded(shop)
    alice, bob = near("claude"), near("codex")
    session_id = (await alice.start()).session_id
    await alice.write("src/cart.py", "alices\n")
    await bob.write("src/tax.py", "bobs\n")
    await team.anyone().unlock_files(session_id=session_id)
    git(shop, "add", "src/cart.py", "src/tax.py")
    refused = await bob.commit()
    assert (refused.code, "git commit -- src/tax.py" in refused.stderr) == (1, True)
    assert (await bob.commit("--", "src/tax.py")).code == 0
    for state in (home / "hooks").glob("*/session.json"):  # so that nobody is a parent of the person's shell
        state.write_text(json.dumps(json.loads(state.read_text()) | {"ancestors": []}))
    person = await run(["git", "commit", "-m", "work"], shop, surroundings)
    assert (person.code, alice.name in person.stderr) == (0, True)
