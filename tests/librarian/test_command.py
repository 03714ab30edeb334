"""The librarian as a person starts it: its own command, and inside the server."""

import json
import subprocess
from pathlib import Path

import pytest
from trees import write_all

import product
from patience import PATIENCE_SECONDS, wait_until

RETRY = 'def retry_with_backoff(call):\n    """Call again after a failure."""\n    return call()\n'


def run_command(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        product.command(*arguments), capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=product.environment(**more)
    )  # fmt: skip


@pytest.fixture
def source_folder(tmp_path: Path) -> Path:
    return write_all(tmp_path / "tree", {"net/retry.py": RETRY})


def _list_functions(flags: list[str]) -> list[str]:
    completed = run_command("call", "memory_list_functions", "--project", "shop", *flags)
    return [f"{row[0]}#{row[1]}" for row in json.loads(completed.stdout).get("functions", [])]


def test_scan_says_what_it_would_do_then_does_it_then_finds_nothing_to_do(tmp_path, source_folder):
    flags = ["--data", str(tmp_path / "data")]
    scan = ("librarian", "scan", str(source_folder), "--project", "shop", *flags)
    dry = run_command(*scan, "--dry-run")
    assert "Would register or update 1" in dry.stdout
    assert "net/retry.py:1 retry_with_backoff" in dry.stdout
    assert _list_functions(flags) == []
    assert "1 added, 0 updated, 0 moved, 0 gone, 0 unchanged." in run_command(*scan).stdout
    assert _list_functions(flags) == ["net/retry.py#retry_with_backoff"]
    again = run_command(*scan)
    assert "0 added, 0 updated, 0 moved, 0 gone, 1 unchanged." in again.stdout
    assert (again.returncode, again.stderr) == (0, "")


def test_scan_of_a_folder_that_is_not_there_is_refused(tmp_path):
    refused = run_command(
        "librarian", "scan", str(tmp_path / "no"), "--project", "shop", "--data", str(tmp_path)
    )
    assert (refused.returncode, refused.stdout) == (5, "")


def test_enrich_dry_run_prints_a_cost_and_needs_no_model(tmp_path):
    completed = run_command(
        "librarian", "enrich", "--project", "shop", "--model", "http://127.0.0.1:9/v1#none", "--dry-run",
        "--price", "1", "5", "--data", str(tmp_path),
    )  # fmt: skip
    assert completed.stdout.startswith("Would send 0 of 0 functions: 0 + 0 tokens, 0.0000 at these prices")


def test_serve_with_a_librarian_keeps_the_registry_true(tmp_path, source_folder):
    with product.running("--data", str(tmp_path / "data"), "--librarian", f"shop={source_folder}") as server:
        wait_until(lambda: _list_names(server) == ["retry_with_backoff"])
        write_all(source_folder, {"net/more.py": "def more():\n    pass\n"})
        wait_until(lambda: _list_names(server) == ["more", "retry_with_backoff"])
        assert server.stop() == 0


def test_serve_with_a_librarian_of_no_folder_does_not_start(tmp_path):
    refused = run_command("serve", "--port", "0", "--data", str(tmp_path), "--librarian", "shop")
    assert (refused.returncode, refused.stdout) == (2, "")


def test_watch_ends_when_it_is_told_to(tmp_path, source_folder):
    with product.running("--data", str(tmp_path / "data")) as server:
        watch = subprocess.Popen(
            product.command("librarian", "watch", str(source_folder), "--project", "shop"),
            env=product.environment(COMMONPLACE_URL=server.url),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert watch.stdout is not None
        assert watch.stdout.readline() == "1 added, 0 updated, 0 moved, 0 gone.\n"
        watch.terminate()
        assert watch.wait(PATIENCE_SECONDS) == 0
        watch.stdout.close()
        assert _list_names(server) == ["retry_with_backoff"]


def _list_names(server: product.Product) -> list[str]:
    listed = server.call("memory_list_functions", project="shop")
    return sorted(row[1] for row in listed.get("functions", []))
