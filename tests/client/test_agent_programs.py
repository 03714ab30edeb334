"""Every agent in the registry has every part that it declares, and stands in every table of the tests and docs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from agent_samples import load_samples

import commonplace.client.agents as registry
from agent_tables import GUIDES, fill_tables
from commonplace.__main__ import main
from commonplace.client.agents import (
    AGENTS,
    AGENTS_WITH_HOOKS,
    AGENTS_WITH_TRANSCRIPTS,
    ARCHIVED_PROGRAMS,
    PROGRAMS,
)
from commonplace.client.companion.hook_event import AgentHooks
from commonplace.client.install.agent_settings import AgentSettings
from commonplace.client.install.machine import Machine
from commonplace.client.link.remote import RemoteServer
from commonplace.client.link.transcript import AgentTranscripts
from commonplace.transcripts.format import TranscriptFormat

TOP = Path(__file__).parents[2]
FOLDERS = Path(registry.__file__).parent
MACHINE = Machine(Path("/home/ann"), Path("/home/ann/shop"), ("/bin/commonplace",), "linux", {})


def test_every_folder_is_an_agent_of_the_registry_and_every_agent_has_a_folder():
    assert {path.parent.name for path in FOLDERS.glob("*/__init__.py")} == set(PROGRAMS)


@pytest.mark.parametrize("agent", PROGRAMS)
def test_agent_has_the_files_of_the_parts_that_it_declares_and_no_others(agent: str):
    parts = {"settings.py"} if agent in AGENTS else set()
    parts |= {"hooks.py"} if agent in AGENTS_WITH_HOOKS else set()
    parts |= {"transcripts.py", "transcript_format.py"} if agent in AGENTS_WITH_TRANSCRIPTS else set()
    assert {path.name for path in (FOLDERS / agent).glob("*.py")} == parts | {"__init__.py"}
    assert registry.load_quirks(agent).strip()


@pytest.mark.parametrize("agent", AGENTS)
def test_agent_declares_parts_of_the_right_types(agent: str):
    settings = registry.load_settings(agent)
    assert isinstance(settings, AgentSettings)
    assert settings.connection_edits(MACHINE, RemoteServer("http://127.0.0.1:1", "key"), "user")
    if agent in AGENTS_WITH_HOOKS:
        assert isinstance(registry.load_hooks(agent), AgentHooks)


@pytest.mark.parametrize("agent", AGENTS_WITH_TRANSCRIPTS)
def test_agent_says_where_its_transcripts_are(agent: str):
    assert isinstance(registry.load_transcripts(agent), AgentTranscripts)


def test_archived_program_is_no_agent_that_can_be_connected():
    assert set(ARCHIVED_PROGRAMS) <= set(AGENTS_WITH_TRANSCRIPTS)
    assert not set(ARCHIVED_PROGRAMS) & (set(AGENTS) | set(AGENTS_WITH_HOOKS))


def test_every_agent_with_transcripts_has_a_format_of_its_tools_name():
    formats = list(registry.load_transcript_formats())
    assert all(isinstance(each, TranscriptFormat) for each in formats)
    assert [each.name for each in formats] == [
        PROGRAMS[name].transcript_tool for name in AGENTS_WITH_TRANSCRIPTS
    ]


@pytest.mark.parametrize("agent", AGENTS)
def test_settings_run_hooks_only_at_events_that_the_hooks_know(agent: str):
    settings = registry.load_settings(agent)
    edits = [*settings.hook_edits(MACHINE, False), *settings.hook_edits(MACHINE, True)]
    if agent not in AGENTS_WITH_HOOKS:
        assert (edits, settings.hook_events) == ([], ())
        return
    hooks = registry.load_hooks(agent)
    assert edits
    assert settings.hook_events
    assert set(settings.hook_events) <= set(hooks.events)
    kinds = {
        *hooks.events.values(),
        "before_shell",
        "after_shell",
    }  # most programs send them as the event of any tool
    assert hooks.context_kinds | hooks.warning_kinds <= kinds
    written = {edit.at[1] for edit in edits if getattr(edit, "at", ())[:1] == ("hooks",)}
    assert written <= set(hooks.events)


@pytest.mark.parametrize("agent", AGENTS)
def test_agent_has_a_sample_for_the_tests(agent: str):
    sample = load_samples()[agent]
    assert sample.SETTINGS
    assert sample.CONNECTION
    assert bool(sample.PROJECT_CONNECTION) == registry.load_settings(agent).has_project_scope
    assert bool(sample.EVENTS) == (agent in AGENTS_WITH_HOOKS)


@pytest.mark.parametrize("agent", AGENTS_WITH_HOOKS)
def test_simulated_agent_sends_events_that_the_hooks_know(agent: str):
    known = registry.load_hooks(agent).events
    assert {name: known[event] for name, event in load_samples()[agent].EVENTS.items()} == {
        name: name for name in load_samples()[agent].EVENTS
    }


@pytest.mark.parametrize("command", ["connect", "install", "hook"])
def test_help_names_every_agent(command: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert [agent for agent in AGENTS if agent not in shown] == []


def test_hook_of_one_agent_imports_no_other_agent():
    script = (
        "import io, json, sys\n"
        "from commonplace.client.companion import program\n"
        "program.run('claude', b'{}')\n"
        "print(json.dumps(sorted(name for name in sys.modules if name.startswith('commonplace.client.agents.'))))"
    )
    loaded = json.loads(
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    )
    assert loaded == ["commonplace.client.agents.claude", "commonplace.client.agents.claude.hooks"]


@pytest.mark.parametrize("guide", GUIDES)
def test_tables_of_the_guides_are_those_of_the_registry(guide: str):
    text = (TOP / guide).read_text(encoding="utf-8")
    assert fill_tables(text) == text, "run make docs"
    assert "<!-- agents: " in text


def test_guide_names_the_versions_of_the_programs_that_are_driven():
    pinned = json.loads((TOP / "tests/agents/package.json").read_text())["optionalDependencies"]
    guide = (TOP / "docs/guides/agents.md").read_text()
    assert [version for version in pinned.values() if f" {version}" not in guide] == []
