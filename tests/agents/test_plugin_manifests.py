"""The manifests in packaging/ are accepted by the programs that read them."""

import os
import subprocess
from pathlib import Path

import pytest
from programs import CLAUDE, CODEX, GEMINI, DrivenProgram, program_path

from conftest import require_program
from patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]


def run(program: DrivenProgram, home: Path, *words: str) -> str:
    """Run it with an empty home; returns what it printed."""
    done = subprocess.run(
        [str(program.path), *words],
        env=os.environ | program_path() | {"HOME": str(home), "CODEX_HOME": str(home / ".codex")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        cwd=home,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("folder", ["", "packaging/plugin"])
def test_claude_accepts_the_marketplace_and_the_plugin(folder: str, tmp_path: Path):
    require_program(CLAUDE)
    assert "Validation passed" in run(CLAUDE, tmp_path, "plugin", "validate", str(ROOT / folder))


def test_codex_installs_the_plugin(tmp_path: Path):
    require_program(CODEX)
    (tmp_path / ".codex").mkdir()
    run(CODEX, tmp_path, "plugin", "marketplace", "add", str(ROOT))
    run(CODEX, tmp_path, "plugin", "add", "commonplace@commonplace")
    assert "commonplace" in run(CODEX, tmp_path, "mcp", "list")


def test_gemini_accepts_the_extension(tmp_path: Path):
    require_program(GEMINI)
    run(GEMINI, tmp_path, "extensions", "validate", str(ROOT / "packaging/gemini"))
