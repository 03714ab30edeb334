"""What a parser of one transcript format consists of.

The parsers of agent programs are in `client/agents/<agent>/transcript_format.py`; `plain.py` parses lines of role and
content. `reader.py` finds the format of a transcript and calls its parser.
"""

from collections.abc import Callable
from typing import NamedTuple

from commonplace.transcripts.event import Parsed
from commonplace.transcripts.facts import Facts
from commonplace.transcripts.record import Record


class TranscriptFormat(NamedTuple):
    name: str
    is_own_record: Callable[[Record], bool]
    """Whether a line, decoded, is of this format."""
    parse_record: Callable[[Record, Facts], Parsed | None]
    """The contents of a line; None for a record type that the parser does not know."""
    parse_document_line: Callable[[bytes, Facts], Parsed | None] | None = None
    """For a format that also exists as one JSON document over many lines."""
