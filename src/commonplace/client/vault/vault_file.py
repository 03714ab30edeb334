"""A Markdown file of a vault: its front matter says which version of which document it has, and what it had then.

A file has changed if its text no longer has the hash in its front matter; a document has changed if its version is
another. So nothing but the file itself is needed to tell, and a file can be moved and copied.
"""

import contextlib
import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from commonplace.client.day_zero.found_note import FoundNote, parse_markdown

MAX_FILE_BYTES = 1_000_000
SOURCE = "vault"
_FRONT_MATTER = re.compile(r"\A---\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_OWN_LINE = re.compile(r"^commonplace-(id|version|hash|conflict):[ \t]*(.*?)[ \t]*$")
_DOCUMENT_ID = re.compile(r"doc_\w{1,60}", re.ASCII)
_HASH_CHARACTERS = 16


class UnfitFile(ValueError):
    """A file that cannot be kept in step, and why."""


@dataclass(frozen=True)
class VaultFile:
    path: Path
    raw: bytes
    """What was read, so that a change since then is noticed."""
    front: tuple[str, ...]
    """The lines of the front matter that are not ours."""
    body: str
    document_id: str = ""
    version: int = 0
    known_hash: str = ""
    conflict_with: str = ""
    """For a conflict copy: the document whose text it has."""

    @property
    def is_changed(self) -> bool:
        return hash_text(self.body) != self.known_hash

    @property
    def title(self) -> str:
        note = self._parse_note()
        return note.title if note else self.path.stem

    @property
    def tags(self) -> tuple[str, ...]:
        note = self._parse_note()
        return note.tags if note else ()

    def _parse_note(self) -> FoundNote | None:
        text = "\n".join(("---", *self.front, "---", self.body))
        return parse_markdown(SOURCE, str(self.path), text, self.path.stem)


def hash_text(text: str) -> str:
    """Spaces at both ends do not count: editors and the server add and remove them."""
    return hashlib.sha256(text.strip().encode("utf-8", "replace")).hexdigest()[:_HASH_CHARACTERS]


def read_vault_file(path: Path) -> VaultFile:
    """Raises UnfitFile for a link, a file that is too large, and one that is not text."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(descriptor, "rb") as file:  # noqa: PTH123 - of a descriptor
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as fault:
        raise UnfitFile(f"it cannot be read ({fault.strerror})") from None
    if len(raw) > MAX_FILE_BYTES:
        raise UnfitFile("it is larger than 1 MB")
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UnfitFile("it is not UTF-8 text") from None
    return _parse_text(path, raw, text)


def _parse_text(path: Path, raw: bytes, text: str) -> VaultFile:
    head = _FRONT_MATTER.match(text)
    lines = head[1].splitlines() if head else []
    own = {found[1]: found[2] for line in lines if (found := _OWN_LINE.match(line))}
    identity, version = own.get("id", ""), own.get("version", "0")
    if identity and not (_DOCUMENT_ID.fullmatch(identity) and version.isascii() and version.isdigit()):
        raise UnfitFile("its commonplace-id or commonplace-version is not one that was written here")
    return VaultFile(
        path,
        raw,
        tuple(line for line in lines if not _OWN_LINE.match(line)),
        text[head.end() :] if head else text,
        identity,
        int(version[:9]) if identity else 0,
        own.get("hash", ""),
        own.get("conflict", ""),
    )


def render_linked(
    front: tuple[str, ...], body: str, document_id: str, version: int, known_hash: str | None = None
) -> bytes:
    """A file that has this version of the document; with another `known_hash`, its text is a change of it."""
    own = (
        f"commonplace-id: {document_id}",
        f"commonplace-version: {version}",
        f"commonplace-hash: {hash_text(body) if known_hash is None else known_hash}",
    )
    return _render((*front, *own), body)


def render_conflict(title: str, body: str, document_id: str, version: int) -> bytes:
    """A file that only shows a text; it is not stored."""
    return _render((build_title_line(title), f"commonplace-conflict: {document_id} version {version}"), body)


def build_title_line(title: str) -> str:
    return 'title: "' + " ".join(title.replace('"', "'").replace("\\", "/").split()) + '"'


def _render(front: tuple[str, ...], body: str) -> bytes:
    text = body if body.endswith("\n") else body + "\n"
    return ("---\n" + "\n".join(front) + "\n---\n" + text).encode("utf-8", "replace")


def replace_file(path: Path, content: bytes, expected: bytes | None) -> None:
    """Write a file in one step; UnfitFile if it is no longer what was read (`expected`; None: there was none).

    The new file takes the place of a link that somebody put there meanwhile, and never goes where the link points.
    """
    if expected is None:
        if os.path.lexists(path):
            raise UnfitFile("a file with this name appeared meanwhile")
    elif read_vault_file(path).raw != expected:
        raise UnfitFile("it was changed meanwhile; the next run looks again")
    mode = path.stat().st_mode & 0o777 if expected is not None else 0o644
    try:
        _write_beside(path, content, mode)
    except OSError as fault:
        raise UnfitFile(f"it cannot be written ({fault.strerror})") from None


def _write_beside(path: Path, content: bytes, mode: int) -> None:
    """Write another file, and put it in the place of this one when it is whole."""
    descriptor, temporary = tempfile.mkstemp(prefix=".commonplace-", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - of a descriptor
            file.write(content)
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
