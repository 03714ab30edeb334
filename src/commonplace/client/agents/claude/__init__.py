"""Claude Code.

- Servers are in `~/.claude.json`, hooks in `~/.claude/settings.json`.
- VS Code runs Claude's hooks too. Its input is recognised by the field `timestamp`; where VS Code has hooks of its
  own, the event is ignored.
- At the end of a session Claude waits for a hook only as long as its timeout, so `SessionEnd` has one of 5 seconds.
- Claude sends the id of a tool call to the server, and to `PreToolUse` before the call: the hook binds the call to its
  session, so our tools need no `session_id`.
- A sub-agent acts for its parent and edits under its leases. One that calls `memory_start_session` is an agent of its
  own with leases of its own; its session ends when it stops, or with its parent's.
- The commands of `Bash` and `Monitor` are checked before they run. `ExitWorktree` with `remove` counts as
  `git worktree remove`.
"""
