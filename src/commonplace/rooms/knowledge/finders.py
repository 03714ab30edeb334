"""Finds a document by its id, for memory_get_by_id."""

from typing import Any

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.outdated_citations import find_outdated_citations
from commonplace.rooms.knowledge import evidence, history, model, store
from commonplace.rooms.knowledge.document_warnings import build_document_warning
from commonplace.rooms.knowledge.later_documents import find_later_documents
from commonplace.store import ids


async def find_document(call: Call, project: str, prefix: str) -> dict[str, Any] | None:
    ids_found = await ids.find_ids_by_prefix(call.tx, "document", [project], prefix)
    row = await store.load_document(call.tx, *ids_found[0]) if ids_found else None
    if row is None:
        return None
    listed = await history.list_document_versions(call.tx, project, row["id"], row["version"])
    cites = await evidence.list_citations_of_document(call.tx, project, row["id"])
    broken = await evidence.find_broken_citations(call.tx, project, [row["id"]])
    last = (await find_later_documents(call.tx, project, [row["id"]])).get(row["id"], "")
    later = "" if row["superseded_by"] else last
    successor = await store.load_document(call.tx, project, later) if later else None
    outdated = await find_outdated_citations(call.tx, project, {row["id"]: row["content"]})
    places = {each["place"] for each in cites}
    links = {
        "later": later,
        "superseded_by": row["superseded_by"],
        "derived_from": [each for each in store.decode_texts(row["derived_from"]) if each != later],
        "cites": [{"place": each["place"], "state": each["state"]} for each in cites],
        "files": [file for file in store.decode_texts(row["files"]) if file not in places],
    }
    return {
        "id": row["id"],
        "title": row["title"],
        "type": row["type"],
        "status": model.resolve_status(row["status"], row["expires_at"], call.now),
        "project": project,
        "tags": store.decode_texts(row["tags"]),
        "created": iso(row["created_at"]),
        "updated": iso(row["updated_at"]),
        "author": row["author"],
        "content": row["content"],
        "expires_at": iso(row["expires_at"]) if row["expires_at"] else "",
        "versions": [model.render_version(each) for each in listed],
        "version": row["version"],
        "version_count": model.count_unlisted_versions(row["version"], listed),
        "interface": model.render_interface(row),
        "links": {name: value for name, value in links.items() if value},
        "warning": build_document_warning(
            row, broken.get(row["id"]), call.now, last, successor, outdated.get(row["id"], "")
        ),
    }


FINDERS = {"doc_": find_document}
