"""`commonplace install` on a machine that knows it already, and whatever its user did in between."""

import json
import signal
import subprocess
import sys

from user import User

from patience import PATIENCE_SECONDS

SERVER = ("--url", "http://127.0.0.1:9123", "--key", "cp_test_key", "--force")


def test_install_after_its_user_changed_our_hooks_adds_none_and_uninstall_leaves_only_theirs(user: User):
    user.has({".claude/settings.json": b"{}"})
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    path = user.home / ".claude/settings.json"
    settings = json.loads(path.read_bytes())
    settings["hooks"]["SessionStart"][0]["matcher"] = "startup"
    settings["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine"})
    path.write_text(json.dumps(settings))
    assert user.runs("install", "--agent", "claude", "--yes", *SERVER) == "Nothing to change.\n"
    user.runs("uninstall", "--yes")
    assert user.reads(".claude/settings.json") == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    }


def test_uninstall_takes_away_what_an_install_that_was_killed_left_behind(user: User):
    before = user.snapshot()
    killed = (
        "import os, signal, sys; from commonplace.__main__ import main; from pathlib import Path;"
        "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL) if '.cursor' in str(_[1]) else os.replace(*_);"
        "main(sys.argv[1:])"
    )
    words = ("install", "--agent", "cursor", "--yes", "--no-schedule", *SERVER)
    done = subprocess.run([sys.executable, "-c", killed, *words], check=False, timeout=PATIENCE_SECONDS)
    assert done.returncode == -signal.SIGKILL
    assert [path.name.split("-")[0] for path in (user.home / ".cursor").iterdir()] == [
        ".mcp.json.commonplace"
    ]
    user.runs("uninstall", "--yes")
    assert user.snapshot() == before
