"""Two agents, one repository: who may edit what, when, and what they are told."""

import pytest
from hooked import both_stores, git, repository


async def session_of(team, name, **more):
    """A session that the agent starts itself, over another surface."""
    return await team.agent(name, project="shop", **more)


@both_stores
async def test_second_edit_is_denied_until_the_lease_lapses(team, agent):
    alice, bob = agent("claude"), agent("codex")
    assert (await alice.edit("src/cart.py")).denial == ""
    denied = (await bob.edit("src/cart.py")).denial
    assert f"src/cart.py is leased by {alice.name} since 20" in denied
    team.clock.advance(minutes=30, seconds=16)
    assert (await bob.edit("src/cart.py")).denial == ""
    assert f"leased by {bob.name}" in (await alice.edit("src/cart.py")).denial


async def test_denied_edit_says_why_and_what_to_do(team, near):
    alice, bob = await session_of(team, "alice"), near("claude")
    await alice.lock_files(files=["src/"], reason="splitting the cart")
    denied = (await bob.edit("src/cart.py")).denial
    for part in ("alice (by its lease on src/)", "splitting the cart", "wait_seconds", "memory_send_message"):
        assert part in denied


async def test_an_edit_that_is_tried_again_gets_the_lease_that_is_reserved_for_it(team, near):
    alice, bob, carol = await session_of(team, "alice"), near("claude"), near("codex")
    await alice.lock_files(files=["src/"])
    assert (await bob.edit("src/cart.py")).denial
    team.clock.advance(seconds=1)
    await alice.unlock_files()
    denied = (await carol.edit("src/cart.py")).denial
    assert f"src/cart.py is free, but reserved for {bob.name} until 20" in denied
    assert "leased by" not in denied
    assert (await bob.edit("src/cart.py")).denial == ""


async def test_denied_patch_takes_none_of_its_files(near):
    alice, bob = near("claude"), near("codex")
    await alice.edit("src/cart.py")
    assert "src/cart.py" in (await bob.edit("src/tax.py", "src/cart.py")).denial
    assert (await alice.edit("src/tax.py")).denial == ""


async def test_agents_own_lock_lets_it_edit_and_keeps_its_reason(team, near):
    bob = near("claude")
    session_id = (await bob.start()).session_id
    own = team.anyone()
    await own.lock_files(session_id=session_id, files=["src/cart.py"], reason="rounding")
    for _ in range(2):
        assert (await bob.edit("src/cart.py")).denial == ""
    alice = await session_of(team, "alice")
    held = (await alice.get_locks())["locks"]
    assert [(lock["file"], lock["held_by"], lock["reason"]) for lock in held] == [
        ("src/cart.py", bob.name, "rounding")
    ]


async def test_lock_of_the_same_agents_other_session_lets_it_edit(team, near):
    bob = near("claude")
    await bob.start()
    again = await session_of(team, bob.name)
    await again.lock_files(files=["src/cart.py"])
    assert (await bob.edit("src/cart.py")).denial == ""


async def test_two_windows_of_one_name_do_not_edit_over_each_other(near):
    first, second = near(COMMONPLACE_AGENT="ann"), near(COMMONPLACE_AGENT="ann")
    await first.edit("src/cart.py")
    assert "leased by ann" in (await second.edit("src/cart.py")).denial


async def test_check_looks_and_takes_nothing(team, near):
    alice, bob = await session_of(team, "alice"), near(COMMONPLACE_HOOKS_LOCK="check")
    assert (await bob.edit("src/cart.py")).denial == ""
    assert (await alice.lock_files(files=["src/cart.py"]))["success"]
    assert "leased by alice" in (await bob.edit("src/cart.py")).denial


async def test_off_lets_every_edit_through(team, near):
    alice, bob = await session_of(team, "alice"), near(COMMONPLACE_HOOKS_LOCK="off")
    await alice.lock_files(files=["src/cart.py"])
    assert (await bob.edit("src/cart.py")).stdout == ""


async def test_setting_may_stand_in_the_configuration(team, near, home):
    alice, bob = await session_of(team, "alice"), near()
    home.mkdir()
    (home / "config.toml").write_text('[hooks]\nlock = "off"\n')
    await alice.lock_files(files=["src/cart.py"])
    assert (await bob.edit("src/cart.py")).stdout == ""


async def test_files_outside_of_the_repository_are_let_through(team, near, tmp_path):
    await near().edit(tmp_path / "notes.md")
    assert (await (await session_of(team, "alice")).get_locks())["locks"] == []


async def test_same_file_of_another_worktree_is_denied(near, shop, tmp_path):
    git(shop, "worktree", "add", "-q", str(tmp_path / "side"))
    alice, bob = near(), near(cwd=tmp_path / "side")
    await alice.edit(shop / "src/cart.py")
    assert f"leased by {alice.name}" in (await bob.edit(tmp_path / "side/src/cart.py")).denial


async def test_agent_that_walks_into_another_repository_stays_in_its_project(team, near, shop, tmp_path):
    other = repository(tmp_path / "other", "src/cart.py")
    alice, bob = near("codex"), near(cwd=other)
    await alice.start()
    await bob.edit("src/cart.py")
    alice.cwd = other
    assert (await alice.edit("src/cart.py", shop / "src/tax.py")).denial == ""
    held = (await (await session_of(team, "carol")).get_locks())["locks"]
    assert [lock["file"] for lock in held] == ["src/tax.py"]


async def test_taken_over_lease_is_told_to_its_old_holder(team, near):
    alice, bob = near("claude"), near("claude")
    await alice.edit("src/cart.py")
    team.clock.advance(minutes=30, seconds=16)
    await bob.edit("src/cart.py")
    answer = await alice.edit("src/tax.py")
    assert f"{bob.name} took over your lapsed lock on src/cart.py." in answer.context


async def test_news_waits_for_an_answer_that_the_model_hears(team, near):
    alice, bob = near("gemini"), near("claude")
    await alice.edit("src/cart.py")
    team.clock.advance(minutes=30, seconds=16)
    await bob.edit("src/cart.py")
    assert (await alice.edit("src/tax.py")).stdout == ""
    assert "took over" in (await alice.edited("src/tax.py")).context


async def test_overlap_is_told_once(near):
    alice, bob = near("claude"), near("claude")
    await alice.edited("src/cart.py")
    first, second = await bob.edited("src/cart.py"), await bob.edited("src/cart.py")
    assert f"src/cart.py was also changed by {alice.name}" in first.context
    assert second.stdout == ""


async def test_ended_session_is_followed_by_another(team, near):
    bob = near("claude")
    before = (await bob.start()).session_id
    await team.anyone().end_session(session_id=before, summary="done")
    after = (await bob.edit("src/cart.py")).session_id
    assert after.startswith(f"shop_{bob.name}_")
    assert after != before


async def test_session_end_frees_the_leases_at_once(near, home):
    alice, bob = near("claude"), near("codex")
    await alice.edit("src/cart.py")
    await alice.end()
    assert (await bob.edit("src/cart.py")).denial == ""
    assert [folder.name for folder in (home / "hooks").iterdir()] == [bob.session]


@pytest.mark.parametrize("source", ["compact", "resume", "clear"])
async def test_session_goes_on_after(near, source):
    alice = near("claude")
    before = await alice.start()
    await alice.edit("src/cart.py")
    after = await alice.start(source=source)
    assert after.session_id == before.session_id
    assert '"your_locks":["src/cart.py"]' in after.context


async def test_reminder_comes_with_the_first_event_heard_after_a_compaction(near):
    alice = near("vscode")
    before = await alice.start()
    await alice.hook(alice.sends("before_compact"))
    event = alice.sends("before_edit", "src/cart.py")
    first, second = await alice.hook(event), await alice.hook(event)
    assert (first.session_id, second.stdout) == (before.session_id, "")


async def test_gemini_is_reminded_only_after_a_real_compaction(near, tmp_path):
    alice = near("gemini")
    alice.transcript = str(tmp_path / "chat.jsonl")
    before = await alice.start()
    for _ in range(3):
        assert (await alice.hook(alice.sends("prompt") | {"hook_event_name": "PreCompress"})).stdout == ""
        assert (await alice.prompt("what is a <state_snapshot>?")).stdout == ""
    summary = '{"$set":{"messages":[{"text":"<state_snapshot>half done</state_snapshot>"}]}}'
    (tmp_path / "chat.jsonl").write_text(f'{{"type":"user","text":"<state_snapshot>"}}\n{summary}\n')
    assert (await alice.prompt("go on")).session_id == before.session_id
    assert (await alice.prompt("go on")).stdout == ""


async def test_prompt_brings_learnings_where_asked_for(team, near):
    alice, bob = await session_of(team, "alice"), near("claude")
    await alice.record_learning(topic="Cart totals", content="Round at the end, never per line.")
    assert (await bob.prompt("fix the cart totals")).stdout == ""
    answer = await bob.prompt("fix the cart totals", COMMONPLACE_HOOKS_LEARNINGS="2")
    assert "Round at the end" in answer.context


async def test_edit_under_a_lease_that_another_took_is_reported_and_told(team, near):
    alice, bob = near("claude"), near("codex")
    await alice.edit("src/cart.py")
    team.clock.advance(minutes=30, seconds=16)
    await bob.edit("src/cart.py")
    told = await alice.edited("src/cart.py")
    assert "src/cart.py: your lease ended" in told.context
    assert f"src/cart.py was also changed by {alice.name}" in (await bob.edited("src/cart.py")).context


async def test_edit_under_its_own_lease_presents_the_token_without_a_word(near):
    alice = near("claude")
    await alice.start()
    await alice.edit("src/cart.py")
    assert (await alice.edited("src/cart.py")).context == ""


async def test_a_denied_edit_is_an_event_that_people_can_see(team, near):
    alice, bob = near("claude"), near("codex")
    await alice.edit("src/cart.py")
    assert (await bob.edit("src/cart.py")).denial

    async def last(tx):
        return await tx.one("select actor, body from event where kind = 'EditDenied'")

    row = await team.database.read(last)
    assert (row["actor"], f'"others":["{alice.name}"]' in row["body"]) == (bob.name, True)
