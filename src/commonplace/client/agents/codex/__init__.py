"""Codex.

- Codex runs a hook only after you have trusted it: start codex, open `/hooks` and trust those of commonplace.
- An answer with a field that Codex does not know is void as a whole, so warnings are sent as context.
- A session's end is given three seconds at most.
"""
