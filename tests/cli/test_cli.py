"""The command line as a person types it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import product
from commonplace.cli.parser import COMMAND_GROUPS, COMMANDS
from commonplace.client.agents import AGENTS
from patience import PATIENCE_SECONDS


def run(*arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        product.command(*arguments), input=stdin, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
        env=product.environment(**more),
    )  # fmt: skip


def test_help_teaches_the_first_steps():
    shown = run("--help")
    assert shown.returncode == 0
    for word in ("serve", "status", "call", "key create"):
        assert word in shown.stdout


def test_help_groups_every_command_by_its_purpose():
    listed = [command.name for command in COMMANDS]
    shown = run("--help").stdout
    assert all(f"\n{title}:\n" in shown for title in COMMAND_GROUPS)
    assert [line.split()[0] for line in shown.splitlines() if re.match(r"  [a-z]+ {2}", line)] == listed
    for name in listed:
        assert run(name, "--help").returncode == 0


def test_call_lists_operations_and_explains_one():
    assert "memory_lock_files" in run("call").stdout
    listed = run("call", "--help")
    assert (listed.returncode, "memory_lock_files" in listed.stdout) == (0, True)
    assert "--wait-seconds" in run("call", "memory_lock_files", "--help").stdout


def test_call_works_without_a_server_and_through_one(address: Path | str, tmp_path: Path):
    flags = product.store_flags(address, tmp_path / "client")
    started = json.loads(run("call", "memory_start_session", "--project", "shop", *flags).stdout)
    with product.running(*flags):
        locked = run(
            "call",
            "memory_lock_files",
            "--session-id",
            started["session_id"],
            "--files",
            "a.py",
            "b.py",
            *flags,
        )
        assert json.loads(locked.stdout)["success"] is True
        assert "1 active" in run("status", *flags).stdout


def test_call_takes_arguments_as_json_on_standard_input(tmp_path: Path):
    started = run(
        "call", "memory_start_session", "--json", "-", "--data", str(tmp_path), stdin='{"project": "shop"}'
    )
    assert json.loads(started.stdout)["project"] == "shop"


def test_refusals_go_to_standard_error_with_an_exit_code(tmp_path: Path):
    refused = run("call", "memory_heartbeat", "--session-id", "nobody", "--data", str(tmp_path))
    assert (refused.returncode, refused.stdout) == (5, "")
    assert "memory_start_session" in refused.stderr


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("status",), ("who",)])
def test_data_folder_that_cannot_be_written_is_named(tmp_path: Path, command: tuple[str, ...]):
    (tmp_path / "file").touch()
    refused = run(*command, "--data", str(tmp_path / "file" / "data"))
    assert (refused.returncode, refused.stdout) == (8, "")
    assert refused.stderr.splitlines() == [
        f"commonplace: The data folder {tmp_path / 'file' / 'data'} cannot be used: Not a directory.",
        "  Name a folder that you may write to with --data.",
    ]


def test_output_that_nobody_reads_any_more_ends_the_command_quietly():
    with subprocess.Popen(
        product.command("call"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=product.environment()
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert (process.stderr.read(), process.wait(PATIENCE_SECONDS)) == (b"", 141)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_reported_in_one_line():
    with Path("/dev/full").open("w") as full:
        failed = subprocess.run(
            product.command("call"),
            stdout=full,
            stderr=subprocess.PIPE,
            env=product.environment(),
            check=False,
        )
    assert (failed.returncode, failed.stderr) == (1, b"commonplace: No space left on device.\n")


@pytest.mark.parametrize("folder", ["bogus", "/nonexistent"])
def test_serve_refuses_a_model_that_is_not_there(tmp_path: Path, folder: str):
    refused = run("serve", "--embeddings", folder, "--data", str(tmp_path / "data"), "--port", "0")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert folder in refused.stderr
    assert not (tmp_path / "data").exists()


def test_serve_help_names_the_key_of_an_embeddings_endpoint():
    assert "COMMONPLACE_EMBEDDINGS_KEY" in run("serve", "--help").stdout


def test_key_is_made_shown_once_used_and_revoked_at_once(address: Path | str, tmp_path: Path):
    flags = product.store_flags(address, tmp_path / "client")
    key = run("key", "create", "--name", "ann", "--role", "owner", *flags).stdout.split()[0]
    assert key.startswith("smk_")
    with product.running(*flags, "--auth", "on") as server:
        assert server.call("memory_start_session", key, project="shop")["project"] == "shop"
        listed = run("key", "list", *flags).stdout
        assert ("ann" in listed, key in listed) == (True, False)
        assert run("key", "revoke", "ann", *flags).returncode == 0
        with pytest.raises(product.Refused) as refused:
            server.call("memory_start_session", key, project="shop")
        assert refused.value.status == 401


def test_key_list_shows_the_machines_and_workspaces_that_a_key_is_held_to(tmp_path: Path):
    data = ("--data", str(tmp_path))
    limits = ("--machines", "laptop", "desk", "--workspaces", "hub-codex-shop")
    assert run("key", "create", "--name", "sync", "--role", "sync", *limits, *data).returncode == 0
    assert run("key", "create", "--name", "free", *data).returncode == 0
    held, free = sorted(run("key", "list", *data).stdout.splitlines(), key=lambda line: "free" in line)
    assert held.endswith("machines laptop,desk  workspaces hub-codex-shop")
    assert "machines" not in free


def test_key_create_says_what_the_key_may_use(tmp_path: Path):
    data = ("--data", str(tmp_path))
    free = run("key", "create", "--name", "free", "--role", "agent", *data)
    assert "--projects '*'" in free.stderr
    every = run("key", "create", "--name", "every", "--projects", "*", *data)
    assert ("all projects" in every.stdout, every.stderr) == (True, "")


def test_other_machines_reach_a_server_with_keys_by_the_addresses_that_it_prints(tmp_path: Path):
    data = ("--data", str(tmp_path))
    key = run("key", "create", "--name", "ann", "--role", "owner", *data).stdout.split()[0]
    with product.running(*data, "--host", "0.0.0.0", "--auth", "on") as server:
        assert server.process.stdout is not None
        banner = [server.process.stdout.readline() for _ in range(8 + len(AGENTS))]
        assert not any("//0.0.0.0" in line for line in banner)
        addresses = re.findall(r"http://[^\s,]+[^\s,.]", banner[0])
        if not addresses:
            pytest.skip("this machine has no address but loopback")
        for agent in AGENTS:
            assert f"connect {agent} --url {addresses[0]} --key KEY" in "".join(banner)
        assert "key create" in "".join(banner)
        for address in addresses:
            assert run("status", COMMONPLACE_URL=address, COMMONPLACE_KEY=key).returncode == 0
        foreign = server.request("GET", "/health", headers={"Host": "evil.example"})
        assert foreign[0] == 421


def test_serve_prints_a_command_that_this_shell_finds(tmp_path: Path):
    script = Path(sys.executable).with_name("commonplace")
    with subprocess.Popen(
        [script, "serve", "--port", "0", "--data", str(tmp_path / "data")],
        cwd=script.parent.parent,
        env=product.environment(PATH="/nowhere"),
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            banner = "".join(server.stdout.readline() for _ in range(5))
        finally:
            server.terminate()
    assert f" {script.relative_to(script.parent.parent)} connect claude" in banner


def test_serve_without_keys_says_that_other_machines_are_refused(tmp_path: Path):
    with product.running("--data", str(tmp_path), "--host", "0.0.0.0", "--insecure") as server:
        assert server.process.stdout is not None
        banner = "".join(server.process.stdout.readline() for _ in range(5))
        assert "--allowed-hosts" in banner
        assert f"connect claude --url {server.url}" in banner


def test_client_commands_reach_the_server_that_the_environment_names(tmp_path: Path):
    with product.running("--data", str(tmp_path / "server")) as server:
        shown = run(
            "call", "memory_health", COMMONPLACE_DATA=str(tmp_path / "elsewhere"), COMMONPLACE_URL=server.url
        )
        assert json.loads(shown.stdout)["status"] == "ok"
        assert not (tmp_path / "elsewhere").exists()


def test_status_tells_of_the_server_that_the_agents_of_this_machine_speak_to(tmp_path: Path):
    with product.running("--data", str(tmp_path / "server")) as server:
        home = tmp_path / "home"
        home.mkdir()
        (home / "config.toml").write_text(f'url = "{server.url}"')
        assert f"at {server.url}" in run("status", COMMONPLACE_HOME=str(home)).stdout
