"""Shell completion and the manual page come from the parser, so they have every command."""

import shutil
import subprocess

import pytest

from commonplace.cli.completion import list_nodes, render_bash, render_fish
from commonplace.cli.manual import render_manual
from commonplace.cli.parser import COMMANDS
from patience import PATIENCE_SECONDS

NODES = list_nodes(COMMANDS)


def run(*words: str, stdin: str) -> subprocess.CompletedProcess[str]:
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    return subprocess.run(
        words, input=stdin, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ba"], ["backup", "backlog"]),
        (["key", "cr"], ["create"]),
        (["serve", "--transp"], ["--transport"]),
        (["serve", "--transport", ""], ["http", "stdio"]),
        (["serve", "--port", "9000", "--auth", "o"], ["on", "off"]),
    ],
)
def test_bash_offers_commands_flags_and_values(words: list[str], offered: list[str]):
    line = " ".join(f"'{word}'" for word in words)
    script = f"COMP_WORDS=(commonplace {line}); COMP_CWORD={len(words)}; _commonplace; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = run("bash", "--norc", stdin=f"{render_bash(NODES)}\n{script}\n")
    assert (done.stderr, set(done.stdout.split())) == ("", set(offered))


def test_fish_accepts_its_script():
    assert run("fish", "--no-execute", stdin=render_fish(NODES)).stderr == ""


def test_manual_has_every_command_and_groff_has_no_complaint():
    page = render_manual(COMMANDS)
    assert [command for command in COMMANDS if f"\n.SS commonplace {command.name}\n" not in page] == []
    done = run("groff", "-man", "-Tascii", "-ww", "-z", stdin=page)
    assert (done.returncode, done.stderr) == (0, "")
