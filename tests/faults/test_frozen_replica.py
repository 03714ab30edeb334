"""A replica that freezes in mid-transaction holds its project's locks: the others go on, in that project too."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import product
from commonplace import errors
from patience import PATIENCE_SECONDS

PROGRAM = Path(__file__).with_name("frozen_replica.py")


@contextmanager
def frozen_replica(dsn: str) -> Iterator[subprocess.Popen[str]]:
    """A process of ours that holds the locks of the project `shop` and does nothing any more."""
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), dsn], env=product.environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "frozen\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def start_session(server: product.Product, project: str, name: str) -> str:
    return server.call("memory_start_session", project=project, claude_instance=name)["session_id"]


def test_writes_of_the_same_project_go_on_when_a_replica_freezes(postgres_dsn: str, tmp_path: Path):
    with product.running(*product.store_flags(postgres_dsn, tmp_path)) as server:
        alice = start_session(server, "shop", "alice")
        assert server.call("memory_lock_files", session_id=alice, files=["b.py"])["success"]
        with frozen_replica(postgres_dsn) as frozen:
            assert server.call("memory_lock_files", session_id=alice, files=["a.py"])["success"]
            os.kill(frozen.pid, signal.SIGCONT)
            assert (
                frozen.wait(PATIENCE_SECONDS) == errors.Unavailable.exit_code
            )  # its transaction was rolled back
