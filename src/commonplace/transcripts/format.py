"""What a parser of one transcript format consists of.

The parsers of agent programs are in `client/agents/<agent>/transcript_format.py`; `plain.py` parses lines of role and
content. `reader.py` finds the format of a transcript and calls its parser.
"""

from collections.abc import Callable
from typing import NamedTuple

from commonplace.transcripts.json_record import Record
from commonplace.transcripts.transcript_event import ParsedLine
from commonplace.transcripts.transcript_state import TranscriptState


class TranscriptFormat(NamedTuple):
    name: str
    is_own_record: Callable[[Record], bool]
    """Whether a line, decoded, is of this format."""
    parse_record: Callable[[Record, TranscriptState], ParsedLine | None]
    """The contents of a line; None for a record type that the parser does not know."""
    parse_document_line: Callable[[bytes, TranscriptState], ParsedLine | None] | None = None
    """For a format that also exists as one JSON document over many lines."""
