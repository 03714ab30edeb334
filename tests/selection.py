"""Which tests `make quick` runs: SQLite only, no processes, nothing slow.

A test is left out by its folder, by its marker (`slow`, `processes`), by the PostgreSQL that it uses, or since its
module starts processes. A test that is selected and starts a process after all fails: mark it `processes`.
"""

import subprocess
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
FOLDERS_LEFT_OUT = [
    HERE / name for name in ("backup", "browser", "conformance", "faults", "client/hooks", "client/sync")
]
AGENT_PROGRAMS_FOLDER = HERE / "agents"
MODULES_WITH_PROCESSES = ("product", "subprocess")


def is_quick(item: pytest.Item) -> bool:
    if item.get_closest_marker("slow") or item.get_closest_marker("processes"):
        return False
    return not _uses_postgres(item) and not _starts_processes(item)


def repeats_on_other_store(item: pytest.Item) -> bool:
    """Is it the PostgreSQL form of a test marked `sqlite_only`, which runs no SQL that other tests do not run there?"""
    return item.get_closest_marker("sqlite_only") is not None and _uses_postgres(item)


def _uses_postgres(item: pytest.Item) -> bool:
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    stores = {value for value in parameters if isinstance(value, str)}
    fixtures = getattr(item, "fixturenames", ())
    return bool(stores & {"postgresql", "citus"}) or any("postgres" in name for name in fixtures)


def _starts_processes(item: pytest.Item) -> bool:
    module = getattr(item, "module", None)
    return isinstance(module, ModuleType) and any(hasattr(module, name) for name in MODULES_WITH_PROCESSES)


@pytest.fixture(autouse=True)
def no_processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under --quick, fail a test that starts a process."""
    if request.config.getoption("--quick"):

        def refuse(*_arguments: object, **_more: object) -> None:
            raise AssertionError("a quick test starts no process; mark it with pytest.mark.processes")

        monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
