"""Conventions of the source tree: imports point one way, rooms look alike, files and functions stay short."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

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
        "journal",
        "zstd",
        "masking",
        "client",
        "librarian",
        "data_folder",
        "beacon",
        "background",
        "admission",
        "window",
        "identity.principal",
        "rules",
    ),
    ("arguments", "identity", "activity", "notices", "events", "operation", "resource", "project"),
    ("search",),
    ("transcripts.archive",),
    ("call", "boot", "room", "tool_schema"),
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
    "journal",
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


@cache
def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def test_imports_point_down():
    assert [wrong for path in FILES for wrong in _list_imports_from_above(path)] == []


def _list_imports_from_above(path: Path) -> list[str]:
    own = path.relative_to(SOURCE).with_suffix("").parts
    level = _floor(own)
    floors = {name: _floor(tuple(name.split(".")[1:])) for name in _imported(_parse(path))}
    if level is None:
        return []
    above = [name for name, floor in floors.items() if floor is not None and floor > level]
    return [f"{'.'.join(own)} imports {name}" for name in above]


def _modules() -> dict[str, set[str]]:
    """Every module of the package with what it imports, also inside functions."""
    return {_module(path): _imported(_parse(path)) for path in FILES}


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


def test_every_room_has_the_four_files():
    four = {"__init__.py", "model.py", "operations.py", "store.py"}
    missing = {room.name: four - {path.name for path in room.iterdir()} for room in ROOMS}
    assert {name: files for name, files in missing.items() if files} == {}


def test_no_room_imports_the_operations_of_another():
    imports = [
        (room.name, path.name, name.split("."))
        for room in ROOMS
        for path in room.glob("*.py")
        for name in _imported(_parse(path))
    ]
    assert [
        (room, file, ".".join(other))
        for room, file, other in imports
        if other[1] == "rooms" and len(other) > 3 and other[2] != room and other[3] == "operations"
    ] == []


def test_rooms_import_each_other_without_a_cycle():
    """What two rooms share belongs to the core, or to the room that owns the noun."""
    imports = {room.name: _imported_rooms(room) for room in ROOMS}
    while free := [name for name, others in imports.items() if not others]:
        imports = {name: others - set(free) for name, others in imports.items() if name not in free}
    assert imports == {}


def _imported_rooms(room: Path) -> set[str]:
    """The names of the other rooms that this one imports from."""
    names = {name for path in room.rglob("*.py") for name in _imported(_parse(path))}
    parts = [name.split(".") for name in names]
    return {part[2] for part in parts if part[1] == "rooms" and part[2] != room.name}


def test_files_and_their_functions_are_short():
    """The signature of an operation is its schema, with the help of each argument, and does not count."""
    files = [str(path.relative_to(SOURCE)) for path in FILES if path.read_text().count("\n") > 500]
    functions = [
        f"{path.relative_to(SOURCE)}: {node.name}"
        for path in FILES
        for node in ast.walk(_parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.body[0].lineno + 1 > 50
    ]
    assert (files, functions) == ([], [])


# Lines of each package; the house has 62,000 (decision 0033). A number only falls: who needs more deletes elsewhere first, or
# says in a decision record why not.
LINES = {
    "backup": 1_270,
    "cli": 3_400,
    "client": 510,
    "client/agents": 3_950,
    "client/checkout": 3_350,
    "client/commands": 1_640,
    "client/companion": 3_120,
    "client/day_zero": 1_140,
    "client/doctor": 330,
    "client/install": 2_400,
    "client/link": 3_850,
    "client/people": 1_270,
    "client/rules": 1_010,
    "client/vault": 570,
    "client/verify": 560,
    "edges": 6_720,
    "identity": 670,
    "journal": 2_120,
    "librarian": 1_740,
    "masking": 1_270,
    "quoting": 530,
    "rooms/admin": 2_210,
    "rooms/agent_memory": 610,
    "rooms/agents": 430,
    "rooms/archives": 2_010,
    "rooms/backlog": 1_980,
    "rooms/blackboard": 2_040,
    "rooms/checklists": 600,
    "rooms/checkouts": 630,
    "rooms/databases": 490,
    "rooms/functions": 1_450,
    "rooms/guidelines": 730,
    "rooms/journals": 710,
    "rooms/knowledge": 3_900,
    "rooms/live_state": 1_340,
    "rooms/locks": 2_840,
    "rooms/messages": 1_840,
    "rooms/projects": 920,
    "rooms/requests": 1_140,
    "rooms/sessions": 2_480,
    "rooms/specs": 1_150,
    "rooms/webhooks": 510,
    "rooms/work": 1_680,
    "rooms/workspaces": 1_970,
    "root": 5_660,
    "rules": 1_140,
    "search": 3_590,
    "sqlguard": 2_460,
    "store": 3_600,
    "transcripts": 2_250,
}
FILES_OF_ROOMS = {"admin": 11, "functions": 15, "knowledge": 14, "sessions": 9, "workspaces": 18}
"""Rooms that still have more than eight files; these numbers only fall, too."""


def test_packages_stay_within_their_lines():
    lines = Counter[str]()
    for path in FILES:
        parts = path.relative_to(SOURCE).parts
        depth = 2 if parts[0] in ("client", "rooms") and len(parts) > 2 else 1
        lines["/".join(parts[:depth]) if len(parts) > 1 else "root"] += path.read_text().count("\n")
    assert {name: count for name, count in lines.items() if count > LINES.get(name, 0)} == {}


def test_rooms_have_at_most_eight_files():
    counts = {room.name: len(list(room.glob("*.py"))) for room in ROOMS}
    assert {name: count for name, count in counts.items() if count > FILES_OF_ROOMS.get(name, 8)} == {}


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


def test_no_task_is_created_outside_of_the_supervisor():
    made = {path.relative_to(SOURCE).as_posix(): _list_task_makers(path) for path in FILES}
    wrong = {name: makers - TASKS_OF_REQUESTS.get(name, set()) for name, makers in made.items()}
    assert {name: makers for name, makers in wrong.items() if makers} == {}


def _list_task_makers(path: Path) -> set[str]:
    attributes = [node for node in ast.walk(_parse(path)) if isinstance(node, ast.Attribute)]
    return {
        node.attr
        for node in attributes
        if node.attr in TASK_MAKERS or (node.attr == "gather" and ast.unparse(node) == "asyncio.gather")
    }


def test_waits_are_bounded_by_timeout():
    """asyncio.wait_for of Python 3.11 swallows a cancellation that meets the result; asyncio.timeout does not."""
    assert [path for path in FILES if "asyncio.wait_for(" in path.read_text()] == []
