"""Ids from memory_start_session (`project_agent_` and 34 hex digits) are keys of live sessions, so transcripts hide them.

The digits are replaced by the digest that the store knows the session by, in the same number of characters: a masked id
still tells whose transcript it is, and opens nothing.
"""

import hashlib
import re

_SECRET_PART = re.compile(r"_([0-9a-f]{34})(?![0-9a-f])")
_MASKED_ID = re.compile(r"_~([0-9a-f]{32})~")
_BEFORE_ID = re.compile(r"[\s\"'\\]")
_MAX_NAME_CHARACTERS = 600


def hash_session_id(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def mask_session_ids(text: str) -> tuple[str, int]:
    """The text with every session id masked, and how many there were."""
    return _SECRET_PART.subn(_mask_match, text)


def digest_from_session_id(session_id: str) -> str:
    """The digest of a session by its id, masked or not."""
    masked = _MASKED_ID.search(session_id)
    return masked[1] if masked else hash_session_id(session_id)


def _mask_match(match: re.Match[str]) -> str:
    text, end = match.string, match.end()
    before = text[max(0, match.start() - _MAX_NAME_CHARACTERS) : match.start()]
    name = _BEFORE_ID.split(before)[-1]
    return f"_~{hash_session_id(name + text[match.start() : end])}~"
