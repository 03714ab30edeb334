"""The tables of vectors: the queue of entries without one, the model in use, and the change to another model."""

from collections.abc import Mapping, Sequence
from typing import Any

from commonplace.search import postgres, sqlite
from commonplace.search.index import KINDS_WITHOUT_VECTORS
from commonplace.store.database import Row, Tx

_MODEL_IN_USE = "embeddings"
_NEXT_MODEL = "embeddings_next"
_WIDTH_PREFIX = "embeddings_width "
_DIALECTS = {"sqlite": sqlite, "postgresql": postgres}


async def load_model_in_use(tx: Tx) -> str | None:
    """The setting of the model whose vectors are compared; None while there are no vectors."""
    row = await tx.one(
        "select value from setting where name = $1 and exists (select 1 from embedding)", _MODEL_IN_USE
    )
    return str(row["value"]) if row else None


async def choose_model(tx: Tx, choice: str) -> None:
    """Make new vectors with this model; those of the former one stay in use until every entry has a new one."""
    current = await _load_setting(tx, _MODEL_IN_USE)
    following = await _load_setting(tx, _NEXT_MODEL)
    if current is None:
        await _save_setting(tx, _MODEL_IN_USE, choice)
    elif choice == current:
        await tx.run("delete from setting where name = $1", _NEXT_MODEL)
    elif choice != following:
        await _save_setting(tx, _NEXT_MODEL, choice)
        await queue_all_entries(tx)


async def load_vector_width(tx: Tx, model: str) -> int | None:
    """The length of this model's vectors; None while there are none."""
    width = await _load_setting(tx, _WIDTH_PREFIX + model)
    return int(width) if width else None


async def complete_model_change(tx: Tx, names: Sequence[str]) -> None:
    """When the queue is empty, use the vectors of the next models, which have these names, and delete the others."""
    following = await _load_setting(tx, _NEXT_MODEL)
    if following is None or await tx.one("select 1 as yes from embedding_queue limit 1"):
        return
    await _save_setting(tx, _MODEL_IN_USE, following)
    await tx.run("delete from setting where name = $1", _NEXT_MODEL)
    await tx.run("delete from embedding where not model = any($1)", list(names))


async def list_queued_entries(tx: Tx, now: int, window: int, limit: int) -> list[Row]:
    """The shortest of the oldest entries: notes do not wait behind long documents, and none waits for ever."""
    rows = await tx.all(
        "select queued.project, queued.n, entry.length from (select project, n, due_at from embedding_queue"
        " where due_at <= $1 order by due_at, project, n limit $2) as queued"
        " left join entry on entry.project = queued.project and entry.n = queued.n order by queued.due_at, queued.n",
        now,
        window,
    )
    return sorted(rows, key=lambda row: row["length"] or 0)[:limit]


async def claim_queued_entries(tx: Tx, project: str, numbers: list[int], now: int, until: int) -> list[Row]:
    """Claim entries for a time: other replicas skip them, and after a crash they are due again."""
    claimed = await tx.all(
        "update embedding_queue set due_at = $4, tries = tries + 1"
        " where project = $1 and n = any($2) and due_at <= $3 returning n",
        project,
        numbers,
        now,
        until,
    )
    return list(
        await tx.all(
            "select n, kind, id, title from entry where project = $1 and n = any($2)",
            project,
            [row["n"] for row in claimed],
        )
    )


async def list_embedded_entries(tx: Tx, project: str, model: str, numbers: Sequence[int]) -> set[int]:
    """Which of these entries have vectors of the model: another model was added, or takes its place."""
    rows = await tx.all(
        "select distinct n from embedding where project = $1 and model = $2 and n = any($3)",
        project,
        model,
        list(numbers),
    )
    return {row["n"] for row in rows}


async def store_vectors(
    tx: Tx, project: str, numbers: list[int], vectors_by_model: Mapping[str, Sequence[tuple[int, int, Any]]]
) -> None:
    """Store the vectors of entries that still exist, and remove all of them from the queue."""
    rows = await tx.all(
        "select e.n from embedding_queue q join entry e on e.project = q.project and e.n = q.n"
        " where q.project = $1 and q.n = any($2)",
        project,
        numbers,
    )
    existing = {row["n"] for row in rows}
    for model, vectors in vectors_by_model.items():
        if vectors:
            await _require_width(tx, model, len(vectors[0][2]))
        await tx.run(
            "delete from embedding where project = $1 and model = $2 and n = any($3)",
            project,
            model,
            sorted(existing & {n for n, _, _ in vectors}),
        )
        await _DIALECTS[tx.kind].insert_vectors(
            tx, project, model, [each for each in vectors if each[0] in existing]
        )
    await tx.run("delete from embedding_queue where project = $1 and n = any($2)", project, numbers)


async def _require_width(tx: Tx, model: str, width: int) -> None:
    """If the length changed, another model uses the same name: embed everything again."""
    former_width = await load_vector_width(tx, model)
    if former_width not in (None, width):
        await tx.run("delete from embedding where model = $1", model)
        await queue_all_entries(tx)
    if former_width != width:
        await _save_setting(tx, _WIDTH_PREFIX + model, str(width))


async def queue_all_entries(tx: Tx) -> None:
    """Let the background embed every entry again."""
    await tx.run(
        "insert into embedding_queue (project, n, due_at, tries) select project, n, 0, 0 from entry"
        " where not kind = any($1) on conflict (project, n) do nothing",
        list(KINDS_WITHOUT_VECTORS),
    )


async def _load_setting(tx: Tx, name: str) -> str | None:
    row = await tx.one("select value from setting where name = $1", name)
    return str(row["value"]) if row else None


async def _save_setting(tx: Tx, name: str, value: str) -> None:
    await tx.run(
        "insert into setting (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
        name,
        value,
    )
