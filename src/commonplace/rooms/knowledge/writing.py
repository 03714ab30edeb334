"""The gate of every write: what is refused, what is only reported, and the receipt."""

import re
from collections import Counter
from dataclasses import dataclass, replace

from commonplace import access, errors, events
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.knowledge import evidence, gate, model, store
from commonplace.search import text
from commonplace.search.find import by_words
from commonplace.search.wanted import Wanted
from commonplace.store.database import Row, Value

_COMPARED = 8
_COMPARED_LENGTH = 20_000
_RECENT = 50
_MENTIONED = re.compile(r"\bdoc_[0-9a-f]{12}\b")


@dataclass(frozen=True, slots=True)
class Draft:
    """A document before it is one."""

    type: str
    title: str
    content: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    expires_at: int | None
    interface_name: str = ""
    interface_version: str = ""
    interface_owner: str = ""
    interface_schema: str = ""

    @property
    def text(self) -> str:
        return f"{self.title}\n{self.content}"

    def fields(self, flags: list[str]) -> dict[str, Value]:
        mentioned = list(dict.fromkeys(_MENTIONED.findall(self.content)))[:50]
        return {
            "flags": store.listed(flags),
            "derived_from": store.listed(mentioned),
            "interface_name": self.interface_name,
            "interface_version": self.interface_version,
            "interface_owner": self.interface_owner,
            "interface_schema": self.interface_schema,
        }


async def keep(call: Call, given: Draft, force: bool, word: str) -> model.Stored:
    """Refuse what is known already, report what is near or against it, keep the rest."""
    await events.count(call.tx, call.project, "documents", 0)
    title, content = gate.cleaned(given.title), gate.cleaned(given.content)
    masked = sorted({*title.masked, *content.masked})
    _refuse(call, content.text, masked)
    draft = replace(given, title=title.text, content=content.text)
    await _refuse_known(call, draft, force)
    near = await _near(call, draft)
    before = await _replaced(call, draft, force, near)
    flags = sorted({*title.flags, *content.flags})
    identity, version = await _write(call, draft, before, flags)
    others = [row for row in near if row["id"] != identity]
    call.subject = identity
    call.emit(
        "DocumentStored", f"knowledge://{call.project}", id=identity, type=draft.type, title=draft.title
    )
    return _receipt(draft, word, identity, version, others, flags, masked)


def _refuse(call: Call, content: str, masked: list[str]) -> None:
    if len(content.encode()) > model.CONTENT_BYTES:
        raise errors.TooLarge(
            f"content is larger than {model.CONTENT_BYTES} bytes.",
            hint="Split it, or keep a summary and a path.",
        )
    if masked and call.settings.secrets == "refuse":
        raise errors.Invalid(
            f"The text holds a secret ({', '.join(masked)}).", hint="Leave it out: memories are read by many."
        )


async def _refuse_known(call: Call, draft: Draft, force: bool) -> None:
    twin = await store.twin(call.tx, call.project, draft.title, draft.content, call.now)
    if twin is not None:
        raise errors.Duplicate(
            "This is known already, word for word.", hint="Use the document that is there.", id=twin["id"]
        )
    looped = None if force else await _looped(call, draft)
    if looped is not None:
        raise errors.Duplicate(
            "You were given this text in this session: it is not new knowledge.",
            hint="Store what you found out besides; force_store=true keeps it all the same.",
            id=looped["id"],
        )


async def _looped(call: Call, draft: Draft) -> Row | None:
    if call.session is None:
        return None
    given = text.counted(draft.content)
    shown = call.search.uses.of(call.session.id)
    for project in dict.fromkeys((call.project, access.SHARED)):
        just = [use.id for use in shown if use.project == project]
        for row in await store.served(call.tx, project, call.session.id, just, _RECENT):
            if gate.is_recall(given, text.counted(row["content"][:_COMPARED_LENGTH])):
                return row
    return None


async def _near(call: Call, draft: Draft) -> list[Row]:
    """The documents that share the most telling words."""
    wanted = Wanted(call.now, (store.KIND,))
    hits = await by_words(call.tx, draft.text, call.project, wanted, _COMPARED)
    rows = await store.documents(call.tx, call.project, [hit.id for hit in hits])
    return [rows[hit.id] for hit in hits if hit.id in rows]


async def _replaced(call: Call, draft: Draft, force: bool, near: list[Row]) -> Row | None:
    """The document that this is a further version of, if it is one."""
    if draft.interface_name:
        same = await store.same_interface(call.tx, call.project, draft.interface_name)
        return same if same is not None and same["interface_owner"] == draft.interface_owner else None
    if not force:
        return None
    title = draft.title.lower()
    return next((row for row in near if row["type"] == draft.type and row["title"].lower() == title), None)


async def _write(call: Call, draft: Draft, before: Row | None, flags: list[str]) -> tuple[str, int]:
    if before is None:
        identity, version = await _add(call, draft, flags), 1
    else:
        identity = before["id"]
        version = await store.rewrite(
            call.tx,
            before,
            call.agent,
            call.now,
            title=draft.title,
            content=draft.content,
            tags=store.listed(list(dict.fromkeys((*store.texts(before["tags"]), *draft.tags)))),
            files=store.listed(draft.files or store.texts(before["files"])),
            expires_at=draft.expires_at,
            **draft.fields(flags),
        )
    await evidence.cite(call.tx, call.project, identity, draft.files)
    return identity, version


async def _add(call: Call, draft: Draft, flags: list[str]) -> str:
    return await store.add(
        call.tx,
        call.project,
        type=draft.type,
        title=draft.title,
        content=draft.content,
        author=call.agent,
        now=call.now,
        tags=list(dict.fromkeys(draft.tags)),
        files=draft.files,
        expires_at=draft.expires_at,
        **draft.fields(flags),
    )


def _receipt(
    draft: Draft,
    word: str,
    identity: str,
    version: int,
    near: list[Row],
    flags: list[str],
    masked: list[str],
) -> model.Stored:
    similar = _similar(draft, near)
    clashes = _clashes(draft, near, similar)
    twin = next((each for each in similar if each.similarity >= gate.NEAR), None)
    receipt = "flagged" if flags or masked or clashes else "merged" if version > 1 else "accepted"
    return model.Stored(
        status=word,
        id=identity,
        receipt=receipt,
        version=version,
        expires_at=iso(draft.expires_at) if draft.expires_at else None,
        overlap_warning=_overlap(draft, near),
        duplicate_warning=f"{twin.id} says nearly the same" if twin else None,
        similar=similar,
        contradictions=clashes,
        flags=flags,
        masked=masked,
    )


def _similar(draft: Draft, near: list[Row]) -> list[model.Similar]:
    own = text.counted(draft.text)
    measured = [
        model.Similar(id=row["id"], title=row["title"], similarity=round(gate.overlap(own, _counted(row)), 2))
        for row in near
    ]
    return sorted(
        (each for each in measured if each.similarity >= gate.RELATED), key=lambda each: -each.similarity
    )[:5]


def _counted(row: Row) -> Counter[str]:
    return text.counted(f"{row['title']}\n{row['content'][:_COMPARED_LENGTH]}")


def _clashes(draft: Draft, near: list[Row], similar: list[model.Similar]) -> list[model.Contradiction]:
    """Only what is about the same can contradict."""
    alike = {each.id for each in similar}
    said = gate.said(draft.content)
    return [
        model.Contradiction(
            id=row["id"], title=row["title"], kind=clash.kind, theirs=clash.theirs, yours=clash.yours
        )
        for row in near
        if row["id"] in alike and (clash := gate.clash(said, gate.said(row["content"])))
    ]


def _overlap(draft: Draft, near: list[Row]) -> str | None:
    if not draft.interface_name:
        return None
    other = next((row for row in near if row["interface_name"] == draft.interface_name), None)
    return (
        f"{other['id']} describes the same interface, owned by {other['interface_owner']}" if other else None
    )
