"""Shortens texts that replies, notices and boot packs show: whatever is cut ends with an ellipsis, so that nobody takes a
part for the whole. Excerpts of documents, which may be cut at both ends, are in `rooms/knowledge/excerpts.py`."""

ELLIPSIS = "…"


def shorten_text(text: str, limit: int) -> str:
    """The text, or its beginning with an ellipsis, in so many characters; line breaks stay."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + ELLIPSIS


def shorten_line(text: str, limit: int) -> str:
    """The text as one line with single spaces, or its beginning with an ellipsis, in so many characters."""
    return shorten_text(" ".join(text[: 4 * limit].split()), limit)
