"""opencode.

- opencode runs plugins instead of commands; the installed plugin runs `commonplace hook opencode`.
- Settings may be `opencode.json` or `opencode.jsonc`; the second version of the format keeps servers one level deeper.
- The plugin adds `session_id` to calls of the tools `memory_*` that have none.
"""
