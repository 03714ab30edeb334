"""The manifests of plugins and registries are what `packaging/source.toml` and the settings of agents say."""

import json
import tomllib
from pathlib import Path

import pytest

import commonplace
import manifests

ROOT = Path(__file__).parents[1]
RENDERED = manifests.render_manifests()
NAMES = {"name", "version", "description", "author", "homepage", "repository", "license", "keywords"}


@pytest.mark.parametrize("path", sorted(RENDERED))
def test_manifest_is_as_its_source_says(path: str):
    assert (ROOT / path).read_text() == RENDERED[path], "run `make docs` and look at the difference"


def read(path: str) -> dict:
    return json.loads(RENDERED[path])


def test_every_manifest_has_the_version_of_the_program():
    for path in ("plugin/plugin.json", "server.json", "mcpb/manifest.json", "gemini/gemini-extension.json"):
        assert read(f"packaging/{path}")["version"] == commonplace.__version__


def test_agent_plugin_has_only_the_fields_of_its_closed_schema():
    assert read("packaging/plugin/plugin.json").keys() - {"$schema"} == NAMES


def test_plugins_start_the_distribution_that_is_published():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for path in ("plugin/mcp.json", "plugin/.mcp.json", "gemini/gemini-extension.json"):
        [server] = read(f"packaging/{path}")["mcpServers"].values()
        assert (server["command"], server["args"]) == ("uvx", [project["name"], "stdio"])
    assert project["name"] in project["scripts"]


def test_hooks_of_plugins_are_those_that_install_writes():
    for path, agent in (
        ("plugin/hooks/hooks.json", "claude"),
        ("plugin/hooks/codex.json", "codex"),
        ("gemini/hooks/hooks.json", "gemini"),
    ):
        hooks = read(f"packaging/{path}")["hooks"]
        commands = {
            each["command"] for groups in hooks.values() for group in groups for each in group["hooks"]
        }
        assert (commands, "SessionStart" in hooks) == ({f"uvx commonplace-mcp hook {agent}"}, True)


def test_gemini_is_told_which_variables_to_pass_on():
    """It drops every variable that looks like a secret and is not declared."""
    extension = read("packaging/gemini/gemini-extension.json")
    declared = {setting["envVar"] for setting in extension["settings"]}
    assert (
        extension["mcpServers"]["commonplace"]["env"].keys()
        == declared
        == {"COMMONPLACE_URL", "COMMONPLACE_KEY"}
    )


def test_one_setting_names_the_owner_everywhere():
    text = (ROOT / "packaging/source.toml").read_text()
    filled = manifests.read_source(text.replace('owner = "OWNER"', 'owner = "ann-and-ben"'))
    assert filled["registry_name"] == "io.github.ann-and-ben/commonplace"
    assert manifests._fill_registry_name("README.md", filled).count(filled["registry_name"]) == 1
    assert (
        manifests._fill_registry_name("deploy/docker/Dockerfile", filled).count(filled["registry_name"]) == 1
    )
    assert text.count("OWNER") == 1
