"""Copilot CLI.

- Its hooks are in a file of their own beside those of VS Code, because each of the two programs also runs the hooks of
  the other. An event that the other program's hooks also get is answered once.
- A hook does not name its event, so each command ends with it: `commonplace hook copilot preToolUse`.
- A hook that exits with 1 denies the tool, so ours always exits with 0.
- `preMcpToolCall` adds the window to each call of our tools, so they need no `session_id`.
- A compaction removes the text of `sessionStart`. It runs beside the model and may be cancelled, so it is recognised by
  its record in the transcript, and the boot pack comes again with the next prompt or edit.
"""
