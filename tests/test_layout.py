"""Conventions of the source tree: imports point one way, rooms look alike, files and functions stay short."""

import ast
from collections import Counter
from pathlib import Path

import pytest

import commonplace

SOURCE = Path(commonplace.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
ROOMS = sorted(path for path in (SOURCE / "rooms").iterdir() if (path / "__init__.py").exists())

# A floor may import itself and what stands below it.
FLOORS = (
    (
        "errors",
        "clock",
        "access",
        "config",
        "store",
        "sqlguard",
        "transcripts",
        "zstd",
        "masking",
        "client",
        "librarian",
        "data_folder",
        "beacon",
        "background",
        "admission",
        "window",
        "rules",
    ),
    ("arguments", "acting", "activity", "named_notices", "events", "operation", "resource", "project"),
    ("search",),
    ("session_archive",),
    ("call", "boot", "room"),
    ("rooms",),
    ("catalogue", "backup"),
    ("edges", "librarian.server_watch"),
    ("server",),
    ("cli",),
    ("__main__",),
)
# What runs beside agents talks to a server: it opens no store and needs no room.
CLIENT_MAY_REACH = {
    "beacon",
    "client",
    "data_folder",
    "errors",
    "file_region",
    "librarian",
    "masking",
    "quoting",
    "rules",
    "transcripts",
    "window",
    "zstd",
}
FORBIDDEN_NAMES = {
    "utils",
    "helpers",
    "helper",
    "manager",
    "managers",
    "services",
    "service",
    "common",
    "base",
    "misc",
}


def _floor(parts: tuple[str, ...]) -> int | None:
    for name in (".".join(parts[:2]), parts[0]):
        for level, names in enumerate(FLOORS):
            if name in names:
                return level
    return None


def _imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name for name in names if name.startswith("commonplace.")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path):
    own = path.relative_to(SOURCE).with_suffix("").parts
    level = _floor(own)
    for name in _imported(ast.parse(path.read_text())):
        below = _floor(tuple(name.split(".")[1:]))
        if level is not None and below is not None:
            assert below <= level, f"{'.'.join(own)} imports {name}"


def _modules() -> dict[str, set[str]]:
    """Every module of the package with what it imports, also inside functions."""
    return {_module(path): _imported(ast.parse(path.read_text())) for path in FILES}


def _module(path: Path) -> str:
    return ".".join(("commonplace", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
        ".__init__"
    )


def test_client_reaches_nothing_of_the_server():
    modules = _modules()
    reached = {name for name in modules if name.startswith("commonplace.client")}
    waiting = sorted(reached)
    while waiting:
        for name in modules[waiting.pop()]:
            # `from package import name` may name a module or something inside of one
            module = name if name in modules else name.rpartition(".")[0]
            if module in modules and module not in reached:
                reached.add(module)
                waiting.append(module)
    reached.discard("commonplace")  # its version
    assert {name for name in reached if name.split(".")[1] not in CLIENT_MAY_REACH} == set()


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: path.name)
def test_room_has_the_four_files(room: Path):
    assert {"__init__.py", "model.py", "operations.py", "store.py"} <= {path.name for path in room.iterdir()}


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: path.name)
def test_room_imports_no_other_rooms_operations(room: Path):
    for path in room.glob("*.py"):
        for name in _imported(ast.parse(path.read_text())):
            other = name.split(".")
            if other[1] == "rooms" and len(other) > 3 and other[2] != room.name:
                assert other[3] != "operations", f"{path} imports {name}"


def test_rooms_import_each_other_without_a_cycle():
    """What two rooms share belongs to the core, or to the room that owns the noun."""
    imports = {room.name: _imported_rooms(room) for room in ROOMS}
    while free := [name for name, others in imports.items() if not others]:
        imports = {name: others - set(free) for name, others in imports.items() if name not in free}
    assert imports == {}


def _imported_rooms(room: Path) -> set[str]:
    """The names of the other rooms that this one imports from."""
    names = {name for path in room.rglob("*.py") for name in _imported(ast.parse(path.read_text()))}
    parts = [name.split(".") for name in names]
    return {part[2] for part in parts if part[1] == "rooms" and part[2] != room.name}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_file_and_its_functions_are_short(path: Path):
    text = path.read_text()
    assert text.count("\n") <= 400
    long = [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno + 1 > 50
    ]
    assert long == []


def test_no_file_has_a_name_that_says_nothing():
    assert [path for path in FILES if path.stem in FORBIDDEN_NAMES] == []


def test_no_two_modules_of_the_tests_have_one_name():
    """pytest imports them by their bare name."""
    paths = (path for path in Path(__file__).parent.rglob("*.py") if "node_modules" not in path.parts)
    names = Counter(path.name for path in paths if path.name not in {"conftest.py", "__init__.py"})
    assert [name for name, count in names.items() if count > 1] == []


# What belongs to one request ends with it; everything else is started by background.py, which keeps it running.
TASKS_OF_REQUESTS = {
    "edges/http/response.py": {"create_task"},  # watches whether the client of one request is still there
    "edges/mcp/stdio_transport.py": {"create_task"},  # the requests of one pipe run beside each other
    "librarian/server_watch.py": {"run_coroutine_threadsafe"},  # one call of a thread
    "rooms/databases/operations.py": {"gather"},  # describes several databases in one call
    "store/postgres.py": {"gather"},  # closes two pools
    "store/postgres_notifications.py": {"ensure_future"},  # a cancelled connect must not leave a connection
    "store/sqlite.py": {"gather"},  # joins its threads
    "background.py": {"create_task"},
}
TASK_MAKERS = {"create_task", "ensure_future", "TaskGroup", "run_coroutine_threadsafe"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_task_is_created_outside_of_the_supervisor(path: Path):
    made = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and (node.attr in TASK_MAKERS or ast.unparse(node) == "asyncio.gather")
    }
    assert made <= TASKS_OF_REQUESTS.get(path.relative_to(SOURCE).as_posix(), set())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_waits_are_bounded_by_timeout(path: Path):
    """asyncio.wait_for of Python 3.11 swallows a cancellation that meets the result; asyncio.timeout does not."""
    assert "asyncio.wait_for(" not in path.read_text()
