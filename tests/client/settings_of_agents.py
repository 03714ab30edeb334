"""Settings as users of each agent have them: other servers, other hooks, remarks, odd spacing."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

CLAUDE = {
    ".claude.json": b"""{
  "numStartups": 42,   "installMethod" : "native",
  "projects": {"/home/ann/shop": {"allowedTools": [], "mcpServers": {}, "history": [{"display": "h\\u00e9llo // no"}]}},
  "mcpServers": {
    "github": {"type": "stdio", "command": "npx", "args": ["-y", "server-github"], "env": {}}
  },
  "oauthAccount": {"emailAddress": "ann@example.com"}
}
""",
    ".claude/settings.json": b"""{
    "model" : "opus",
    "permissions": { "allow": [ "Bash(git diff:*)" ], "deny": [] },
    "hooks": {
        "PreToolUse": [
            { "matcher": "Bash", "hooks": [ { "type": "command", "command": "~/bin/check.sh" } ] }
        ],
        "Stop": [],
        "Notification": [{"hooks": [{"type": "command", "command": "notify-send done"}]}]
    }
}""",
}

CODEX = {
    ".codex/config.toml": b"""# my codex
model = "gpt-5"   # the large one
approval_policy = "on-request"
notify = [
  "python3", "/home/ann/notify.py",  # old way
]

[projects."/home/ann/shop"]
trust_level = "trusted"

[mcp_servers.docs]
command = "docs"
args = ["--fast"]
  [mcp_servers.docs.env]
  TOKEN = 'x'

[tui]
theme = "dark\"""",
    ".codex/hooks.json": b"""{ "hooks": { "SessionStart": [ { "matcher": "startup", "hooks": [ { "type": "command", "command": "date" } ] } ] } }
""",
}

GEMINI = {
    ".gemini/settings.json": b"""// settings of Gemini
{
\t"ui": { "theme": "GitHub" }, // light
\t"mcpServers": {
\t\t/* the only one */
\t\t"files": { "command": "files", "trust": true, },
\t},
\t"hooks": {
\t\t"BeforeTool": [ { "matcher": "run_shell_command", "hooks": [ { "type": "command", "command": "guard", "timeout": 500 } ] }, ],
\t},
}
""",
}

CURSOR = {
    ".cursor/mcp.json": b'{"mcpServers": {"linear": {"url": "https://mcp.example.com/sse"}}}',
    ".cursor/hooks.json": b"""{
  "version": 1,
  "hooks": {
    "afterFileEdit": [{"command": "./format.sh"}],
    "stop": [
      {"command": "./log.sh", "timeout": 5}
    ]
  }
}

""",
}

VSCODE = {
    ".config/Code/User/mcp.json": b"""{
    // servers of every workspace
    "inputs": [
        { "type": "promptString", "id": "token", "description": "t", "password": true },
    ],
    "servers": {
        "web": { "type": "http", "url": "https://example.com/mcp" }, // remote
    },
}
""",
    ".copilot/hooks/other.json": b'{"hooks": {"Stop": [{"type": "command", "command": "true"}]}}\n',
}

WINDSURF = {
    ".codeium/windsurf/mcp_config.json": BYTE_ORDER_MARK + b'{\n  "mcpServers": {\n  }\n}\n',
    ".codeium/windsurf/hooks.json": b"""{
  "hooks": {
    "pre_run_command": [ { "command": "bash check.sh", "show_output": true } ],
    "post_write_code": [ { "command": "bash lint.sh" } ]
  }
}
""",
}

OPENCODE = {
    ".config/opencode/opencode.jsonc": b"""{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "jira": {
      "type": "remote",
      "url": "https://jira.example.com/mcp", // ours
      "enabled": true
    } // last
  },
  "plugin": ["opencode-wakatime"]
}
""",
    ".config/opencode/plugins/mine.js": b"export const Mine = async () => ({})\n",
}

EVERY = {
    "claude": CLAUDE,
    "codex": CODEX,
    "gemini": GEMINI,
    "cursor": CURSOR,
    "vscode": VSCODE,
    "windsurf": WINDSURF,
    "opencode": OPENCODE,
}
