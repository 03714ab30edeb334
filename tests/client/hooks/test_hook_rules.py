"""Rules that hold, through the hook program of every agent: what is denied, asked, warned about, and when not."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_samples import load_samples
from hooked import Agent, Done, both_stores, git, run

import product
from commonplace import access
from commonplace.client.agents import AGENTS_WITH_HOOKS
from team import Team

RULES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "rules_broken.json").read_text(encoding="utf-8")
)
# The editing tool of each program with its arguments for a whole file.
WRITES: dict[str, Callable[[str, str], tuple[str, Any]]] = {
    "claude": lambda file, text: ("Write", {"file_path": file, "content": text}),
    "codex": lambda file, text: (
        "apply_patch",
        {
            "command": f"*** Begin Patch\n*** Add File: {file}\n+{text.strip().replace(chr(10), chr(10) + '+')}\n*** End Patch\n"
        },
    ),
    "gemini": lambda file, text: ("write_file", {"file_path": file, "content": text}),
    "cursor": lambda file, text: ("Write", json.dumps({"file_path": file, "contents": text})),
    "vscode": lambda file, text: (
        "multi_replace_string_in_file",
        {"replacements": [{"filePath": file, "oldString": "", "newString": text}]},
    ),
    "opencode": lambda file, text: ("write", {"filePath": file, "content": text}),
    "copilot": lambda file, text: ("create", {"path": file, "file_text": text}),
}
CANNOT_HOLD_A_STOP = {"windsurf"}


def build_write(agent: Agent, file: str, text: str) -> dict[str, Any]:
    path = str(agent.cwd / file)
    sent = agent.sends("before_edit", path)
    if agent.tool == "windsurf":
        return sent | {"tool_info": {"file_path": path, "edits": [{"old_string": "", "new_string": text}]}}
    tool, arguments = WRITES[agent.tool](path, text)
    names = ("toolName", "toolArgs") if agent.tool == "copilot" else ("tool_name", "tool_input")
    return sent | dict(zip(names, (tool, arguments), strict=True))


async def arrive(near: Callable[..., Agent], tool: str) -> Agent:
    """An agent whose session has started, where the program says so."""
    agent = near(tool)
    if "session_start" in load_samples()[tool].EVENTS:
        await agent.start()
    return agent


async def attempt(agent: Agent, act: dict[str, Any]) -> Done:
    if "command" in act or "ran" in act:
        return await agent.shell(act.get("command") or act["ran"])
    if "stop" in act:
        return await agent.hook(agent.sends("stop"))
    return await agent.hook(build_write(agent, act["file"], act["text"]))


def find_denial(done: Done) -> str:
    """What prevents, also a stop, in each program's own way."""
    if done.body.get("decision") == "block":
        return str(done.body["reason"])
    return done.denial or str(done.body.get("followup_message", ""))


async def set_rule(team: Team, name: str, enforce: dict[str, Any], **more: Any) -> None:
    values = {
        "action": "set",
        "name": name,
        "rule": f"Mind {name}.",
        "scope": "shop",
        "enforce": enforce,
    } | more
    await team.anyone(access.OPERATOR).guidelines(**values)


def deny(on: str, **more: Any) -> dict[str, Any]:
    return {"on": on, "do": "deny", "reason": "It went wrong before."} | more


@pytest.mark.parametrize("tool", AGENTS_WITH_HOOKS)
async def test_none_of_twenty_broken_rules_gets_through(team: Team, near, tool):
    for rule in RULES:
        await set_rule(team, rule["name"], rule["enforce"], rule=rule["rule"])
    bob = await arrive(near, tool)
    let_through, refused = [], []
    for rule in RULES:
        denial = find_denial(await attempt(bob, rule["breaks"]))
        if f'Rule "{rule["name"]}" by operator (shop): {rule["rule"]}' not in denial:
            let_through.append(rule["name"])
        if "allows" in rule and find_denial(await attempt(bob, rule["allows"])):
            refused.append(rule["name"])
    assert let_through == (["tests-before-stop"] if tool in CANNOT_HOLD_A_STOP else [])
    assert refused == []
    listed = (await team.anyone().guidelines(action="list", scope="shop"))["guidelines"]
    assert sum(rule.get("hits", 0) for rule in listed) >= len(RULES) - 1


FORCE = deny("command", match={"command": "git push --force|-f"})


@both_stores
async def test_denial_names_rule_author_reason_end_and_how_to_object(team: Team, near):
    ann = access.Caller("admin", frozenset({"shop"}), "key_1", agent="ann")
    await team.anyone(ann).guidelines(
        action="set",
        name="no-force",
        rule="Push plainly.",
        scope="shop",
        enforce=FORCE | {"expires": "2099-01-01"},
    )
    denial = (await (await arrive(near, "claude")).shell("git push -f")).denial
    assert denial.splitlines() == [
        'Rule "no-force" by ann (shop): Push plainly.',
        "Reason: It went wrong before.",
        "It holds until 2099-01-01.",
        (
            "Nothing was done. Do not work around it. To object: "
            'memory_send_message(to_instance="ann", subject="rule no-force", message=...)'
        ),
    ]


@both_stores
async def test_new_version_of_the_rules_rides_on_the_next_answer(team: Team, near):
    bob = await arrive(near, "claude")
    assert not (await bob.shell("git push -f")).denial
    await set_rule(team, "no-force", FORCE)
    await bob.edit(bob.cwd / "src/cart.py")  # takes a lease, whose reply brings the rules
    assert (await bob.shell("git push -f")).denial
    await team.anyone(access.OPERATOR).guidelines(action="delete", name="no-force", scope="shop")
    assert not (await bob.shell("git push -f")).denial  # the hook asks before it denies


async def test_rule_that_arrives_with_the_lease_counts_for_the_same_edit(team: Team, near):
    bob = await arrive(near, "claude")
    await set_rule(team, "cart", deny("edit", match={"path": "src/cart.py"}))
    assert 'Rule "cart"' in (await bob.edit(bob.cwd / "src/cart.py")).denial


async def test_session_without_other_calls_asks_for_rules_after_some_minutes(team: Team, near, home):
    bob = await arrive(near, "claude")
    await set_rule(team, "no-force", FORCE)
    for cache in (home / "rules").iterdir():
        old = time.time() - 600
        os.utime(cache, (old, old))
    assert (await bob.shell("git push -f")).denial


async def test_check_makes_no_call_while_nothing_fires(team: Team, near):
    await set_rule(team, "no-force", FORCE)
    bob = await arrive(near, "claude")
    calls = []
    team.calls.observe = lambda name, *_: calls.append(name)
    assert not (await bob.shell("ls -la")).denial
    assert not (await bob.shell("echo git push")).denial
    assert calls == []


@pytest.mark.parametrize("tool", AGENTS_WITH_HOOKS)
async def test_rule_marked_hold_decides_without_a_server_and_reports_later(team: Team, near, tool):
    await set_rule(team, "no-force", FORCE | {"hold": True})
    await set_rule(team, "no-tags", deny("command", match={"command": "git tag"}))
    bob = await arrive(near, tool)
    await bob.shell("ls")
    nowhere = {"COMMONPLACE_URL": "http://127.0.0.1:9"}
    assert 'Rule "no-force"' in (await bob.shell("git push -f", **nowhere)).denial
    assert not (await bob.shell("git tag v1", **nowhere)).denial
    hits = {rule["name"]: rule.get("hits", 0) for rule in await list_rules(team)}
    assert hits == {"no-force": 0, "no-tags": 0}
    await bob.edit(bob.cwd / "src/tax.py")
    hits = {rule["name"]: rule.get("hits", 0) for rule in await list_rules(team)}
    assert hits == {"no-force": 1, "no-tags": 0}


async def list_rules(team: Team) -> list[dict[str, Any]]:
    return (await team.anyone().guidelines(action="list", scope="shop"))["guidelines"]


async def test_new_session_without_a_server_holds_to_the_rules_of_its_folder(team: Team, near):
    await set_rule(team, "no-force", FORCE | {"hold": True})
    await near("claude").start()
    nowhere = {"COMMONPLACE_URL": "http://127.0.0.1:9"}
    assert (await near("codex").shell("git push -f", **nowhere)).denial


@pytest.mark.parametrize("tool", AGENTS_WITH_HOOKS)
async def test_ask_is_a_question_only_where_the_program_can_ask(team: Team, near, tool):
    await set_rule(team, "deploys", deny("command", match={"command": "make deploy"}) | {"do": "ask"})
    asked = await (await arrive(near, tool)).shell("make deploy")
    specific = asked.body.get("hookSpecificOutput", {})
    if tool in ("claude", "vscode"):
        assert (specific["permissionDecision"], asked.denial) == ("ask", "")
        assert specific["permissionDecisionReason"].startswith('Rule "deploys" by operator')
    elif tool == "cursor":
        assert (asked.body["permission"], asked.denial) == ("ask", "")
    else:
        assert "A person must approve it, and this program cannot ask" in asked.denial


@pytest.mark.parametrize("tool", [tool for tool in AGENTS_WITH_HOOKS if tool not in ("cursor", "windsurf")])
async def test_prompt_rule_adds_its_words(team: Team, near, tool):
    await set_rule(team, "deploys", {"on": "prompt", "match": {"text": "(?i)deploy"}, "do": "inject"})
    bob = near(tool)
    await bob.start()
    assert "Mind deploys." in (await bob.prompt("Please DEPLOY the shop")).context
    assert "Mind deploys." not in (await bob.prompt("Please test the shop")).context


async def test_warning_reaches_model_and_person_and_prevents_nothing(team: Team, near):
    await set_rule(team, "api", {"on": "edit", "match": {"path": "src/*.py"}, "do": "warn"})
    bob = await arrive(near, "claude")
    done = await bob.edit(bob.cwd / "src/cart.py")
    assert (done.denial, done.body["systemMessage"]) == ("", 'Rule "api" by operator (shop): Mind api.')
    assert 'Rule "api"' in done.context
    await bob.edit(bob.cwd / "src/tax.py")
    (rule,) = await list_rules(team)
    assert rule["hits"] == 1  # once per session
    state = await team.anyone().get_live_state(project="shop")
    assert state.get("prevented_counts", {}) == {}


STOP = deny("stop", unless={"ran": "make test", "within": "30m"})


def add_transcript(path: Path, line: str, failed: bool) -> None:
    """What Claude Code writes of a command that has ended."""
    call = {"type": "tool_use", "id": "toolu_9", "name": "Bash", "input": {"command": line}}
    result = {"type": "tool_result", "tool_use_id": "toolu_9", "content": "out", "is_error": failed}
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    with path.open("a") as file:
        for kind, block in (("assistant", call), ("user", result)):
            record = {"type": kind, "timestamp": now, "message": {"role": kind, "content": [block]}}
            file.write(json.dumps(record) + "\n")


@pytest.mark.parametrize(
    ("line", "failed", "is_excused"),
    [
        ("make test", False, True),
        ("cd . && make test", False, True),
        ("make test", True, False),
        ("make test | tail -3", False, False),
        ("make test; true", False, False),
        ("make test || true", False, False),
        ("make check", False, False),
    ],
)
async def test_stop_is_let_through_after_the_command_has_succeeded(
    team: Team, near, tmp_path, line, failed, is_excused
):
    await set_rule(team, "tests", STOP)
    bob = near("claude")
    bob.transcript = str(tmp_path / "t.jsonl")
    await bob.start()
    assert "run it as a command of its own" in find_denial(await bob.hook(bob.sends("stop")))
    await bob.shell(line)
    assert find_denial(await bob.hook(bob.sends("stop")))  # it has not ended yet
    add_transcript(tmp_path / "t.jsonl", line, failed)
    assert bool(find_denial(await bob.hook(bob.sends("stop")))) is not is_excused


@pytest.mark.parametrize(("code", "is_excused"), [(0, True), (2, False)])
async def test_opencode_reports_how_an_awaited_command_ended(team: Team, near, code, is_excused):
    await set_rule(team, "tests", STOP)
    bob = near("opencode")
    await bob.start()
    assert (await bob.shell("ls")).body == {}
    assert (await bob.shell("make test")).body == {"reports_end": True}
    sent = load_samples()["opencode"].build_command(bob, "make test")
    await bob.hook(sent | {"hook_event_name": "tool.execute.after", "exit_code": code})
    assert bool(find_denial(await bob.hook(bob.sends("stop")))) is not is_excused


async def test_stop_is_prevented_three_times_in_a_row_at_most(team: Team, near):
    await set_rule(team, "tests", STOP)
    bob = await arrive(near, "gemini")
    denied = [bool(find_denial(await bob.hook(bob.sends("stop")))) for _ in range(5)]
    assert denied == [True, True, True, False, True]


async def test_stop_rule_with_paths_fires_only_after_such_an_edit(team: Team, near):
    await set_rule(team, "tests", deny("stop", match={"path": "src/"}, unless={"ran": "make test"}))
    bob = await arrive(near, "codex")
    await bob.edit(bob.cwd / "README.md")
    assert not find_denial(await bob.hook(bob.sends("stop")))
    await bob.edit(bob.cwd / "src/cart.py")
    assert find_denial(await bob.hook(bob.sends("stop")))


async def test_compaction_and_subagents_are_no_stop(team: Team, near):
    await set_rule(team, "tests", STOP)
    copilot = await arrive(near, "copilot")
    compacting = copilot.sends("stop")
    compacting = {name: "preCompact" if value == "agentStop" else value for name, value in compacting.items()}
    assert not find_denial(await copilot.hook(compacting))
    claude = await arrive(near, "claude")
    assert not find_denial(await claude.hook(claude.sends("stop") | {"hook_event_name": "SubagentStop"}))


async def test_rule_spares_a_branch_and_a_role(team: Team, near, shop):
    await set_rule(team, "main-only", deny("edit", match={"path": "src/"}, unless={"branch": "fix/*"}))
    await set_rule(
        team, "owners", deny("command", match={"command": "make release"}, unless={"role": "owner"})
    )
    bob = await arrive(near, "claude")
    assert (await bob.edit(bob.cwd / "src/cart.py")).denial
    git(shop, "checkout", "-q", "-b", "fix/cart")
    assert not (await bob.edit(bob.cwd / "src/cart.py")).denial
    assert not (await bob.shell("make release")).denial  # without keys every caller is an owner


@pytest.mark.parametrize(
    "line",
    [
        "git ci -m x",  # an alias
        "rm -rf src",
        "rm -rf .",
        "git rm -q src/cart.py",
        "mv src/cart.py elsewhere.py",
        "sed -i s/a/b/ src/*.py",
        "cd src && echo x >> cart.py",
        "python -c 'x' > src/cart.py",
    ],
)
async def test_rule_on_paths_holds_for_commands_that_write_them(team: Team, near, shop, line):
    git(shop, "config", "alias.ci", "commit")
    git(shop, "rm", "-q", "--cached", "src/tax.py")
    await set_rule(team, "frozen", deny(["command", "commit"], match={"path": "src/"}))  # type: ignore[arg-type]
    assert 'Rule "frozen"' in (await (await arrive(near, "claude")).shell(line)).denial


HIDDEN_PUSHES = (
    "G=git; $G push -f", "bash -euo pipefail -c 'git push -f'", "echo 'git push -f' | bash", "echo x | xargs git push -f",
    "env -S 'git push -f'", "git -c alias.x='push -f' x", 'g"it" push -f', "A='push -f'; git $A",
    'C=(git push -f); "${C[@]}"', "script -qc 'git push -f' /dev/null", "bash <<< 'git push -f'", 'eval "$(echo git push -f)"',
    "git config alias.zz 'push -f'; git zz", "$(which git) push -f", "find . -maxdepth 0 -exec git push -f \\;",
    "sudo --user root git push -f", "uv run git push -f",
)  # fmt: skip


async def test_rule_on_a_command_holds_in_every_spelling(team: Team, near):
    await set_rule(team, "no-force", deny("command", match={"command": "git push --force|-f"}))
    bob = await arrive(near, "claude")
    assert [line for line in HIDDEN_PUSHES if 'Rule "no-force"' not in (await bob.shell(line)).denial] == []


async def test_commit_of_an_agent_is_refused_by_the_guard_and_a_persons_only_warned(team: Team, agent, shop):
    await set_rule(team, "keys", deny("commit", match={"text": "BEGIN PRIVATE KEY"}))
    bob = agent("claude")
    await run(product.command("guard", "install"), shop, bob.environ)
    for name in ("one.pem", "two.pem"):
        (shop / name).write_text("-----BEGIN PRIVATE KEY-----\n")
        git(shop, "add", name)
        if name == "one.pem":
            person = await run(["git", "commit", "-m", "x"], shop, bob.environ)
            assert (person.code, "a rule warns" in person.stderr) == (0, True)
    await bob.start()
    refused = await bob.commit()
    assert (refused.code, 'Rule "keys" by operator (shop)' in refused.stderr) == (1, True)
    assert git(shop, "log", "-1", "--format=%s") == "x"
    (rule,) = await list_rules(team)
    assert rule["hits"] == 1


async def test_patch_in_a_command_is_an_edit_to_the_rules(team: Team, near):
    await set_rule(team, "generated", deny("edit", match={"path": "dist/"}))
    await set_rule(team, "no-debugger", deny("edit", match={"path": "*.py", "text": r"breakpoint\(\)"}))
    bob = await arrive(near, "codex")

    async def patch(file: str, line: str) -> str:
        text = f"*** Begin Patch\n*** Add File: {file}\n+{line}\n*** End Patch"
        return (await bob.shell(f"cd src && apply_patch <<'EOF'\n{text}\nEOF\n")).denial

    assert 'Rule "generated"' in await patch("../dist/app.js", "x")
    assert 'Rule "no-debugger"' in await patch("worker.py", "breakpoint()")
    assert await patch("worker.py", "work()") == ""
