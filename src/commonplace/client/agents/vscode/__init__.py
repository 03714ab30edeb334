"""VS Code with Copilot.

- Hooks are in a separate file, in the folder that VS Code reads. Copilot CLI runs them too, unless it has its own.
- Hooks fire for every tool: the names of the tools that edit are listed in `hooks.py`.
- VS Code asks the user once for the key of a project.
- After a compaction `UserPromptSubmit` is the first event that can add context, so that hook is always installed.
- There is no event at the end of a session.
"""
