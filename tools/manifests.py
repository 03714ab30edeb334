"""Write every manifest by which people find and install Commonplace, from one source: `packaging/source.toml`.

`make docs` runs it; a test fails if a file differs from what it would write. The formats are those of Agent Plugins
1.0.0, Claude Code, Codex, Cursor and Gemini CLI plugins, the MCP registry (server.json), .mcpb 0.4, and llms.txt.
A plugin's server is `commonplace stdio`, which takes its project from the agent's roots or the session, never from the
folder in which it was started: Codex starts it in the plugin's cache.
"""

import base64
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "packaging"
sys.path.insert(0, str(ROOT / "src"))

from commonplace import __version__  # noqa: E402 - after the path
from commonplace.client.agents import load_settings  # noqa: E402 - the same
from commonplace.client.install.machine import Machine  # noqa: E402 - the same
from commonplace.client.install.setting_edits import AppendElement  # noqa: E402 - the same

AGENT_PLUGIN_SCHEMA = "https://agent-plugins.org/schemas/1.0.0"
_REGISTRY_NAME = re.compile(r"io\.github\.[\w-]+/commonplace")
REGISTRY_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def main() -> None:
    for path, text in render_manifests().items():
        file = ROOT / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def render_manifests() -> dict[str, str]:
    """Every file by its path in the repository."""
    source = read_source()
    plugin = _plugin(source)
    skill = (OUTPUT / "SKILL.md").read_text(encoding="utf-8")
    files: dict[str, Any] = {
        "plugin/plugin.json": {"$schema": f"{AGENT_PLUGIN_SCHEMA}/plugin.schema.json", **plugin},
        "plugin/mcp.json": {
            "$schema": f"{AGENT_PLUGIN_SCHEMA}/mcp.schema.json",
            "mcpServers": {source["name"]: {"type": "stdio", **_stdio(source)}},
        },
        "plugin/.mcp.json": {"mcpServers": {source["name"]: _stdio(source)}},
        "plugin/.claude-plugin/plugin.json": plugin,
        "plugin/.codex-plugin/plugin.json": plugin
        | {"hooks": "./hooks/codex.json", "mcpServers": "./.mcp.json"},
        "plugin/.cursor-plugin/plugin.json": plugin,
        "plugin/hooks/hooks.json": _hooks(source, "claude"),
        "plugin/hooks/codex.json": _hooks(source, "codex"),
        "gemini/gemini-extension.json": _gemini(source),
        "gemini/hooks/hooks.json": _hooks(source, "gemini"),
        "server.json": _registry(source),
        "mcpb/manifest.json": _bundle(source),
    }
    texts = {path: json.dumps(content, indent=2) + "\n" for path, content in files.items()}
    texts |= {
        "plugin/skills/commonplace/SKILL.md": skill,
        "gemini/COMMONPLACE.md": skill.split("---\n", 2)[2].lstrip(),
        "llms.txt": _llms(source),
        "install-links.md": _links(source),
        "mcpb/pyproject.toml": _bundle_project(source),
        "mcpb/server.py": _BUNDLE_SERVER,
    }
    # Programs look for a marketplace at the root of a repository; its plugin must be in a folder below.
    marketplace = json.dumps(_marketplace(source), indent=2) + "\n"
    return {f"packaging/{path}": text for path, text in texts.items()} | {
        ".claude-plugin/marketplace.json": marketplace,
        **{path: _fill_registry_name(path, source) for path in ("README.md", "deploy/docker/Dockerfile")},
    }


def read_source(text: str | None = None) -> dict[str, Any]:
    """The source with its `owner` filled in."""
    plain = text or (OUTPUT / "source.toml").read_text(encoding="utf-8")
    return tomllib.loads(plain.replace("{owner}", tomllib.loads(plain)["owner"]))


def _fill_registry_name(path: str, source: dict[str, Any]) -> str:
    """The MCP registry looks for its name in the README of a package and in the label of an image, as a proof."""
    return _REGISTRY_NAME.sub(source["registry_name"], (ROOT / path).read_text(encoding="utf-8"))


def _plugin(source: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": source["name"],
        "version": __version__,
        "description": source["description"],
        "author": {"name": source["author"]},
        "homepage": source["homepage"],
        "repository": source["repository"],
        "license": source["license"],
        "keywords": source["keywords"],
    }


def _stdio(source: dict[str, Any]) -> dict[str, Any]:
    return {"command": "uvx", "args": [source["distribution"], "stdio"]}


def _hooks(source: dict[str, Any], agent: str) -> dict[str, Any]:
    """The hooks that `commonplace install` writes, with a command that needs no installation."""
    nowhere = Path("/")
    machine = Machine(nowhere, nowhere, ("uvx", source["distribution"]), platform="linux", environment={})
    hooks: dict[str, list[Any]] = {}
    for edit in load_settings(agent).hook_edits(machine, False):
        if isinstance(edit, AppendElement):
            hooks.setdefault(edit.at[1], []).append(_match_plugin_tools(dict(edit.value)))
    return {"hooks": hooks}


def _match_plugin_tools(group: dict[str, Any]) -> dict[str, Any]:
    """Claude Code names the tools of a plugin's server mcp__plugin_<plugin>_<server>__<tool>."""
    if "mcp__commonplace__" in group.get("matcher", ""):
        group["matcher"] = group["matcher"].replace(
            "mcp__commonplace__", "mcp__(plugin_commonplace_)?commonplace__"
        )
    return group


def _marketplace(source: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": source["name"],
        "owner": {"name": source["author"]},
        "metadata": {"description": source["description"], "version": __version__},
        "plugins": [
            {
                "name": source["name"],
                "source": "./packaging/plugin",
                "description": source["description"],
                "version": __version__,
                "category": "productivity",
            }
        ],
    }


def _gemini(source: dict[str, Any]) -> dict[str, Any]:
    # Gemini CLI passes on only variables that are declared here.
    environment = {setting["variable"]: f"${{{setting['variable']}}}" for setting in source["settings"]}
    return {
        "name": source["name"],
        "version": __version__,
        "description": source["description"],
        "mcpServers": {source["name"]: _stdio(source) | {"env": environment}},
        "contextFileName": "COMMONPLACE.md",
        "settings": [
            {
                "name": setting["title"],
                "description": setting["description"],
                "envVar": setting["variable"],
                "sensitive": setting["secret"],
            }
            for setting in source["settings"]
        ],
    }


def _registry(source: dict[str, Any]) -> dict[str, Any]:
    return {
        "$schema": REGISTRY_SCHEMA,
        "name": source["registry_name"],
        "title": source["title"],
        "description": source["short"],
        "version": __version__,
        "repository": {"url": source["repository"], "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "identifier": source["distribution"],
                "version": __version__,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [{"type": "positional", "value": "stdio"}],
                "environmentVariables": [
                    {
                        "name": setting["variable"],
                        "description": setting["description"],
                        "isRequired": False,
                        "isSecret": setting["secret"],
                    }
                    for setting in source["settings"]
                ],
            }
        ],
        "remotes": [
            {
                "type": "streamable-http",
                "url": "{server}/mcp",
                "variables": {"server": {"description": "Address of your team's server", "isRequired": True}},
                "headers": [
                    {
                        "name": "Authorization",
                        "description": "Bearer KEY",
                        "isRequired": False,
                        "isSecret": True,
                    }
                ],
            }
        ],
    }


def _bundle(source: dict[str, Any]) -> dict[str, Any]:
    return {
        "manifest_version": "0.4",
        "name": source["name"],
        "display_name": source["title"],
        "version": __version__,
        "description": source["short"],
        "long_description": source["description"],
        "author": {"name": source["author"]},
        "repository": {"type": "git", "url": source["repository"]},
        "homepage": source["homepage"],
        "license": source["license"],
        "keywords": source["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uvx",
                "args": [source["distribution"], "stdio"],
                "env": {
                    setting["variable"]: f"${{user_config.{setting['key']}}}"
                    for setting in source["settings"]
                },
            },
        },
        "user_config": {
            setting["key"]: {
                "type": "string",
                "title": setting["title"],
                "description": setting["description"],
                "required": False,
                "sensitive": setting["secret"],
                "default": "",
            }
            for setting in source["settings"]
        },
    }


_BUNDLE_SERVER = '''"""Starts the stdio proxy of Commonplace."""

import sys

from commonplace.__main__ import main

sys.exit(main(["stdio"]))
'''


def _bundle_project(source: dict[str, Any]) -> str:
    return (
        "[project]\n"
        f'name = "{source["name"]}-bundle"\nversion = "{__version__}"\nrequires-python = ">=3.11"\n'
        f'dependencies = ["{source["distribution"]}=={__version__}"]\n'
    )


def _links(source: dict[str, Any]) -> str:
    """Links that open an editor and offer to add the server."""
    server = _stdio(source)
    encoded = base64.b64encode(json.dumps(server).encode()).decode()
    code = quote(json.dumps({"name": source["name"], **server}))
    cursor = f"cursor://anysphere.cursor-deeplink/mcp/install?name={source['name']}&config={quote(encoded)}"
    redirect = f"https://insiders.vscode.dev/redirect/mcp/install?name={source['name']}&config={quote(json.dumps(server))}"
    return (
        "# Links that install the server\n\n"
        f"- [Add to Cursor]({cursor})\n- [Add to VS Code](vscode:mcp/install?{code})\n- [Add to VS Code, from a web page]({redirect})\n"
    )


def _llms(source: dict[str, Any]) -> str:
    pages = f"{source['repository']}/blob/main/docs"
    listed = "\n".join(f"- [{title}]({pages}/{path})" for path, title in source["pages"].items())
    return (
        f"# {source['title']}\n\n> {source['description']}\n\n"
        f"Install: `uvx {source['distribution']} up` starts the server and connects the agents of this machine.\n"
        f"One agent: `uvx {source['distribution']} connect claude` (codex, gemini, cursor, vscode, windsurf, opencode, copilot).\n\n"
        f"## Guides\n\n{listed}\n"
    )


if __name__ == "__main__":
    main()
