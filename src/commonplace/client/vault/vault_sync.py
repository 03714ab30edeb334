"""Compare the files of a vault with the documents of a project, and carry over what changed on one side.

What changed on both sides stays on both: the document's text is written beside the file, and nothing more happens to the
two until somebody has deleted that copy. What was deleted on one side stays on the other, and is told.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.client.day_zero.found_note import MAX_TITLE_CHARACTERS, clean_tags
from commonplace.client.vault import vault_file
from commonplace.client.vault.vault_file import SOURCE, UnfitFile, VaultFile
from commonplace.client.vault.vault_folder import VaultFolder

CallOperation = Callable[[str, Mapping[str, Any]], dict[str, Any]]
TellChange = Callable[[str, str], None]
_PAGE = 200
_NEW_TYPE = "learning"
_PASSING_TYPES = frozenset({"handoff", "task_context"})
"""Of the moment: they get no file."""
_GONE = "its document is not active in this project; the file stays, and is not stored"


class VaultSync:
    """One run. `tell` is called with a verb and words for each change, and for each that was left out."""

    def __init__(
        self,
        folder: VaultFolder,
        project: str,
        call: CallOperation,
        tell: TellChange,
        *,
        tag: str = "",
        dry_run: bool = False,
        restore: bool = False,
    ) -> None:
        self._folder, self._project, self._call, self._tell = folder, project, call, tell
        self._tag, self._is_dry, self._restores = tag, dry_run, restore
        self._documents: dict[str, dict[str, Any]] = {}
        self._known: dict[str, str] = {}
        self._linked: dict[str, VaultFile] = {}

    def run(self) -> None:
        self._documents = self._list_documents()
        self._known = self._folder.load_known()
        files = self._folder.read_files(self._skip)
        conflicts = {each.conflict_with.partition(" ")[0]: each for each in files if each.conflict_with}
        own = [each for each in files if not each.conflict_with]
        for file in own:
            self._link(file)
        for file in own:
            with_copy = conflicts.get(file.document_id) if file.document_id else None
            self._guard(file, with_copy)
        if self._folder.only is None:
            self._write_missing(files)
        if not self._is_dry:
            current = self._documents.keys() | self._linked.keys()
            self._folder.save_known({each: name for each, name in self._known.items() if each in current})

    def _list_documents(self) -> dict[str, dict[str, Any]]:
        wanted = {"project": self._project, "status": "active", "limit": _PAGE}
        listed: dict[str, dict[str, Any]] = {}
        cursor = ""
        while True:
            page = self._call("memory_list_documents", wanted | ({"cursor": cursor} if cursor else {}))
            listed |= {document["id"]: document for document in page["documents"]}
            cursor = page.get("next_cursor", "")
            if not cursor:
                return listed

    def _skip(self, name: str, reason: str) -> None:
        self._tell("left out", f"{name}: {reason}")

    def _link(self, file: VaultFile) -> None:
        """Which file belongs to a document: of copies the one that had it before, else the first."""
        name = self._folder.name_of(file.path)
        if not file.document_id:
            return
        if file.document_id not in self._linked or self._known.get(file.document_id) == name:
            self._linked[file.document_id] = file

    def _guard(self, file: VaultFile, conflict: VaultFile | None) -> None:
        """Carry over one file; what is refused is told, and the others go on."""
        name = self._folder.name_of(file.path)
        try:
            if not file.document_id:
                self._store_new(file, name)
            elif self._linked[file.document_id] is not file:
                first = self._folder.name_of(self._linked[file.document_id].path)
                self._skip(name, f"it is a copy of {first}; delete its commonplace-id to store it too")
            elif conflict:
                self._known[file.document_id] = name
                self._tell(
                    "waits",
                    f"{name}: merge {self._folder.name_of(conflict.path)} into it and delete that file",
                )
            else:
                self._carry_over(file, name)
        except errors.Unavailable:
            raise
        except errors.Refusal as refusal:
            self._skip(name, refusal.message)
        except UnfitFile as reason:
            self._skip(name, str(reason))

    def _store_new(self, file: VaultFile, name: str) -> None:
        if not file.body.strip():
            self._skip(name, "it is empty")
            return
        if self._is_dry:
            self._tell("file → new", name)
            return
        try:
            receipt = self._store(file.title, file.body, _NEW_TYPE, file.tags)
        except errors.Duplicate as duplicate:
            twin = self._documents.get(str(duplicate.details.get("id", "")))
            if twin is None or twin["id"] in self._linked:
                raise
            receipt = {"id": twin["id"], "version": twin["version"]}
        self._tell("file → new", name)
        self._write_link(file, receipt["id"], receipt["version"])
        self._linked[receipt["id"]] = file
        self._known[receipt["id"]] = name

    def _carry_over(self, file: VaultFile, name: str) -> None:
        document = self._documents.get(file.document_id)
        if document is None:
            self._skip(name, _GONE)
            return
        self._known[file.document_id] = name
        has_new_version = document["version"] != file.version
        if not has_new_version and file.is_changed:
            self._store_version(file, name, document)
        elif has_new_version:
            text = self._open(file.document_id)
            if vault_file.hash_text(text) == vault_file.hash_text(file.body):
                self._write_link(file, file.document_id, document["version"])
            elif file.is_changed:
                self._keep_both(file, name, document, text)
            else:
                self._tell("document → file", name)
                self._write(
                    file.path,
                    vault_file.render_linked(file.front, text, file.document_id, document["version"]),
                    file.raw,
                )

    def _store_version(self, file: VaultFile, name: str, document: dict[str, Any]) -> None:
        if not file.body.strip():
            self._skip(name, "its text was deleted; the document stays")
            return
        if twins := self._list_namesakes(document):
            self._skip(name, f"{twins[0]} has the same title; archive one of the two, then it is stored")
            return
        if self._is_dry:
            self._tell("file → document", name)
            return
        receipt = self._store(document["title"], file.body, document["type"], file.tags, force_store=True)
        self._tell("file → document", name)
        if receipt["id"] != file.document_id:
            self._tell("told", f"{name} is now {receipt['id']}: {file.document_id} was changed meanwhile")
            self._known.pop(file.document_id, None)
            self._known[receipt["id"]] = name
        elif receipt["version"] > file.version + 1:
            self._tell(
                "told", f"{name}: version {receipt['version'] - 1} was stored meanwhile; the history has it"
            )
        self._write_link(file, receipt["id"], receipt["version"])

    def _list_namesakes(self, document: dict[str, Any]) -> list[str]:
        """Other documents of this title and type: another version is stored under its title, so it must be the only one."""
        wanted = (document["title"].lower(), document["type"])
        return [
            each["id"]
            for each in self._documents.values()
            if (each["title"].lower(), each["type"]) == wanted and each["id"] != document["id"]
        ]

    def _keep_both(self, file: VaultFile, name: str, document: dict[str, Any], text: str) -> None:
        version = document["version"]
        copy = file.path.with_name(f"{file.path.stem}.conflict-{version}.md")
        self._tell(
            "conflict",
            f"{name} and its document both changed; {copy.name} has the document's text (version {version})."
            " Merge it into the file and delete it, then the file is stored.",
        )
        if self._is_dry:
            return
        content = vault_file.render_conflict(document["title"], text, file.document_id, version)
        vault_file.replace_file(copy, content, None)
        # The file's own hash stays, so its text is still a change when the copy is gone.
        own = vault_file.render_linked(file.front, file.body, file.document_id, version, file.known_hash)
        self._write(file.path, own, file.raw)

    def _write_missing(self, files: list[VaultFile]) -> None:
        """Files for documents that have none, unless theirs was deleted."""
        taken = {each.path.name.lower() for each in files}
        for identity, document in reversed(self._documents.items()):
            if identity in self._linked or not self._is_wanted(document):
                continue
            if identity in self._known and not self._restores:
                self._tell(
                    "deleted",
                    f"{self._known[identity]}: the document {identity} stays; --restore writes the file again",
                )
                continue
            path = self._folder.choose_path(document["title"], taken)
            self._tell("new → file", path.name)
            if self._is_dry:
                continue
            front = (vault_file.build_title_line(document["title"]),)
            try:
                text = self._open(identity)
                content = vault_file.render_linked(front, text, identity, document["version"])
                self._write(path, content, None)
            except UnfitFile as reason:
                self._skip(path.name, str(reason))
                continue
            self._known[identity] = path.name

    def _is_wanted(self, document: dict[str, Any]) -> bool:
        if document["type"] in _PASSING_TYPES:
            return False
        return not self._tag or self._tag in document.get("tags", ())

    def _open(self, identity: str) -> str:
        item = self._call("memory_get_by_id", {"doc_id": identity, "project": self._project})
        if not item.get("found") or item.get("project") != self._project:
            raise UnfitFile(f"{identity} is not in this project any more")
        if item.get("truncated"):
            raise UnfitFile(f"{identity} is too long to be shown whole")
        return str(item.get("content", ""))

    def _store(
        self, title: str, body: str, memory_type: str, tags: tuple[str, ...], *, force_store: bool = False
    ) -> dict[str, Any]:
        tagged = list(
            dict.fromkeys(
                ("import", f"from-{SOURCE}", *([self._tag] if self._tag else []), *clean_tags(tags))
            )
        )
        # A reply leaves out what is as usual.
        return {"version": 1} | self._call(
            "memory_store",
            {
                "project": self._project,
                "title": title[:MAX_TITLE_CHARACTERS] if not force_store else title,
                "content": body.strip(),
                "memory_type": memory_type,
                "tags": tagged,
                "force_store": force_store,
            },
        )

    def _write_link(self, file: VaultFile, identity: str, version: int) -> None:
        """Say in the file what it has; if somebody wrote to it meanwhile, that is a change of it."""
        try:
            linked = vault_file.render_linked(file.front, file.body, identity, version)
            self._write(file.path, linked, file.raw)
        except UnfitFile:
            now = vault_file.read_vault_file(file.path)
            if now.document_id != file.document_id:
                raise
            known_hash = vault_file.hash_text(file.body)
            linked = vault_file.render_linked(now.front, now.body, identity, version, known_hash)
            self._write(file.path, linked, now.raw)

    def _write(self, path: Path, content: bytes, expected: bytes | None) -> None:
        if expected and b"\r\n" in expected:
            content = content.replace(b"\n", b"\r\n")
        if not self._is_dry and content != expected:
            vault_file.replace_file(path, content, expected)
