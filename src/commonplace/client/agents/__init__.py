"""One file an agent: how its input becomes an event, and an answer its output.

`HEARS` are the kinds of event whose answer can add to what the model knows, `WARNS` those where a person can be told.
"""

AGENTS = ("claude", "codex", "gemini", "cursor", "vscode", "windsurf", "opencode")
