"""Codex.

- Codex runs a hook only after you have trusted it: start codex, open `/hooks` and trust those of commonplace.
- An answer with a field that Codex does not know is ignored as a whole, so warnings are sent as context.
- Codex waits at most three seconds for the hooks at the end of a session.
"""
