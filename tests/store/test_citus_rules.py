"""What Citus asks for, held on plain stores: every key starts with the project, every statement names it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import asyncpg

import commonplace
from commonplace.store import citus
from commonplace.store.migrate import list_migrations

SOURCE = Path(commonplace.__file__).parent
_CREATE = re.compile(r"create (?:virtual )?table (?:if not exists )?(\w+)", re.IGNORECASE)
_VERB = re.compile(r"^\s*(select|insert|update|delete|with)\b", re.IGNORECASE)
_TABLES = re.compile(r"\b(?:from|into|update|join)\s+([a-z_]+)", re.IGNORECASE)


def _tables(kind: str) -> tuple[set[str], set[str]]:
    """(with the project in every key, without) by the migrations' own words."""
    distributed, reference = set(), set()
    for migration in list_migrations(kind):
        for statement in migration.statements(kind):
            created = _CREATE.search(statement)
            if created:
                (reference if "-- reference" in statement else distributed).add(created[1])
    return distributed, reference


# What looks across projects on purpose: sweeps and counts, which Citus runs on every shard.
EVERY_PROJECT = (
    "select value from setting where name = $1 and exists (select 1 from embedding)",
    "select 1 as yes from embedding_queue limit 1",
    "select count(*) as n from embedding_queue",
    "select project from term_change limit 1",
    "delete from embedding where not model = any($1)",
    "delete from embedding where model = $1",
    "delete from served where at < $1",
    "from archive where masking_version < $1 and masking_version <> $2 limit 1",
    "where status = 'active' and expires_at <= $1 order by expires_at limit $2",
)


def _statements() -> Iterator[tuple[str, str]]:
    """Every statement of the source, with its place."""
    for path in sorted(SOURCE.rglob("*.py")):
        # The client side keeps small files of its own, which are no part of the store.
        if path == SOURCE / "store" / "migrate.py" or path.is_relative_to(SOURCE / "client"):
            continue
        tree = ast.parse(path.read_text())
        constants = _constants(tree)
        nodes = list(ast.walk(tree))
        parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        # A module's constant is the head of statements that go on where it is used.
        heads = {id(node.value) for node in tree.body if isinstance(node, ast.Assign)}
        for node in nodes:
            text = None if id(node) in parts else _text(node, constants)
            if text and _VERB.match(text) and _TABLES.search(text) and id(node) not in heads:
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", text


def _constants(tree: ast.Module) -> dict[str, str]:
    """The texts that the module's statements are composed of."""
    known: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = _text(node.value, known) or ""
    return known


def _text(node: ast.AST, constants: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) else _slot(part, constants) for part in node.values
        )
    return None


def _slot(part: ast.AST, constants: dict[str, str]) -> str:
    """A composed part: a constant of the module, else unknown, and then it may be what names the project."""
    inner = part.value if isinstance(part, ast.FormattedValue) else None
    return constants.get(inner.id, " project ") if isinstance(inner, ast.Name) else " project "


DISTRIBUTED, REFERENCE = _tables("postgresql")


def test_a_table_that_grows_is_no_reference_table():
    """A reference table is written on every node at once, so only what changes rarely may be one."""
    assert REFERENCE == citus.REFERENCE_TABLES | citus.TABLES_BY_ID


def test_the_lint_sees_the_tables():
    assert {"session", "lease", "event", "audit"} <= DISTRIBUTED
    assert {"project", "api_key", "setting"} <= REFERENCE


def test_every_statement_names_its_project_and_asks_no_clock():
    statements = list(_statements())
    assert len(statements) > 500
    assert [wrong for place, sql in statements for wrong in _judge(place, sql.lower())] == []


def _judge(place: str, sql: str) -> list[str]:
    used = [
        f"{place} uses {word}" for word in ("now()", "current_timestamp", "merge into", "::") if word in sql
    ]
    is_across = any(each in sql for each in EVERY_PROJECT)
    if DISTRIBUTED & set(_TABLES.findall(sql)) and not is_across and "project" not in sql:
        used.append(f"{place} names no project")
    return used


async def test_every_key_of_a_distributed_table_starts_with_the_project(postgres_dsn: str):
    connection = await asyncpg.connect(postgres_dsn)
    rows = await connection.fetch(
        "select t.relname as name, i.indisunique as one, (select a.attname from pg_attribute a"
        " where a.attrelid = t.oid and a.attnum = i.indkey[0]) as first"
        " from pg_index i join pg_class t on t.oid = i.indrelid join pg_namespace s on s.oid = t.relnamespace"
        " where s.nspname = 'public' and i.indisunique"
    )
    triggers = await connection.fetch("select tgname from pg_trigger where not tgisinternal")
    await connection.close()
    wrong = [row["name"] for row in rows if row["name"] in DISTRIBUTED and row["first"] != "project"]
    assert (wrong, triggers) == ([], [])
