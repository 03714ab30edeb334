"""Decodes BSON (bsonspec.org) as `mongodump` writes it: files of documents, and archives of several collections.

Input may be anything: every length is checked before it is followed, and ValueError says what is wrong. Types that no
memory server uses are refused by their number.
"""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

ARCHIVE_MAGIC = struct.pack("<I", 0x8199E26D)
_TERMINATOR = -1
_MAX_DOCUMENT_BYTES = 16 * 1024 * 1024 + 16 * 1024
"""What MongoDB allows in a document, and in the fields that it adds."""
_MAX_DEPTH = 100
_LENGTH_BYTES = 4
_MIN_DOCUMENT_BYTES = _LENGTH_BYTES + 1
# Types with a fixed size, and how to unpack them: double, bool, date, int32, timestamp, int64.
_FIXED_TYPES = {0x01: "<d", 0x08: "<?", 0x09: "<q", 0x10: "<i", 0x11: "<Q", 0x12: "<q"}
_STRING_TYPES = (0x02, 0x0D, 0x0E)
_EMPTY_TYPES = (0x06, 0x0A, 0x7F, 0xFF)
_DOCUMENT, _ARRAY, _BINARY, _OBJECT_ID, _REGEX, _DECIMAL = 0x03, 0x04, 0x05, 0x07, 0x0B, 0x13
_BYTES_OF_TYPE = {_OBJECT_ID: 12, _DECIMAL: 16}

Document = dict[str, Any]


class ByteStream(Protocol):
    def read(self, size: int, /) -> bytes: ...


class ArchivedDocument(NamedTuple):
    namespace: str
    """Database and collection, with a dot between them."""
    document: Document


def read_documents(stream: ByteStream) -> Iterator[Document]:
    """The documents of a `.bson` file."""
    while (length := _read_length(stream)) is not None:
        yield _read_document(stream, length)


def read_archive(stream: ByteStream) -> Iterator[ArchivedDocument]:
    """The documents of a `mongodump --archive` file, whose collections may alternate."""
    if stream.read(len(ARCHIVE_MAGIC)) != ARCHIVE_MAGIC:
        raise ValueError("not an archive of mongodump")
    _, *collections = _read_block(stream, _read_length(stream))
    unfinished = {_name_namespace(each) for each in collections}
    while (length := _read_length(stream)) is not None:
        header = _read_document(stream, length)
        namespace = _name_namespace(header)
        if header.get("EOF"):
            unfinished.discard(namespace)
        for document in _read_block(stream, _read_length(stream)):
            yield ArchivedDocument(namespace, document)
    if unfinished:
        raise ValueError(f"the archive ends before all of {', '.join(sorted(unfinished)[:5])}")


def _read_block(stream: ByteStream, length: int | None) -> Iterator[Document]:
    """Documents up to a terminator; `length` is that of the first."""
    while length != _TERMINATOR:
        if length is None:
            raise ValueError("the archive ends inside a collection")
        yield _read_document(stream, length)
        length = _read_length(stream)


def _name_namespace(header: Document) -> str:
    return f"{header.get('db')}.{header.get('collection')}"


def _read_length(stream: ByteStream) -> int | None:
    """The next length; None at the end of the file."""
    head = stream.read(_LENGTH_BYTES)
    if not head:
        return None
    if len(head) < _LENGTH_BYTES:
        raise ValueError("the file ends inside a document")
    length: int = struct.unpack("<i", head)[0]
    return length


def _read_document(stream: ByteStream, length: int) -> Document:
    if not _MIN_DOCUMENT_BYTES <= length <= _MAX_DOCUMENT_BYTES:
        raise ValueError(f"a document of {length} bytes")
    body = stream.read(length - _LENGTH_BYTES)
    if len(body) < length - _LENGTH_BYTES:
        raise ValueError("the file ends inside a document")
    return _decode_fields(body, 0, len(body), _MAX_DEPTH)


def _decode_fields(content: bytes, position: int, end: int, depth: int) -> Document:
    """The fields from a position to the end, which is that after the closing zero."""
    if not depth:
        raise ValueError(f"documents nested more than {_MAX_DEPTH} deep")
    fields: Document = {}
    last = end - 1
    while position < last:
        kind, name_end = content[position], content.index(0, position + 1, end)
        name = content[position + 1 : name_end].decode("utf-8", "replace")
        fields[name], position = _decode_value(kind, content, name_end + 1, last, depth)
    if position != last or content[last]:
        raise ValueError("a document with a wrong length")
    return fields


def _decode_value(kind: int, content: bytes, position: int, end: int, depth: int) -> tuple[Any, int]:
    """A value and the position after it; it must end before `end`."""
    if kind in _EMPTY_TYPES:
        return None, position
    if form := _FIXED_TYPES.get(kind):
        after = _require_room(position, struct.calcsize(form), end)
        return struct.unpack_from(form, content, position)[0], after
    if size := _BYTES_OF_TYPE.get(kind):
        after = _require_room(position, size, end)
        return content[position:after].hex(), after
    if kind == _REGEX:
        middle = content.index(0, position, end)
        return content[position:middle].decode("utf-8", "replace"), content.index(0, middle + 1, end) + 1
    return _decode_sized_value(kind, content, position, end, depth)


def _decode_sized_value(kind: int, content: bytes, position: int, end: int, depth: int) -> tuple[Any, int]:
    """A value that begins with its length."""
    start = _require_room(position, _LENGTH_BYTES, end)
    (length,) = struct.unpack_from("<i", content, position)
    if kind in (_DOCUMENT, _ARRAY):
        after = _require_room(position, length, end, _MIN_DOCUMENT_BYTES)
        fields = _decode_fields(content, start, after, depth - 1)
        return (list(fields.values()) if kind == _ARRAY else fields), after
    if kind in _STRING_TYPES:
        after = _require_room(start, length, end, 1)
        return content[start : after - 1].decode("utf-8", "replace"), after
    if kind == _BINARY:
        after = _require_room(start, length + 1, end, 1)
        return content[start + 1 : after], after
    raise ValueError(f"a value of type {kind}")


def _require_room(position: int, size: int, end: int, smallest: int = 0) -> int:
    """The position after a value of this size."""
    if size < smallest or position + size > end:
        raise ValueError("a value with a wrong length")
    return position + size
