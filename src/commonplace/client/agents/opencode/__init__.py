"""opencode.

- opencode runs plugins instead of commands; the installed plugin runs `commonplace hook opencode`.
- Settings may be `opencode.json` or `opencode.jsonc`; the second version of the format keeps servers one level deeper.
- The plugin adds `session_id` (`agent_session` for tools other than `memory_*`) to calls of our tools that have none.
- A sub-agent is a session with a parent: it acts for its parent until it calls `memory_start_session`, and then is an
  agent of its own until it is idle.
- Sessions are in a SQLite database, which `commonplace sync` only reads; each is exported to a file before it is sent.
- A session ends when it is deleted and when opencode ends.
"""
