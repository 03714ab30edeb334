"""Codex.

- Codex runs a hook only after you have trusted it: start codex, open `/hooks` and trust those of commonplace.
- An answer with a field that Codex does not know is ignored as a whole, so warnings are sent as context.
- Codex names its thread in every call of our tools. A sub-agent is a thread of its own: it acts for its parent until it
  calls `memory_start_session`, and then is an agent of its own until it stops.
- Codex waits at most three seconds for the hooks at the end of a session.
- Codex also carries out `apply_patch` in its shell tool: the files of the patch are leased, and rules
  apply, as for an edit. What a
  model types into a program that already runs (`write_stdin`) is not sent to hooks.
"""
