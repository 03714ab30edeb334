"""What the hash of a document, and that of each of its versions, covers (`store/row_hashes.py`).

These lists are not those of the statements: a column that is added to one of them changes every hash.
"""

from commonplace.store.row_hashes import HashedTable

# Without `opened` and `recalled`: uses are counted without the rest of the row.
_DOCUMENT = (
    "project, id, type, title, content, status, author, tags, files, derived_from, flags, interface_name,"
    " interface_version, interface_owner, interface_schema, superseded_by, digest, version, created_at, changed_at,"
    " updated_at, expires_at"
)
_VERSION = "project, document, version, at, author, what, status, title, content, reason"

HASHED_DOCUMENTS = HashedTable("document", ("id",), tuple(_DOCUMENT.split(", ")))
HASHED_VERSIONS = HashedTable(
    "document_version", ("document", "version"), tuple(_VERSION.split(", ")), number_keys=("version",)
)
