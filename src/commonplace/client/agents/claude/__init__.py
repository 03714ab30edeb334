"""Claude Code.

- Servers are in `~/.claude.json`, hooks in `~/.claude/settings.json`.
- VS Code runs Claude's hooks too. Its input is recognised by the field `timestamp`; where VS Code has hooks of its
  own, the event is ignored.
- A session that ends waits for its hooks at most as long as they ask for, so `SessionEnd` asks for 5 seconds.
"""
