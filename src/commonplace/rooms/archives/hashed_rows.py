"""What the hash of an archive, and that of each of its frames, covers (`store/row_hashes.py`).

These lists are not those of the statements: a column that is added to one of them changes every hash.
"""

from commonplace.store.row_hashes import HashedTable

_ARCHIVE = (
    "project, workspace, session, tool, title, bytes, lines, line_start, compressed_bytes, sha256, started_at, ended_at,"
    " created_at, updated_at, masking_version, masked_lines"
)
_FRAME = "project, workspace, session, first_byte, raw_bytes, lines_before, lines_through, sha256, stored_bytes, address, body"

HASHED_ARCHIVES = HashedTable("archive", ("workspace", "session"), tuple(_ARCHIVE.split(", ")))
HASHED_FRAMES = HashedTable(
    "archive_frame",
    ("workspace", "session", "first_byte"),
    tuple(_FRAME.split(", ")),
    number_keys=("first_byte",),
    batch_rows=8,
)
