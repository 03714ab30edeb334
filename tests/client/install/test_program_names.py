"""The command that stands in settings lasts, and the one that is printed can be typed."""

import subprocess
import sys
from pathlib import Path

import pytest
from user import User

from commonplace import errors
from commonplace.client import program
from commonplace.config import list_former_variables, read_settings
from patience import PATIENCE_SECONDS

SERVER = ("--url", "http://127.0.0.1:9", "--key", "smk_x", "--force")


@pytest.mark.processes
def test_install_puts_the_program_where_a_shell_finds_it_and_uninstall_takes_it_away(user: User):
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    shim = user.home / ".local" / "bin" / program.script_name()
    done = subprocess.run(
        [str(shim), "--version"], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert (done.returncode, done.stdout.split()[0]) == (0, "commonplace")
    user.runs("uninstall", "--yes")
    assert not shim.exists()


def test_install_leaves_another_program_of_the_name_alone(user: User):
    other = user.home / ".local" / "bin" / program.script_name()
    other.parent.mkdir(parents=True)
    other.write_text("#!/bin/sh\necho mine\n")
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    assert other.read_text() == "#!/bin/sh\necho mine\n"


@pytest.mark.parametrize(
    ("prefix", "is_temporary"),
    [
        ("/home/ann/.cache/uv/archive-v0/Xy12", True),
        ("/home/ann/.local/pipx/.cache/0f3c", True),
        ("/home/ann/.local/share/uv/tools/commonplace-mcp", False),
        ("/home/ann/.local/pipx/venvs/commonplace-mcp", False),
        ("/srv/commonplace/.venv", False),
    ],
)
def test_an_environment_in_a_cache_is_temporary(prefix: str, is_temporary: bool):
    assert program.is_temporary(prefix) == is_temporary


def test_a_run_from_a_cache_without_an_installer_is_refused(user: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "prefix", "/home/ann/.cache/uv/archive-v0/Xy12")
    monkeypatch.setenv("PATH", str(user.home))
    monkeypatch.delenv("UV", raising=False)
    with pytest.raises(errors.Invalid):
        program.make_lasting()


def test_printed_commands_can_be_typed_where_no_shell_finds_the_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_BIN_HOME", str(tmp_path / "bin"))
    shown = program.spell_commands(
        "Start it: commonplace serve. See commonplace.example.org and commonplace-mcp."
    )
    name = program.name_program()
    assert name != "commonplace"
    assert shown == f"Start it: {name} serve. See commonplace.example.org and commonplace-mcp."


def test_variables_of_former_servers_are_read_or_named():
    settings = read_settings({}, {"PORT": "9123", "LIBRARIAN_PROJECT_ROOTS": '{"shop": "/src/shop"}'})
    assert (settings.port, settings.librarian) == (9123, ("shop=/src/shop",))
    with pytest.raises(errors.Invalid):
        read_settings({}, {"LIBRARIAN_PROJECT_ROOTS": '{"shop": 1}'})
    notes = list_former_variables({"MONGO_URI": "x", "CHROMA_HOST": "y", "MEMORY_ROOT": "/m", "MONGODB": "z"})
    assert [note.split()[0] for note in notes] == ["MEMORY_ROOT", "MONGO_URI", "CHROMA_HOST"]
