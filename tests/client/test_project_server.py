"""The server that a repository names in .commonplace.toml: who uses it, and which keys it never gets."""

import asyncio
import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hooked import Agent, repository
from sync.machine import Machine, claude

import product
from patience import PATIENCE_SECONDS

FOREIGN = "http://memory.example:8080"


class Recorder(ThreadingHTTPServer):
    """A server that somebody else runs: it answers nothing useful and remembers what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _RecordingHandler)
        self.requests: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _RecordingHandler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.server.requests.append((self.path, self.headers.get("Authorization", "")))
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.send_response(503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    server = Recorder()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "home" / "shop", "cart.py")


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[product.Product, str]]:
    """The server of a project, and a key for it."""
    data = tmp_path_factory.mktemp("keyed")
    with product.running("--data", str(data), "--auth", "on") as server:
        operator = json.loads((data / "server.json").read_bytes())["token"]
        created = server.call(
            "memory_admin", operator, action="create_key", name="ann", role="agent", projects=["*"]
        )
        yield server, created["key"]


def names_server(folder: Path, url: str) -> None:
    (folder / ".commonplace.toml").write_text(f'url = "{url}"')


def configures(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text)


def agent_in(shop: Path, home: Path, **environ: str) -> Agent:
    variables = {
        "COMMONPLACE_HOME": str(home),
        "COMMONPLACE_DATA": str(home / "none"),
        "COMMONPLACE_HOOKS_SECONDS": str(PATIENCE_SECONDS),
        "COMMONPLACE_HOOKS_TRANSCRIPTS": "off",
    }
    return Agent("claude", shop, variables | environ)


async def test_hook_uses_the_server_of_the_project_with_the_key_stored_for_it(
    shop: Path, tmp_path: Path, keyed: tuple[product.Product, str]
):
    server, key = keyed
    names_server(shop, server.url)
    (tmp_path / "b").write_text(key)
    configures(
        tmp_path / "state",
        f'url = "http://127.0.0.1:9"\nkey = "env:OTHER"\n[servers."{server.url}"]\nkey = "file:{tmp_path / "b"}"\n',
    )
    started = await agent_in(shop, tmp_path / "state", OTHER="smk_other").start()
    assert started.session_id.startswith("shop_claude_")


@pytest.mark.parametrize(
    "configuration", ['url = "http://127.0.0.1:9"\nkey = "env:MINE"', 'key = "env:MINE"']
)
async def test_no_key_of_another_server_is_sent_to_the_one_that_a_repository_names(
    shop: Path, tmp_path: Path, recorder: Recorder, configuration: str
):
    names_server(shop, recorder.url)
    configures(tmp_path / "state", configuration)
    keys = {"COMMONPLACE_KEY": "smk_mine", "MINE": "smk_mine", "SYNC_TOKEN": "smk_mine"}
    await agent_in(shop, tmp_path / "state", **keys).start()
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    await _pass_through_proxy(shop, tmp_path / "state", message, "--key", "smk_mine", **keys)
    machine = Machine(tmp_path)
    claude(machine, "s1")
    machine.sync(**keys)
    assert len({path for path, _ in recorder.requests}) >= 3
    assert {authorization for _, authorization in recorder.requests} == {""}


async def _pass_through_proxy(
    shop: Path, home: Path, message: dict, *flags: str, **environ: str
) -> tuple[int, bytes]:
    process = await asyncio.create_subprocess_exec(
        *product.command("stdio", *flags),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=shop,
        env=product.environment(
            COMMONPLACE_HOME=str(home), **{"COMMONPLACE_DATA": str(home / "none")} | environ
        ),
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, _ = await process.communicate(json.dumps(message).encode() + b"\n")
    assert process.returncode is not None
    return process.returncode, out


async def test_proxy_uses_the_server_of_the_project(
    shop: Path, tmp_path: Path, keyed: tuple[product.Product, str]
):
    server, key = keyed
    names_server(shop, server.url)
    configures(tmp_path / "state", f'url = "{server.url}"\nkey = "env:MINE"')
    code, out = await _pass_through_proxy(
        shop, tmp_path / "state", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, MINE=key
    )
    assert (code, "memory_query" in out.decode()) == (0, True)


async def test_foreign_server_that_only_a_repository_names_gets_nothing_until_the_user_connects(
    shop: Path, tmp_path: Path
):
    names_server(shop, FOREIGN)
    home = tmp_path / "state"
    told = await agent_in(shop, home).start()
    assert f"connect AGENT --project-scope --url {FOREIGN}" in told.context
    code, out = await _pass_through_proxy(shop, home, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert (code, FOREIGN in out.decode()) == (2, True)
    machine = Machine(tmp_path)
    claude(machine, "s1")
    configures(home, 'url = "http://127.0.0.1:9"')
    failed = machine.sync()
    assert (failed.code, FOREIGN in failed.err) == (1, True)


def test_transcripts_of_a_project_go_to_its_server_and_all_others_to_the_machines(shop: Path, tmp_path: Path):
    bank = repository(tmp_path / "home" / "bank")
    machine = Machine(tmp_path)
    first = claude(machine, "s1")
    second = machine.write(".claude/projects/-home-bank/s2.jsonl", {"type": "user", "cwd": str(bank)})
    with (
        product.running("--data", str(tmp_path / "a")) as own,
        product.running("--data", str(tmp_path / "b")) as other,
    ):
        names_server(shop, other.url)
        configures(machine.state, f'machine = "lap"\nurl = "{own.url}"')
        sent = machine.sync()
        assert (sent.code, sent.err) == (0, "")
        assert sent.out.startswith("2 transcripts sent")
        assert _list_archives(own) == {("lap-claude-code-bank", second.stem)}
        assert _list_archives(other) == {("lap-claude-code-shop", first.stem)}
        assert machine.sync().out.startswith("0 transcripts sent")


def _list_archives(server: product.Product) -> set[tuple[str, str]]:
    workspaces = [item["workspace_id"] for item in server.call("list_workspaces")["workspaces"]]
    return {
        (workspace, session["session_id"])
        for workspace in workspaces
        for session in server.call("list_sessions", workspace_id=workspace)["sessions"]
    }
