"""Texts that cite a document which was replaced: their readers are warned until the text names what replaced it.

Documents and specs share this. Who is told when a document is replaced: `rooms/knowledge/citing_documents.py`.
"""

import re
from collections.abc import Mapping, Sequence

from commonplace.store.database import Tx

_DOCUMENT_ID = re.compile(r"\bdoc_[0-9a-f]{12}\b")


async def find_outdated_citations(tx: Tx, project: str, texts: Mapping[str, str]) -> dict[str, str]:
    """What to say of each text, by its id, that cites a replaced document and not what replaced it."""
    cited = {each for text in texts.values() for each in _DOCUMENT_ID.findall(text)}
    if not cited:
        return {}
    replaced = await tx.all(
        "select id, superseded_by from document where project = $1 and id = any($2) and status = 'superseded'"
        " and superseded_by <> '' order by id",
        project,
        sorted(cited),
    )
    return {
        identity: warning
        for identity, text in texts.items()
        if (
            warning := _warn_of_citations(
                identity, text, [(row["id"], row["superseded_by"]) for row in replaced]
            )
        )
    }


def _warn_of_citations(identity: str, text: str, replaced: Sequence[tuple[str, str]]) -> str:
    """The first that is cited; a document that tells of its predecessor does not build on it."""
    return next(
        (
            f"cites {old}, which {new} replaced"
            for old, new in replaced
            if old in text and new not in text and identity not in (old, new)
        ),
        "",
    )
