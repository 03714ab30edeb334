"""Several agents in one checkout use plain git, and every commit contains exactly its author's lines.

Each line goes the whole way: the hook's JSON on stdin, what it answers in a real bash, real git with its own hooks.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from hooked import Agent, Done, git, replace_text

pytestmark = pytest.mark.processes
LINES = [f"line {number}" for number in range(1, 21)]


@pytest.fixture
def crew(near: Callable[..., Agent], shop: Path) -> Callable[[int], list[Agent]]:
    (shop / "core.py").write_text("\n".join(LINES) + "\n")
    (shop / "Makefile").write_text("save:\n\tgit add -A\n\tgit commit -qm save\n")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "core")
    return lambda count: [near("claude") for _ in range(count)]


async def edit(agent: Agent, shop: Path, *numbers: int, by: str) -> None:
    """Rewrite these lines, each through the editing tool."""
    for number in numbers:
        done = await replace_text(agent, shop / "core.py", f"line {number}\n", f"{by} {number}\n")
        assert not done.denial


def added(shop: Path, commit: str = "HEAD") -> list[str]:
    """The lines that a commit adds to the file, by whom they are."""
    lines = git(shop, "show", "--format=", "-U0", commit, "--", "core.py").splitlines()
    return [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]


def ok(done: Done) -> Done:
    assert (done.denial, done.code) == ("", 0), done
    return done


WAYS = (
    "git add -A && git commit -qm x",
    "git commit -qam x",
    "git add core.py; git commit -qm x",
    "git commit -qm x core.py",
    "git commit -qm x -- core.py",
    "git add . && git commit -q --no-verify -m x",
    "make save",
    "export GIT_INDEX_FILE=$PWD/.git/own; git read-tree HEAD && git add -A && git commit -qm x && rm .git/own",
    "git diff > ../all.patch && git apply --cached ../all.patch && git commit -qm x",
    "python3 -c \"import subprocess; subprocess.run('git add -A && git commit -qm x', shell=True, check=True)\"",
    "cd src && git -C .. add -A && git -C .. commit -qm x",
)


@pytest.mark.parametrize("way", WAYS)
async def test_commit_takes_the_authors_lines_only_in_whatever_way(crew, shop, way):
    ann, ben = crew(2)
    await edit(ann, shop, 2, 4, 6, 12, by="ann")
    await edit(ben, shop, 3, 5, 9, by="ben")
    done = ok(await ben.run_shell(way))
    assert added(shop) == ["ben 3", "ben 5", "ben 9"]
    assert f"of {ann.name} in core.py" in done.stderr + done.told
    ok(await ann.run_shell("git add -A && git commit -qm x"))
    assert added(shop) == ["ann 2", "ann 4", "ann 6", "ann 12"]
    assert git(shop, "status", "--short") == ""


async def test_four_windows_commit_interleaved_lines_each_in_another_way(crew, shop):
    agents = crew(4)
    names = ["ann", "ben", "cid", "dee"]
    for number in range(1, 17):
        await edit(agents[number % 4], shop, number, by=names[number % 4])
    for number, (agent, way) in enumerate(zip(agents, WAYS[:4], strict=True)):
        ok(await agent.run_shell(way))
        assert {line.split()[0] for line in added(shop)} == {names[number]}
        assert len(added(shop)) == 4
    assert git(shop, "status", "--short") == ""
    assert git(shop, "fsck", "--no-dangling") == ""
    assert (shop / "core.py").read_text().splitlines()[16:] == LINES[16:]


async def test_trailer_names_the_session_and_an_agent_alone_gets_plain_git(crew, shop):
    (ann,) = crew(1)
    await ann.start()
    (shop / "core.py").write_text("by a person\n")
    await edit_whole(ann, "core.py", "by ann\n")
    ok(await ann.run_shell("git add -A && git commit -qm x"))
    assert git(shop, "show", "HEAD:core.py") == "by ann"
    assert "Commonplace-Session: " in git(shop, "log", "-1", "--format=%B")


async def edit_whole(agent: Agent, file: str, text: str) -> None:
    assert not (await agent.write(file, text)).denial


async def test_commit_of_nothing_of_ones_own_fails_and_says_how_to_take_it(crew, shop):
    ann, ben = crew(2)
    await ben.start()
    await edit(ann, shop, 3, by="ann")
    before = git(shop, "rev-parse", "HEAD")
    done = await ben.run_shell("git commit -am x")
    assert done.code == 1
    assert "Nothing of yours is staged" in done.stderr
    assert git(shop, "rev-parse", "HEAD") == before
    (way,) = [
        line.partition("to take them: ")[2] for line in done.stderr.splitlines() if "to take them" in line
    ]
    ok(await ben.run_shell(way))
    ok(await ben.run_shell("git commit -qam x"))
    assert added(shop) == ["ann 3"]


async def test_persons_commit_takes_what_git_takes(crew, shop):
    ann, ben = crew(2)
    await edit(ann, shop, 2, by="ann")
    await edit(ben, shop, 3, by="ben")
    await ben.run_shell("true && touch x")  # the hooks of git are in place
    git(shop, "commit", "-qam", "all")
    assert added(shop) == ["ann 2", "ben 3"]


async def test_what_others_had_staged_stays_staged(crew, shop):
    ann, ben = crew(2)
    await edit(ann, shop, 2, by="ann")
    ok(await ann.run_shell("git add core.py"))
    await edit(ann, shop, 8, by="ann")
    await edit(ben, shop, 3, by="ben")
    ok(await ben.run_shell("git add -A"))
    ok(await ben.run_shell("git commit -qm x"))
    assert added(shop) == ["ben 3"]
    ok(await ann.run_shell("git commit -qm x"))
    assert added(shop) == ["ann 2"]
    assert "+ann 8" in git(shop, "diff")


async def test_amend_and_new_deleted_and_renamed_files_are_their_authors(crew, shop):
    ann, ben = crew(2)
    await edit_whole(ann, "new.py", "n\n")
    await edit(ann, shop, 2, by="ann")
    ok(
        await ben.run_shell(
            "git rm -q src/tax.py && git mv src/cart.py src/basket.py && git add -A && git commit -qm x"
        )
    )
    names = git(shop, "show", "--format=", "--name-status", "HEAD").split()
    assert names == ["R100", "src/cart.py", "src/basket.py", "D", "src/tax.py"]
    await edit(ben, shop, 3, by="ben")
    ok(await ben.run_shell("git add -A && git commit -q --amend --no-edit"))
    assert added(shop) == ["ben 3"]
    ok(await ann.run_shell("git add -A && git commit -qm x"))
    assert git(shop, "show", "--format=", "--name-only", "HEAD").split() == ["core.py", "new.py"]


DESTROYING = (
    "git checkout -- .", "git restore .", "git reset -q --hard", "git checkout -q HEAD -- core.py", "git clean -fdq",
    "git stash -q", "rm core.py", "git rm -qf core.py", "make wipe", "sh -c 'git stash -qu'", "git checkout -qf",
)  # fmt: skip


@pytest.mark.parametrize("line", DESTROYING)
async def test_what_a_command_destroys_of_others_is_back_and_both_are_told(crew, shop, line):
    (shop / "Makefile").write_text("wipe:\n\tgit reset -q --hard\n\tgit clean -qfdx\n")
    git(shop, "commit", "-qam", "make")
    ann, ben = crew(2)
    await edit(ann, shop, 2, by="ann")
    await edit_whole(ann, "new.py", "ann's\n")
    await edit(ben, shop, 9, by="ben")
    done = await ben.run_shell(line)
    assert not done.denial
    assert "ann 2\n" in (shop / "core.py").read_text()
    assert (shop / "new.py").read_text() == "ann's\n"
    if "back in place" in done.told:
        assert "undid uncommitted lines of yours" in (await ann.prompt("go on")).context
    ok(await ann.run_shell("git add -A && git commit -qm x"))
    assert added(shop) == ["ann 2"]


async def test_stash_puts_away_and_brings_back_ones_own_lines(crew, shop):
    ann, ben = crew(2)
    await edit(ann, shop, 2, by="ann")
    await edit(ben, shop, 9, by="ben")
    ok(await ben.run_shell("git stash"))
    assert "ann 2\n" in (shop / "core.py").read_text()
    assert "line 9\n" in (shop / "core.py").read_text()
    ok(await ben.run_shell("git stash pop"))
    assert "ben 9\n" in (shop / "core.py").read_text()
    ok(await ben.run_shell("git commit -qam x"))
    assert added(shop) == ["ben 9"]


REFUSED = (
    "git switch -q other",
    "git checkout other",
    "rm -rf .git",
    "rm -rf ../shop",
    "git gc --prune=now -q",
    "git switch -c mine",
)


async def test_what_cannot_be_put_right_is_refused_beside_others_only(crew, shop):
    git(shop, "branch", "other")
    ann, ben = crew(2)
    await ben.start()
    assert not (await ben.shell("git switch -q other")).denial
    await edit(ann, shop, 2, by="ann")
    denials = [(await ben.shell(line)).denial for line in REFUSED]
    assert all(ann.name in denial for denial in denials), denials
    way = denials[0].split("`")[1]
    ok(await ben.run_shell(way))
    assert (shop.parent / "shop-other" / "core.py").exists()


async def test_denial_names_the_lines_now_and_a_commit_releases_them(crew, shop):
    ann, ben = crew(2)
    await edit(ann, shop, 4, by="ann")
    await replace_text(ann, shop / "core.py", "line 1\n", "new\nnew\nline 1\n")
    denied = (await replace_text(ben, shop / "core.py", "ann 4\n", "ben 4\n")).denial
    assert f"{ann.name} has uncommitted lines in core.py as it is now: 1-2,6" in denied
    assert "6: ann 4" in denied
    ok(await ann.run_shell("git commit -qam x"))
    assert not (await replace_text(ben, shop / "core.py", "ann 4\n", "ben 4\n")).denial


async def test_lines_outlive_their_session_and_pass_to_the_next_of_the_name(crew, shop, near):
    ann = near("claude", COMMONPLACE_AGENT="ann")
    (ben,) = crew(1)
    await edit(ann, shop, 2, by="ann")
    await edit(ben, shop, 9, by="ben")
    await ann.end()
    ok(await ben.run_shell("git commit -qam x"))
    assert added(shop) == ["ben 9"]
    later = near("claude", COMMONPLACE_AGENT="ann")
    await later.start()
    ok(await later.run_shell("git commit -qam x"))
    assert added(shop) == ["ann 2"]


async def test_subagents_are_apart_from_each_other_and_their_parent_commits_for_them(crew, shop):
    ann, ben = crew(2)
    await ann.start()
    for subagent, number in (("one", 2), ("two", 3)):
        tool = {"tool_name": "Edit", "tool_input": {"file_path": str(shop / "core.py"), "old_string": f"line {number}\n", "new_string": f"{subagent}\n"}}  # fmt: skip
        await ann.hook(ann.sends("before_edit", "core.py") | tool | {"agent_id": subagent})
        (shop / "core.py").write_text(
            (shop / "core.py").read_text().replace(f"line {number}\n", f"{subagent}\n")
        )
        await ann.hook(ann.sends("after_edit", "core.py") | tool | {"agent_id": subagent})
    await edit(ben, shop, 9, by="ben")
    ok(await ann.run_shell("git add -A && git commit -qm one", agent_id="one"))
    assert added(shop) == ["one"]
    ok(await ann.run_shell("git commit -qam x"))
    assert added(shop) == ["two"]


async def test_formatter_rebase_and_pull_keep_the_lines_of_everybody(crew, shop):
    git(shop, "switch", "-qc", "old", "HEAD~0")
    git(shop, "commit", "-q", "--allow-empty", "-m", "old")
    git(shop, "switch", "-q", "main")
    ann, ben = crew(2)
    await edit(ann, shop, 2, by="ann")
    ok(await ben.run_shell("sed -i 's/^line 1\\(.\\)$/ben 1\\1/' core.py"))
    ok(await ben.run_shell("git commit -qam x"))
    assert {line.split()[0] for line in added(shop)} == {"ben"}
    ok(await ben.run_shell("git -c rebase.autoStash=true rebase -q old"))
    ok(await ben.run_shell("echo more >> core.py; git add -A; git commit -qm more"))
    assert added(shop) == ["more"]
    ok(await ann.run_shell("git commit -qam x"))
    assert added(shop) == ["ann 2"]
    ok(await ann.run_shell("git reset -q --soft HEAD~1"))
    assert (await ben.run_shell("git commit -qm x")).code == 1
    ok(await ann.run_shell("git commit -qm again"))
    assert added(shop) == ["ann 2"]
