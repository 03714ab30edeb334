"""`serve --auth local`: only programs of the user who runs the server may call, and they find the token themselves."""

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import product
from commonplace import errors
from commonplace.client.link import remote
from commonplace.config import Settings
from commonplace.local_token import load_or_create_local_token
from commonplace.server import _require_keys_or_loopback
from patience import PATIENCE_SECONDS


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[product.Product]:
    folder = str(home / "data")
    with product.running(
        "--data", folder, "--auth", "local", COMMONPLACE_HOME=str(home / "client")
    ) as running:
        yield running


@pytest.fixture
def token(server: product.Product, home: Path) -> str:  # noqa: ARG001 - the server writes the file
    return (home / "client" / "local.token").read_text().strip()


def run_as_owner(
    home: Path, server: product.Product, *words: str, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """A command of the user who runs the server; it knows the address and nothing else."""
    environment = product.environment(
        COMMONPLACE_HOME=str(home / "client"), COMMONPLACE_URL=server.url, HOME=str(home)
    )
    return subprocess.run(
        product.command(*words), env=environment, input=given, capture_output=True, text=True, cwd=home,
        timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip


def test_call_without_the_token_is_refused(server: product.Product):
    for path in ("/api/memory_health", "/mcp"):
        status, body, _ = server.request("POST", path, b"{}", {"Content-Type": "application/json"})
        assert (status, json.loads(body)["error"]) == (401, "unauthenticated")
    with pytest.raises(product.Refused) as refused:
        server.call("memory_health", key="cpl_wrong")
    assert refused.value.status == 401


def test_token_is_in_a_file_that_only_its_user_can_read(server: product.Product, home: Path, token: str):
    path = home / "client" / "local.token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token.startswith("cpl_")
    assert server.call("memory_admin", key=token, action="auth_status") == {
        "auth": "local", "role": "owner", "projects": ["*"],
    }  # fmt: skip


def test_command_line_finds_the_token(server: product.Product, home: Path):
    called = run_as_owner(home, server, "call", "memory_list_projects")
    assert (called.returncode, called.stderr) == (0, "")


def test_hook_finds_the_token(server: product.Product, home: Path, token: str):
    repository = home / "shop"
    repository.mkdir(exist_ok=True)
    event = {
        "hook_event_name": "SessionStart",
        "session_id": "w1",
        "cwd": str(repository),
        "source": "startup",
    }
    started = run_as_owner(home, server, "hook", "claude", given=json.dumps(event))
    assert started.returncode == 0, started.stderr
    agents = server.call("memory_list_projects", key=token)["projects"]
    assert [project["project"] for project in agents] == ["shop"]


def test_connect_writes_the_token_without_asking(server: product.Product, home: Path, token: str):
    connected = run_as_owner(home, server, "connect", "claude")
    assert connected.returncode == 0, connected.stderr
    assert token in (home / ".claude.json").read_text()
    assert token not in connected.stdout
    assert not (home / "client" / "key").exists()


def test_stdio_proxy_finds_the_token(server: product.Product, home: Path):
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_list_projects", "arguments": {}},
    }
    answered = run_as_owner(home, server, "stdio", given=json.dumps(message) + "\n")
    assert "projects" in json.loads(answered.stdout.splitlines()[0])["result"]["content"][0]["text"]


def test_token_is_sent_to_the_exact_address_of_this_users_own_server_only(
    monkeypatch: pytest.MonkeyPatch, home: Path, server: product.Product, token: str
):
    monkeypatch.setenv("COMMONPLACE_HOME", str(home / "client"))
    assert remote.read_local_token(server.url) == token
    for other in (f"http://[::1]:{server.port}", f"http://localhost:{server.port}", "http://127.0.0.1:9"):
        assert remote.read_local_token(other) == ""
    assert remote.read_local_token("http://memory.example:8080") == ""
    monkeypatch.delenv("COMMONPLACE_URL", raising=False)
    repository = home / "cloned"
    repository.mkdir()
    (repository / ".commonplace.toml").write_text('project = "x"\nurl = "http://127.0.0.1:9"\n')
    monkeypatch.setenv("COMMONPLACE_DATA", str(home / "none"))
    named = remote.find_server(folder=repository)
    assert named is not None
    assert (named.url, named.key) == ("http://127.0.0.1:9", "")


def test_token_that_others_can_read_is_refused(tmp_path: Path):
    path = tmp_path / "local.token"
    assert load_or_create_local_token(path) == load_or_create_local_token(path)
    path.chmod(0o644)
    with pytest.raises(errors.Forbidden):
        load_or_create_local_token(path)
    path.write_text("")
    path.chmod(0o600)
    with pytest.raises(errors.Invalid):
        load_or_create_local_token(path)


def test_local_auth_is_for_one_machine():
    with pytest.raises(errors.Invalid):
        _require_keys_or_loopback(Settings(host="0.0.0.0", auth="local"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_of_the_machine_cannot_read_the_token(home: Path, token: str):  # noqa: ARG001 - it is there
    script = f"import os; os.setuid(65534); open({str(home / 'client' / 'local.token')!r})"
    tried = subprocess.run([os.sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "PermissionError" in tried.stderr
