"""What `install` says before it writes, and the git guard that it offers."""

import os
import pty
import re
import select
import shutil
import subprocess
from pathlib import Path

import pytest
from agent_samples import load_samples
from user import User

import product
from patience import PATIENCE_SECONDS

SERVER = ("--url", "http://127.0.0.1:9123", "--key", "cp_test_key", "--force", "--no-schedule")


@pytest.fixture
def repository(user: User) -> Path:
    """The user's project as a real repository, with git on the path."""
    git = shutil.which("git", path=os.defpath)
    if git is None:
        pytest.skip("git is not installed")
    (user.programs / "git").symlink_to(git)
    (user.project / ".git").rmdir()
    subprocess.run([git, "init", "-q", str(user.project)], check=True, timeout=PATIENCE_SECONDS)
    return user.project


def test_install_says_what_each_agent_gets_before_the_diff(user: User):
    user.has(load_samples()["claude"].SETTINGS | load_samples()["cursor"].SETTINGS)
    shown = user.runs("install", "--dry-run", *SERVER)
    summary, _, diff = shown.partition("--- ")
    assert summary.startswith("Connect to http://127.0.0.1:9123, with a key:")
    assert re.search(rf"Claude Code +tools and hooks, in {user.home}/.claude.json, ", summary)
    assert re.search(rf"Cursor +tools and hooks, in {user.home}/.cursor/mcp.json, ", summary)
    assert re.search(rf"this client +{user.home}/.commonplace/config.toml", summary)
    assert diff
    assert "cp_test_key" not in shown


def test_install_with_guard_checks_commits_of_this_repository(user: User, repository: Path):
    hook = repository / ".git/hooks/pre-commit"
    user.runs("install", "--agent", "claude", "--dry-run", "--guard", *SERVER)
    assert not hook.exists()
    assert "git guard" in user.runs("install", "--agent", "claude", "--yes", "--guard", *SERVER)
    assert b"commonplace guard" in hook.read_bytes()
    assert user.runs("install", "--agent", "claude", "--yes", "--guard", *SERVER) == "Nothing to change.\n"


def test_install_without_guard_leaves_the_repository_alone(user: User, repository: Path):
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    assert not (repository / ".git/hooks/pre-commit").exists()


def test_install_with_guard_outside_of_a_repository_writes_nothing(user: User):
    assert user.tries("install", "--agent", "claude", "--yes", "--guard", *SERVER)[0] == 5
    assert not (user.home / ".claude.json").exists()


@pytest.mark.parametrize(("answers", "guarded"), [("y\ny\n", True), ("y\n\n", False)])
def test_install_offers_the_guard_on_a_terminal(user: User, repository: Path, answers: str, guarded: bool):
    shown = _run_on_terminal(user, answers, "install", "--agent", "claude", *SERVER)
    assert "git commit" in shown
    assert (user.home / ".claude.json").exists()
    assert (repository / ".git/hooks/pre-commit").exists() is guarded


def _run_on_terminal(user: User, answers: str, *words: str) -> str:
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        product.command(*words), stdin=follower, stdout=follower, stderr=follower, cwd=user.project,
        env=dict(os.environ),
    )  # fmt: skip
    os.close(follower)
    os.write(leader, answers.encode())
    shown = b""
    while select.select([leader], [], [], PATIENCE_SECONDS)[0]:
        try:
            chunk = os.read(leader, 65536)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    os.close(leader)
    assert process.wait(PATIENCE_SECONDS) == 0, shown
    return shown.decode()
