"""Shortens texts that replies, notices and boot packs show: whatever is cut ends with an ellipsis, so that nobody takes a
part for the whole. Excerpts of documents, which may be cut at both ends, are in `rooms/knowledge/excerpts.py`."""

from collections.abc import Sequence

ELLIPSIS = "…"


def shorten_text(text: str, limit: int) -> str:
    """The text, or its beginning with an ellipsis, in so many characters; line breaks stay."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + ELLIPSIS


def shorten_line(text: str, limit: int) -> str:
    """The text as one line with single spaces, or its beginning with an ellipsis, in so many characters."""
    return shorten_text(" ".join(text[: 4 * limit].split()), limit)


def shorten_middle(text: str, limit: int) -> str:
    """The text, or its beginning and its end with an ellipsis between them, in about so many characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2].rstrip()} {ELLIPSIS} {text[-(limit // 2) :].lstrip()}"


def list_names(names: Sequence[str], limit: int) -> str:
    """List a few names and count the rest: `a.py, b.py and 3 more`."""
    distinct = sorted(set(names))
    more = len(distinct) - limit
    return ", ".join(distinct[:limit]) + (f" and {more} more" if more > 0 else "")
