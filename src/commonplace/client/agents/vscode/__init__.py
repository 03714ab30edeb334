"""VS Code with Copilot, and Copilot's command line.

- Hooks are a file of their own in the folder that VS Code reads.
- Hooks fire for every tool: the names of the tools that edit are listed in `hooks.py`.
- VS Code asks for the key of a project once.
- After a compaction `UserPromptSubmit` is the first event that can add context, so that hook is always installed.
- The end of a session has no event.
"""
