"""Which server the commands speak to: flag, environment, project file, config.toml, local server, local store."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import product
from patience import PATIENCE_SECONDS

DEAD = "http://127.0.0.1:9"


class Shell:
    """A person's shell in a checkout, with a home folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.home, self.checkout, self.data = folder / "home", folder / "shop", folder / "local"
        self.home.mkdir()
        (self.checkout / ".git").mkdir(parents=True)

    def configures(self, **values: str) -> None:
        lines = [f'{name} = "{value}"' for name, value in values.items()]
        (self.home / "config.toml").write_text("\n".join(lines))

    def names_server_in_project(self, url: str) -> None:
        (self.checkout / ".commonplace.toml").write_text(f'url = "{url}"')

    def runs(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        variables = {"COMMONPLACE_HOME": str(self.home), "COMMONPLACE_DATA": str(self.data)} | variables
        return subprocess.run(
            product.command(*words),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
            cwd=self.checkout,
            env=product.environment(**variables),
        )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture(scope="module")
def team_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[product.Product]:
    with product.running("--data", str(tmp_path_factory.mktemp("team"))) as server:
        server.call("memory_start_session", project="shop", claude_instance="ann")
        yield server


@pytest.mark.parametrize(
    "words",
    [
        ("call", "memory_health"),
        ("librarian", "scan", ".", "--project", "shop", "--dry-run"),
        ("verify", ".", "--project", "shop"),
        ("status",),
    ],
)
def test_commands_speak_to_the_server_that_connect_wrote_down(
    shell: Shell, team_server: product.Product, words: tuple[str, ...]
):
    shell.configures(url=team_server.url)
    completed = shell.runs(*words)
    assert completed.returncode == 0, completed.stderr
    assert not shell.data.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("call", "memory_health"),
        ("key", "list"),
        ("librarian", "scan", ".", "--project", "shop", "--dry-run"),
        ("verify", ".", "--project", "shop"),
        ("distill", "session_0123456789abcdef", "--project", "shop", "--model", f"{DEAD}/v1#m", "--dry-run"),
        ("status",),
    ],
)
def test_a_configured_server_that_is_away_is_never_replaced_by_an_empty_database(
    shell: Shell, words: tuple[str, ...]
):
    shell.configures(url=DEAD)
    completed = shell.runs(*words)
    assert (completed.returncode, completed.stdout) == (8, "")
    for text in (DEAD, str(shell.home / "config.toml"), "--data"):
        assert text in completed.stderr
    assert not shell.data.exists()


def test_each_place_is_asked_before_the_next(shell: Shell, team_server: product.Product):
    shell.configures(url=DEAD)
    assert DEAD in shell.runs("call", "memory_health").stderr
    shell.names_server_in_project(team_server.url)
    assert shell.runs("call", "memory_health").returncode == 0
    shell.names_server_in_project(DEAD)
    assert str(shell.checkout / ".commonplace.toml") in shell.runs("call", "memory_health").stderr
    assert shell.runs("call", "memory_health", COMMONPLACE_URL=team_server.url).returncode == 0
    named = shell.runs("call", "memory_health", "--url", f"{team_server.url}/mcp", COMMONPLACE_URL=DEAD)
    assert named.returncode == 0, named.stderr


def test_a_data_folder_that_is_named_is_used_whatever_is_configured(shell: Shell, tmp_path: Path):
    shell.configures(url=DEAD)
    folder = tmp_path / "named"
    assert shell.runs("call", "memory_health", "--data", str(folder), COMMONPLACE_URL=DEAD).returncode == 0
    assert folder.exists()


def test_status_prints_the_server_where_it_is_named_and_what_it_overrides(
    shell: Shell, team_server: product.Product
):
    shell.configures(url=DEAD)
    shown = shell.runs("status", COMMONPLACE_URL=team_server.url).stdout.splitlines()
    assert shown[0].endswith(f"at {team_server.url}")
    assert f"server    {team_server.url}, named by COMMONPLACE_URL" in shown
    assert f"          overrides {DEAD}, named by {shell.home / 'config.toml'}" in shown
    local = shell.runs("status", COMMONPLACE_HOME=str(shell.home / "empty")).stdout
    assert f"server    none; reading the data folder {shell.data}" in local.splitlines()


def test_status_says_who_asks_and_that_agents_do_not_trust_the_repository(
    shell: Shell, team_server: product.Product
):
    shell.names_server_in_project("http://memory.example:8080")
    shown = shell.runs("status", "--url", team_server.url).stdout.splitlines()
    assert "access    owner; all projects; keys off" in shown
    assert any(line.startswith("agents    send nothing: ") and "--project-scope" in line for line in shown)


def test_the_local_operator_is_recognised_where_the_configuration_names_this_machines_own_server(
    shell: Shell,
):
    with product.running("--data", str(shell.data)) as server:
        shell.configures(url=f"http://localhost:{server.port}")
        created = shell.runs("key", "create", "--name", "ann", "--role", "owner")
        assert created.returncode == 0, created.stderr
        assert "ann" in shell.runs("key", "list").stdout


def test_a_key_is_never_sent_to_a_server_that_only_the_project_file_names(shell: Shell, tmp_path: Path):
    data = ("--data", str(tmp_path / "keyed"))
    key = shell.runs("key", "create", "--name", "ann", "--role", "owner", *data).stdout.split()[0]
    with product.running(*data, "--auth", "on") as server:
        shell.names_server_in_project(server.url)
        refused = shell.runs("call", "memory_health", COMMONPLACE_KEY=key)
        assert refused.returncode == 3
        (shell.home / "key").write_text(key)
        shell.configures(url=server.url, key=f"file:{shell.home / 'key'}")
        answered = shell.runs("call", "memory_health")
        assert json.loads(answered.stdout)["status"] == "ok"


@pytest.mark.parametrize("content", ['url = "ftp://x"', "url = ["])
def test_a_configuration_that_cannot_be_read_is_refused_by_its_name(shell: Shell, content: str):
    (shell.home / "config.toml").write_text(content)
    refused = shell.runs("call", "memory_health")
    assert refused.returncode == 2
    assert str(shell.home / "config.toml") in refused.stderr
