"""Which lines of a version that others know too an edit changes."""

from collections.abc import Sequence

from commonplace.client.checkout.weave import Change, diff_tokens
from commonplace.file_region import LineSpan, join_spans


def find_changed_spans(base: str, before: str, after: str) -> tuple[LineSpan, ...]:
    """What an edit from `before` to `after` changes, counted in the base; what others had changed before is left out."""
    old, new = before.encode("utf-8", "surrogateescape"), after.encode("utf-8", "surrogateescape")
    lines = old.split(b"\n")
    known = diff_tokens(base.encode("utf-8", "surrogateescape").split(b"\n"), lines)
    changes = diff_tokens(lines, new.split(b"\n"))
    is_append = len(changes) == 1 and changes[0].start == changes[0].end
    spans = [
        LineSpan(_find_in_base(known, change.start, 0), _find_in_base(known, change.end, 1))
        for change in changes
    ]
    return join_spans(LineSpan(span.start, span.end, is_append and span.start == span.end) for span in spans)


def _find_in_base(known: Sequence[Change], boundary: int, side: int) -> int:
    """The boundary in the base that this one of the changed text is; inside of a change the base's, on this side."""
    offset = 0
    for change in known:
        if boundary < change.first:
            break
        if boundary == change.first and (side or change.first != change.last):
            return change.start
        if boundary < change.last:
            return change.end if side else change.start
        offset = change.end - change.last
    return boundary + offset
