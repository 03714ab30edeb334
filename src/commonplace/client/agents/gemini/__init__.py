"""Gemini CLI.

- One file holds servers and hooks. Timeouts are in milliseconds.
- `PreCompress` runs before every model request, so a compaction is recognised by the summary in the transcript.
- Gemini sends nothing to the server that names its session, so the hook adds `session_id` (`agent_session` for tools
  other than `memory_*`) to calls of our tools that have none. Gemini then tells the model that a hook modified the
  parameters; a call that names its session, as the boot pack asks for, is not modified.
- A sub-agent cannot be told from its parent: it acts for it.
- After a compaction `BeforeAgent` is the first event that can add context, so that hook is always installed.
- Its shell tool runs git without the user's global git settings: the repository's settings need a name and an e-mail
  address, or commits fail.
"""
