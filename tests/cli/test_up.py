"""`commonplace up`: from an empty machine with an agent to an answer from its own history."""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import product
from commonplace.beacon import read_beacon
from patience import PATIENCE_SECONDS, wait_until

RECORDED = Path(__file__).parents[1] / "transcripts/recorded/claude.jsonl"


def test_up_connects_the_agents_found_here_and_answers_from_their_history(tmp_path: Path):
    transcripts = tmp_path / ".claude/projects/-home-ann-shop"
    transcripts.mkdir(parents=True)
    transcript = transcripts / "6f1c2d3e-0000-4000-8000-000000000001.jsonl"
    shutil.copy(RECORDED, transcript)
    os.utime(transcript, (0, 0))  # what was written just now may not be complete
    data = tmp_path / "data"
    taken = socket.create_server(("127.0.0.1", 0))
    environ = product.environment(
        HOME=str(tmp_path),
        COMMONPLACE_HOME=str(tmp_path / "home"),
        COMMONPLACE_PORT=str(taken.getsockname()[1]),
        PATH="/usr/bin:/bin",
    )
    environ.pop("CLAUDE_CONFIG_DIR", None)
    words = product.command("up", "--yes", "--no-browser", "--port", "0", "--data", str(data))
    try:
        first, second = (
            subprocess.run(
                words,
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
                check=False,
                env=environ,
                cwd=tmp_path,
            )
            for _ in range(2)
        )
    finally:
        taken.close()
        pid = read_beacon(data)["pid"]
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not read_beacon(data))
    assert first.returncode == 0, first.stderr
    assert "Claude Code: connected" in first.stdout
    assert "1 transcript sent" in first.stdout
    assert "you asked   Why is the cart empty" in first.stdout
    assert "it ended    " in first.stdout
    assert (second.returncode, "already runs" in second.stdout, "Nothing to change." in second.stdout) == (
        0,
        True,
        True,
    )
