"""Two servers behind PgBouncer in transaction mode, where a session changes hands after every transaction."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import product
from patience import PATIENCE_SECONDS, wait_until
from postgres_process import PGBOUNCER, running_pgbouncer

AGENTS = 8
CALLS = 10


@pytest.mark.skipif(
    PGBOUNCER is None, reason="pgbouncer is not installed (Debian: apt-get install pgbouncer)"
)
def test_servers_behind_pgbouncer_answer_every_call_and_hear_of_each_other(postgres_dsn: str, tmp_path: Path):
    with (
        running_pgbouncer(postgres_dsn) as dsn,
        product.running(*product.store_flags(dsn, tmp_path / "first")) as first,
        product.running(*product.store_flags(dsn, tmp_path / "second")) as second,
        ThreadPoolExecutor(AGENTS + 1) as threads,
    ):
        bob = first.call("memory_start_session", project="shop", claude_instance="bob")["session_id"]
        waiting = threads.submit(first.call, "memory_get_messages", session_id=bob, wait_seconds=50)
        wait_until(lambda: b"commonplace_calls_waiting 1.0" in first.request("GET", "/metrics")[1])
        assert (
            list(threads.map(lambda n: work(first if n % 2 else second, n), range(AGENTS)))
            == [CALLS] * AGENTS
        )
        ann = second.call("memory_start_session", project="shop", claude_instance="ann")["session_id"]
        second.call("memory_send_message", session_id=ann, to_instance="bob", message="hello")
        assert [mail["from"] for mail in waiting.result(PATIENCE_SECONDS)["messages"]] == ["ann"]
        assert (first.stop(), second.stop()) == (0, 0)


def work(server: product.Product, n: int) -> int:
    """Write and read; return how many calls were answered."""
    agent = server.call("memory_start_session", project=f"project{n % 3}", claude_instance=f"agent{n}")
    answered = 0
    for call in range(CALLS // 2):
        session = {"session_id": agent["session_id"]}
        answered += server.call("memory_lock_files", **session, files=[f"{n}/{call}.py"])["success"]
        answered += "results" in server.call("memory_query", **session, query="idle connections")
    return answered
