"""Dumps of MongoDB: checklists and guidelines of archives and files are imported, and hostile input is refused."""

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from user import User

from commonplace.__main__ import main
from commonplace.client.day_zero.found_note import FoundChecklist, FoundNote
from commonplace.client.day_zero.note_sources import list_path

TERMINATOR = b"\xff\xff\xff\xff"
MAGIC = bytes.fromhex("6de29981")
RELEASE = {
    "_id": "shop:release",
    "name": "release",
    "project": "shop",
    "created_by": "ann",
    "items": [
        {"text": "Changelog", "done": True, "checked_by": "ben", "checked_at": None, "notes": "for 2.0"},
        {"text": "Tag", "done": False, "checked_by": None, "checked_at": None, "notes": ""},
    ],
}
TESTS = {"name": "tests", "rule": "Run them.", "scope": "shop", "active": True, "priority": 50}


def encode(value: dict[str, Any]) -> bytes:
    """A document as MongoDB's own driver encodes these types."""
    body = b"".join(encode_field(name, each) for name, each in value.items()) + b"\0"
    return struct.pack("<i", len(body) + 4) + body


def encode_field(name: str, value: Any) -> bytes:
    head = name.encode() + b"\0"
    if value is None:
        return b"\x0a" + head
    if isinstance(value, bool):
        return b"\x08" + head + bytes([value])
    if isinstance(value, int):
        return b"\x10" + head + struct.pack("<i", value)
    if isinstance(value, str):
        return b"\x02" + head + struct.pack("<i", len(value.encode()) + 1) + value.encode() + b"\0"
    if isinstance(value, list):
        return b"\x04" + head + encode({str(n): each for n, each in enumerate(value)})
    return b"\x03" + head + encode(value)


def build_archive(*segments: tuple[str, list[dict[str, Any]]], ends: bool = True) -> bytes:
    """As `mongodump --archive` writes it: a prelude, segments that may alternate, an end for each collection."""
    names = list(dict.fromkeys(name for name, _ in segments))
    heads = [{"db": "mcp", "collection": name} for name in names]
    parts = [MAGIC, encode({"concurrent_collections": 4, "version": "0.1"})]
    parts += [encode(head | {"metadata": "{}", "size": 0}) for head in heads]
    parts.append(TERMINATOR)
    for name, documents in segments:
        parts.append(encode({"db": "mcp", "collection": name, "EOF": False, "CRC": 0}))
        parts += [*map(encode, documents), TERMINATOR]
    for head in heads if ends else ():
        parts += [encode(head | {"EOF": True, "CRC": 0}), TERMINATOR]
    return b"".join(parts)


def list_found(path: Path) -> tuple[list[Any], list[str]]:
    reasons: list[str] = []
    return list(list_path(path, lambda _path, reason: reasons.append(reason))), reasons


@pytest.mark.parametrize("is_compressed", [False, True])
def test_archive_with_alternating_collections_is_read(tmp_path: Path, is_compressed: bool):
    archive = build_archive(
        ("checklists", [RELEASE]), ("guidelines", [TESTS]), ("checklists", [{"mail": "x"}])
    )
    file = tmp_path / "dump.archive"
    file.write_bytes(gzip.compress(archive) if is_compressed else archive)
    (checklist, note), reasons = list_found(file)
    assert isinstance(checklist, FoundChecklist)
    assert (checklist.title, checklist.project, [item.is_done for item in checklist.items]) == (
        "release",
        "shop",
        [True, False],
    )
    assert isinstance(note, FoundNote)
    assert (note.title, note.project) == ("Guideline: tests", "shop")
    assert reasons == ["1 records are neither guidelines nor checklists"]


def test_checklist_is_created_once_with_what_was_checked(
    tmp_path: Path, user: User, capsys: pytest.CaptureFixture[str]
):
    def run(*words: str) -> str:
        capsys.readouterr()
        assert main([*words, "--data", str(user.home / "data")]) == 0
        return capsys.readouterr().out

    file = tmp_path / "checklists.json"
    file.write_text(json.dumps([RELEASE]))
    assert "would store 1 checklist" in run("import", str(file), "--dry-run")
    assert "stored      1 checklist" in run("import", str(file))
    assert "1 item stored before" in run("import", str(file))
    starting = json.dumps({"project": "shop", "claude_instance": "ann"})
    session = json.loads(run("call", "memory_start_session", "--json", starting))["session_id"]
    wanted = json.dumps({"session_id": session, "action": "get", "name": "release"})
    stored = json.loads(run("call", "memory_checklist", "--json", wanted))
    assert (stored["progress"], stored["created_by"]) == ("1/2", "importer")
    assert stored["items"][0]["notes"] == "for 2.0; checked by ben before the import"


def encode_nested(depth: int) -> bytes:
    inner = encode({})
    for _ in range(depth):
        inner = struct.pack("<i", len(inner) + 8) + b"\x03a\0" + inner + b"\0"
    return inner


WHOLE = build_archive(("checklists", [RELEASE]))
HOSTILE: dict[str, bytes] = {
    "cut inside a document": WHOLE[:-60],
    "cut between segments": build_archive(("checklists", [RELEASE]), ends=False),
    "without a prelude": MAGIC,
    "a huge document": MAGIC + struct.pack("<i", 2**31 - 1),
    "a negative document": MAGIC + struct.pack("<i", -2),
    "an empty document": MAGIC + struct.pack("<i", 4),
    "nested too deep": MAGIC + encode_nested(5000) + TERMINATOR,
    "a negative text": MAGIC + encode({"a": "text"}).replace(struct.pack("<i", 5), struct.pack("<i", -9)),
    "a text that is too long": MAGIC
    + encode({"a": "text"}).replace(struct.pack("<i", 5), struct.pack("<i", 99)),
    "a negative inner document": MAGIC
    + encode({"a": {}}).replace(struct.pack("<i", 5), struct.pack("<i", -5)),
    "an unknown type": MAGIC + encode({"a": None}).replace(b"\x0aa", b"\x55a"),
    "a name without an end": MAGIC + struct.pack("<i", 7) + b"\x0aab",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_archive_is_reported_and_never_hangs(tmp_path: Path, case: str):
    file = tmp_path / "dump.archive"
    file.write_bytes(HOSTILE[case])
    found, reasons = list_found(file)
    assert len(reasons) == 1
    assert reasons[0].startswith("cannot be read (")
    assert len(found) <= 1


def test_every_cut_of_an_archive_is_told(tmp_path: Path):
    file = tmp_path / "dump.archive"
    for length in range(len(MAGIC), len(WHOLE)):
        file.write_bytes(WHOLE[:length])
        assert list_found(file)[1], length
    file.write_bytes(gzip.compress(WHOLE)[:-12])
    assert list_found(file)[1]


def test_files_of_a_folder_are_read_and_a_broken_one_stops_nothing(tmp_path: Path):
    folder = tmp_path / "dump/mcp"
    folder.mkdir(parents=True)
    (folder / "checklists.bson.gz").write_bytes(gzip.compress(encode(RELEASE) + encode({"items": 1})))
    (folder / "broken.bson.gz").write_bytes(b"\x1f\x8bnot compressed at all")
    (folder / "empty.bson").write_bytes(b"")
    found, reasons = list_found(tmp_path / "dump")
    assert ([each.title for each in found], len(reasons)) == (["release"], 2)


@pytest.mark.parametrize("items", [None, [], "text", [1, {"text": " "}, {"done": True}]])
def test_checklist_without_items_is_left_out(tmp_path: Path, items: Any):
    file = tmp_path / "checklists.json"
    file.write_text(json.dumps([RELEASE | {"items": items}]))
    assert list_found(file) == ([], ["the checklist has no items"])
