"""How a server ends and what it finds at its start. kill -9 under load is in test_nemesis.py."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import product
from patience import PATIENCE_SECONDS, wait_until

ROUNDS_UNTIL_BUSY = 5


class Worker(threading.Thread):
    """Locks and reports work as fast as it can."""

    def __init__(self, server: product.Product, name: str) -> None:
        super().__init__(daemon=True)
        self.server, self.agent = server, name
        self.session = server.call("memory_start_session", project="shop", claude_instance=name)["session_id"]
        self.busy = threading.Event()
        """Set when enough was acknowledged."""

    def run(self) -> None:
        n = 0
        try:
            while True:
                n += 1
                self._once(n)
        except (OSError, product.http.client.HTTPException):
            return

    def _once(self, n: int) -> None:
        path = f"{self.agent}/{n}.py"
        self.server.call("memory_lock_files", session_id=self.session, files=[path])
        title = f"{self.agent} {n}"
        self.server.call("memory_update_work", session_id=self.session, title=title, status="in_progress")
        if n == ROUNDS_UNTIL_BUSY:
            self.busy.set()


def test_stop_under_load_ends_well(address: Path | str, tmp_path: Path):
    with product.running(*product.store_flags(address, tmp_path / "client")) as server:
        workers = [Worker(server, f"agent{n}") for n in range(3)]
        for worker in workers:
            worker.start()
        assert all(worker.busy.wait(PATIENCE_SECONDS) for worker in workers)
        assert server.stop() == 0


def test_stop_answers_who_waits_for_an_event(tmp_path: Path):
    with product.running("--data", str(tmp_path)) as server, ThreadPoolExecutor() as threads:
        bob = server.call("memory_start_session", project="shop", claude_instance="bob")["session_id"]
        waiting = threads.submit(server.call, "memory_get_messages", session_id=bob, wait_seconds=50)
        wait_until(lambda: b"commonplace_calls_waiting 1.0" in server.request("GET", "/metrics")[1])
        assert server.stop() == 0
        assert waiting.result(PATIENCE_SECONDS)["messages"] == []


def test_second_server_on_one_folder_is_refused_in_words(tmp_path: Path):
    with product.running("--data", str(tmp_path)):
        second = product.subprocess.run(
            product.command("serve", "--port", "0", "--data", str(tmp_path)),
            capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=product.environment(),
        )  # fmt: skip
    assert (second.returncode, str(tmp_path) in second.stderr) == (8, True)


def test_lost_database_is_not_replaced_by_an_empty_one(tmp_path: Path):
    with product.running("--data", str(tmp_path)) as server:
        server.stop()
    (tmp_path / "commonplace.db").unlink()
    again = product.subprocess.run(
        product.command("serve", "--port", "0", "--data", str(tmp_path)),
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=product.environment(),
    )  # fmt: skip
    assert (again.returncode, "commonplace restore BACKUP" in again.stderr) == (8, True)
    assert not (tmp_path / "commonplace.db").exists()
