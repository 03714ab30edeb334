"""A PostgreSQL that hangs, is read-only, stops or starts late: what the probes say, and that the server goes on."""

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import product
from patience import PATIENCE_SECONDS, wait_until
from postgres_process import PostgresProcess, running_postgres


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresProcess]:
    with running_postgres() as running:
        yield running


@pytest.fixture(scope="module")
def server(postgres: PostgresProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[product.Product]:
    with product.running(*product.store_flags(postgres.dsn, tmp_path_factory.mktemp("data"))) as running:
        yield running


def is_ready(server: product.Product) -> bool:
    return server.request("GET", "/ready")[0] == 200


def find_problem(server: product.Product) -> str:
    """Wait until the server is not ready; return why."""
    wait_until(lambda: not is_ready(server))
    return server.request("GET", "/ready")[1].decode()


def require_probes_without_store(server: product.Product) -> None:
    status, body, _ = server.request("GET", "/health")
    assert (status, json.loads(body)["status"]) == (503, "degraded")
    assert server.request("GET", "/live")[0] == 200
    status, body, _ = server.request("GET", "/metrics")
    assert status == 200
    assert b"commonplace_ready 0.0" in body


def require_refusal(server: product.Product) -> None:
    status, body, headers = server.request(
        "POST", "/api/memory_start_session", b'{"project": "shop", "claude_instance": "ann"}'
    )
    assert (status, json.loads(body)["error"], "retry-after" in headers) == (503, "unavailable", True)


def require_recovery(server: product.Product) -> None:
    wait_until(lambda: is_ready(server))
    assert server.call("memory_start_session", project="shop", claude_instance="ann")["session_id"]


def read_figure(server: product.Product, name: str) -> float:
    lines = server.request("GET", "/metrics")[1].decode().splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(name + " ")), 0.0)


def test_frozen_database_is_told_by_the_probes_and_the_server_recovers(
    postgres: PostgresProcess, server: product.Product
):
    with postgres.frozen():
        assert "unavailable" in find_problem(server)
        require_probes_without_store(server)
        require_refusal(server)
    require_recovery(server)


def test_read_only_database_is_told_by_the_probes_and_the_server_recovers(
    postgres: PostgresProcess, server: product.Product
):
    postgres.execute("alter system set default_transaction_read_only = on; select pg_reload_conf()")
    try:
        assert "read-only" in find_problem(server)
        require_probes_without_store(server)
        require_refusal(server)
    finally:
        postgres.execute(
            "set session characteristics as transaction read write;"
            " alter system reset default_transaction_read_only; select pg_reload_conf()"
        )
    require_recovery(server)


def test_stopped_database_is_told_by_the_probes_and_the_server_recovers(
    postgres: PostgresProcess, server: product.Product
):
    postgres.stop()
    try:
        assert "unavailable" in find_problem(server)
        require_probes_without_store(server)
        require_refusal(server)
    finally:
        postgres.start()
    require_recovery(server)


def test_background_work_goes_on_after_a_bug_and_the_server_stops_with_0(
    postgres: PostgresProcess, tmp_path: Path
):
    """A table that is missing for a while is an error that no refusal stands for."""
    with product.running(*product.store_flags(postgres.dsn, tmp_path)) as server:
        bob = server.call("memory_start_session", project="shop", claude_instance="bob")["session_id"]
        with ThreadPoolExecutor() as threads:
            waiting = threads.submit(server.call, "memory_get_messages", session_id=bob, wait_seconds=50)
            wait_until(lambda: read_figure(server, "commonplace_calls_waiting") == 1)
            failures = 'commonplace_background_failures_total{work="events"}'
            postgres.execute("alter table event rename to lost_event")
            wait_until(lambda: read_figure(server, failures) > 0)
            postgres.execute("alter table lost_event rename to event")
            ann = server.call("memory_start_session", project="shop", claude_instance="ann")["session_id"]
            server.call("memory_send_message", session_id=ann, to_instance="bob", message="hello")
            assert [mail["from"] for mail in waiting.result(PATIENCE_SECONDS)["messages"]] == ["ann"]
            waiting = threads.submit(server.call, "memory_get_messages", session_id=bob, wait_seconds=50)
            wait_until(lambda: read_figure(server, "commonplace_calls_waiting") == 1)
            postgres.execute("alter table event rename to lost_event")
            try:
                failed = read_figure(server, failures)
                wait_until(lambda: read_figure(server, failures) > failed)
                assert server.stop() == 0
            finally:
                postgres.execute("alter table lost_event rename to event")
            assert waiting.result(PATIENCE_SECONDS)["messages"] == []


def test_servers_that_start_before_their_database_wait_for_it_and_share_the_migration(
    postgres: PostgresProcess, tmp_path: Path
):
    postgres.execute("create database empty")
    dsn = postgres.dsn.replace("/postgres?", "/empty?")
    postgres.stop()
    servers = [
        subprocess.Popen(
            product.command(
                "serve", "--port", "0", "--wait", str(int(PATIENCE_SECONDS)),
                *product.store_flags(dsn, tmp_path / str(n)),
            ),
            env=product.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for n in range(3)
    ]  # fmt: skip
    try:
        for process in servers:
            assert "waiting for the database" in process.stderr.readline()
        postgres.start()
        for process in servers:
            assert "listens at" in process.stdout.readline()
        for process in servers:
            process.send_signal(signal.SIGTERM)
        for process in servers:
            process.communicate(timeout=PATIENCE_SECONDS)
        assert [process.returncode for process in servers] == [0, 0, 0]
    finally:
        postgres.start()
        for process in servers:
            process.kill()
            process.communicate()


def test_address_of_several_hosts_finds_the_one_that_takes_writes(postgres: PostgresProcess, tmp_path: Path):
    """The first does not exist, the second accepts connections and is silent, the third is the primary."""
    folder = Path(postgres.dsn.rpartition("host=")[2])
    silent = tmp_path / "silent"
    silent.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(silent / ".s.PGSQL.5432"))
        listening.listen()
        hosts = f"{tmp_path / 'nowhere'},{silent},{folder}"
        dsn = f"postgresql://postgres@/postgres?host={hosts}&target_session_attrs=read-write"
        with product.running(*product.store_flags(dsn, tmp_path / "data")) as server:
            assert server.call("memory_start_session", project="shop", claude_instance="ann")["session_id"]
            assert server.call("memory_list_projects")["projects"]
            assert server.stop() == 0


def test_wrong_database_is_refused_at_once(postgres: PostgresProcess, tmp_path: Path):
    dsn = postgres.dsn.replace("/postgres?", "/nobody?")
    refused = subprocess.run(
        product.command("serve", "--port", "0", "--wait", "600", *product.store_flags(dsn, tmp_path)),
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=product.environment(),
    )  # fmt: skip
    assert (refused.returncode, "nobody" in refused.stderr) == (4, True)
