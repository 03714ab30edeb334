"""The gate of every write: what is refused, what is only reported, and the receipt."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from commonplace import errors, events
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.knowledge import evidence, gate, model, store
from commonplace.rooms.knowledge.claims import claimed, corrects, first_clash
from commonplace.rooms.knowledge.recall import projects_of
from commonplace.search import text
from commonplace.search.find import by_words
from commonplace.search.wanted import Wanted
from commonplace.store.database import Row, Value

_COMPARED = 8
_COMPARED_LENGTH = 20_000
_RECENT = 50
_DESCRIBES_INTERFACES = ("interface", "api_spec")
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
    cites: bool = True
    """Whether its files are evidence for it, or were only worked on at the time."""

    @property
    def text(self) -> str:
        return f"{self.title}\n{self.content}"

    def written(self, flags: list[str]) -> dict[str, Value]:
        mentioned = list(dict.fromkeys(_MENTIONED.findall(self.content)))[:50]
        return {"flags": store.listed(flags), "derived_from": store.listed(mentioned)}

    def interface(self) -> dict[str, Value]:
        return {
            "interface_name": self.interface_name,
            "interface_version": self.interface_version,
            "interface_owner": self.interface_owner,
            "interface_schema": self.interface_schema,
        }


async def keep(call: Call, given: Draft, force: bool, word: str) -> model.Stored:
    """Refuse what is known already, report what is near or against it, keep the rest."""
    await events.count(call.tx, call.project, "documents", 0)
    passed = _passed(call, given)
    draft = passed.draft
    await _refuse_known(call, draft, force)
    near, about = await _near(call, draft), await _about_interface(call, draft)
    identity, version = await _write(call, passed, await _replaced(call, draft, force, about))
    others = [row for row in near if row["id"] != identity]
    call.subject = identity
    call.emit(
        "DocumentStored", f"knowledge://{call.project}", id=identity, type=draft.type, title=draft.title
    )
    return _receipt(passed, word, identity, version, others, _overlap(draft, about))


async def keep_record(call: Call, given: Draft) -> str:
    """Keep what tells of something that happened: it may have happened before in the same words. Its id."""
    identity, _ = await _write(call, _passed(call, given), None)
    return identity


@dataclass(frozen=True, slots=True)
class _Passed:
    """A draft as it may be kept, what is suspicious in it, and which secrets were in it."""

    draft: Draft
    flags: list[str]
    masked: list[str]


def _passed(call: Call, given: Draft) -> _Passed:
    title, content = gate.cleaned(given.title), gate.cleaned(given.content)
    masked = sorted({*title.masked, *content.masked})
    _refuse(call, title.text, content.text, masked)
    draft = replace(given, title=title.text, content=content.text)
    return _Passed(draft, sorted({*title.flags, *content.flags}), masked)


def _refuse(call: Call, title: str, content: str, masked: list[str]) -> None:
    if not title.strip() or not content.strip():
        raise errors.Invalid("There is nothing to read in it.", hint="Give a title and a content.")
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
    projects = projects_of(call, include_shared=True)
    twin = await store.twin(call.tx, projects, draft.title, draft.content, call.now)
    if twin is not None:
        raise errors.Duplicate(
            "This is known already, word for word.", hint="Use the document that is there.", id=twin["id"]
        )
    looped = None if force else await _looped(call, draft, projects)
    if looped is not None:
        raise errors.Duplicate(
            "You were given this text in this session: it is not new knowledge.",
            hint="Keep what you found out besides; memory_store with force_store=true keeps all of it.",
            id=looped["id"],
        )


async def _looped(call: Call, draft: Draft, projects: Sequence[str]) -> Row | None:
    """What the session was given and now hands in again; a correction of it is something else."""
    if call.session is None:
        return None
    given, claims = text.counted(draft.content), claimed(draft.content)
    shown = call.search.uses.of(call.session.id)
    for project in projects:
        just = [use.id for use in shown if use.project == project]
        for row in await store.served(call.tx, project, call.session.id, just, _RECENT):
            content = row["content"][:_COMPARED_LENGTH]
            if gate.is_recall(given, text.counted(content)) and not corrects(claims, claimed(content)):
                return row
    return None


async def _near(call: Call, draft: Draft) -> list[Row]:
    """The documents that share the most telling words."""
    wanted = Wanted(call.now, (store.KIND,))
    hits = await by_words(call.tx, draft.text, call.project, wanted, _COMPARED)
    rows = await store.documents(call.tx, call.project, [hit.id for hit in hits])
    return [rows[hit.id] for hit in hits if hit.id in rows]


async def _about_interface(call: Call, draft: Draft) -> Sequence[Row]:
    if not draft.interface_name:
        return []
    return await store.same_interface(call.tx, call.project, draft.interface_name, call.now)


async def _replaced(call: Call, draft: Draft, force: bool, about: Sequence[Row]) -> Row | None:
    """The document that this is a further version of, if it is one."""
    title = draft.title.lower()
    for row in about:
        same = row["type"] == draft.type and row["interface_owner"] == draft.interface_owner
        if same and (draft.type in _DESCRIBES_INTERFACES or row["title"].lower() == title):
            return row
    found = await store.namesake(call.tx, call.project, draft.type, title, call.now) if force else None
    owners = {"", draft.interface_owner} if draft.interface_name else None
    return found if found is None or owners is None or found["interface_owner"] in owners else None


async def _write(call: Call, passed: _Passed, before: Row | None) -> tuple[str, int]:
    draft, files = passed.draft, passed.draft.files
    if before is None:
        identity, version = await _add(call, draft, passed.flags), 1
    else:
        identity, files = before["id"], files or tuple(store.texts(before["files"]))
        version = await store.rewrite(
            call.tx,
            before,
            call.agent,
            call.now,
            title=draft.title,
            content=draft.content,
            tags=store.listed(list(dict.fromkeys((*store.texts(before["tags"]), *draft.tags)))),
            files=store.listed(files),
            expires_at=draft.expires_at,
            **draft.written(passed.flags),
            **{name: told for name, told in draft.interface().items() if told},
        )
    await evidence.cite(call.tx, call.project, identity, files if draft.cites else ())
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
        **draft.written(flags),
        **draft.interface(),
    )


def _receipt(
    passed: _Passed, word: str, identity: str, version: int, near: list[Row], overlap: str | None
) -> model.Stored:
    draft = passed.draft
    similar = _similar(draft, near)
    clashes = _clashes(draft, near, similar)
    twin = next((each for each in similar if each.similarity >= gate.NEAR), None)
    flagged = passed.flags or passed.masked or clashes
    return model.Stored(
        status=word,
        id=identity,
        receipt="flagged" if flagged else "merged" if version > 1 else "accepted",
        version=version,
        expires_at=iso(draft.expires_at) if draft.expires_at else None,
        overlap_warning=overlap,
        duplicate_warning=f"{twin.id} says nearly the same" if twin else None,
        similar=similar,
        contradictions=clashes,
        flags=passed.flags,
        masked=passed.masked,
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
    claims = claimed(draft.content)
    return [
        model.Contradiction(
            id=row["id"], title=row["title"], kind=clash.kind, theirs=clash.theirs, yours=clash.yours
        )
        for row in near
        if row["id"] in alike and (clash := first_clash(claims, claimed(row["content"])))
    ]


def _overlap(draft: Draft, about: Sequence[Row]) -> str | None:
    other = next((row for row in about if row["interface_owner"] != draft.interface_owner), None)
    return (
        f"{other['id']} describes the same interface, owned by {other['interface_owner']}" if other else None
    )
