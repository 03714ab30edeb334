"""The folder tree of an earlier workspace server becomes workspaces: once, complete, and nothing that differs is replaced."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from user import User

from commonplace.__main__ import main
from commonplace.client.day_zero.workspace_tree import list_workspaces

LINES = [
    {"type": "user", "cwd": "/home/ann/shop", "message": {"role": "user", "content": "Round the cart total"}},
    {
        "type": "user",
        "message": {"role": "user", "content": "password=hunter2hunter2 is in AKIAIOSFODNN7EXAMPLQ"},
    },
]
TRANSCRIPT = "".join(json.dumps(line) + "\n" for line in LINES).encode()
SHOP = {"id": "laptop-claude-code-shop", "machine": "laptop", "tool": "claude-code", "project": "shop"}
TILL = {"workspaceId": "w2", "hostname": "desk", "agent": "codex", "projectName": "till"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    shop, till = root / SHOP["id"], root / "workspaces/desk/codex/till"
    for folder in (shop / "knowledge/db", shop / "sessions", till):
        folder.mkdir(parents=True)
    (root / "workspaces.json").write_text(json.dumps([SHOP, TILL]))
    (shop / "README.md").write_text("# The shop on my laptop\n")
    (shop / "knowledge/README.md").write_text("# Index\n")
    (shop / "knowledge/db/pool.md").write_text("PgBouncer closes idle connections after ten minutes.\n")
    (shop / "sessions/s1.jsonl").write_bytes(TRANSCRIPT)
    (shop / "sessions/s2.jsonl.gz").write_bytes(gzip.compress(TRANSCRIPT))
    (till / "prices.md").write_text("Prices are net.\n")
    return root


@pytest.fixture
def run(user: User, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run_command(*words: str) -> str:
        capsys.readouterr()
        assert main([*words, "--data", str(user.home / "data")]) == 0
        return capsys.readouterr().out

    return run_command


@pytest.fixture
def call(run: Callable[..., str]) -> Callable[..., dict[str, Any]]:
    return lambda name, **arguments: json.loads(run("call", name, "--json", json.dumps(arguments)))


def list_skips(root: Path) -> dict[str, str]:
    skips: dict[str, str] = {}
    list_workspaces(root, skips.__setitem__)
    return {path.removeprefix(f"{root.resolve()}/"): reason for path, reason in skips.items()}


def test_import_stores_overview_knowledge_and_transcripts_of_each_workspace(
    tree: Path, run: Callable[..., str], call: Callable[..., dict[str, Any]]
):
    planned = run("import", str(tree), "--dry-run")
    assert [line for line in planned.splitlines() if line.startswith("would store")] == [
        "would store 3 knowledge files",
        "would store 1 overview",
        "would store 2 transcripts",
    ]
    assert call("list_workspaces")["workspaces"] == []
    stored = run("import", str(tree))
    assert stored.splitlines() == [
        "stored      3 knowledge files",
        "stored      1 overview",
        "stored      2 transcripts",
    ]
    listed = {each["workspace_id"]: each for each in call("list_workspaces")["workspaces"]}
    assert {name: (each["knowledge_count"], each["session_count"]) for name, each in listed.items()} == {
        "laptop-claude-code-shop": (2, 2),
        "desk-codex-till": (1, 0),
    }
    shop = SHOP["id"]
    assert call("get_overview", workspace_id=shop)["readme"] == "# The shop on my laptop\n"
    assert [file["path"] for file in call("list_knowledge", workspace_id=shop)["files"]] == [
        "README.md",
        "db/pool.md",
    ]
    assert call("list_versions", workspace_id=shop, path="db/pool.md")["versions"][0]["by"] == "importer"
    said = call("read_session", workspace_id=shop, session_id="s2")["messages"]
    assert (said[0]["text"], "AKIAIOSFODNN7EXAMPLQ" in json.dumps(said)) == ("Round the cart total", False)


def test_second_import_stores_nothing_and_replaces_nothing_that_was_changed_since(
    tree: Path, run: Callable[..., str]
):
    run("import", str(tree))
    again = run("import", str(tree)).splitlines()
    assert again == ["stored      0 knowledge files", "known       6 items stored before"]
    shop = tree / SHOP["id"]
    (shop / "README.md").write_text("# Another overview\n")
    (shop / "knowledge/db/pool.md").write_text("Another text\n")
    (shop / "sessions/s1.jsonl").write_bytes(TRANSCRIPT[::-1])
    changed = run("import", str(tree)).splitlines()
    assert changed[:2] == ["stored      0 knowledge files", "known       3 items stored before"]
    assert [line.rpartition(": ")[0].rpartition("/")[2] for line in changed[2:]] == [
        "README.md",
        "pool.md",
        "s1.jsonl",
    ]


def test_transcript_that_has_grown_is_continued(
    tree: Path, run: Callable[..., str], call: Callable[..., dict[str, Any]]
):
    run("import", str(tree))
    with (tree / SHOP["id"] / "sessions/s1.jsonl").open("ab") as file:
        file.write(TRANSCRIPT)
    assert "stored      1 transcript" in run("import", str(tree))
    sessions = call("list_sessions", workspace_id=SHOP["id"])["sessions"]
    assert {session["session_id"]: session["lines"] for session in sessions} == {"s1": 4, "s2": 2}


@pytest.mark.parametrize(
    "index",
    [
        {"workspaces": [SHOP]},
        {SHOP["id"]: {"machine": "laptop", "tool": "claude-code", "project": "shop"}},
        {"version": 2, "workspaces": {"x": {"host": "laptop", "tool": "claude-code", "repo": "shop"}}},
        [{"machine": "laptop", "tool": "claude-code", "project": "shop", "path": "laptop-claude-code-shop"}],
    ],
)
def test_index_is_read_in_its_usual_spellings(tree: Path, index: Any):
    (tree / "workspaces.json").write_text(json.dumps(index))
    [workspace] = list_workspaces(tree, lambda *_: None)
    assert (workspace.machine, workspace.tool, workspace.project) == ("laptop", "claude-code", "shop")
    assert sorted(workspace.knowledge) == ["README.md", "db/pool.md"]


def test_everything_that_is_not_read_is_reported(tree: Path, tmp_path: Path):
    shop = tree / SHOP["id"]
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.md").write_text("not of the tree")
    (shop / "link.md").symlink_to(tmp_path / "outside/secret.md")
    (shop / "knowledge/pool.md").write_text("a")
    (shop / "pool.md").write_text("b")
    (shop / "logo.png").write_bytes(b"\x89PNG")
    (shop / ".cache").write_text("x")
    (tree / "lost").mkdir()
    entries = [
        SHOP,
        TILL,
        {"id": "x", "machine": "laptop"},
        {"id": "y", "machine": "a", "tool": "b", "project": "c", "folder": str(tmp_path / "outside")},
        {"id": "../outside", "machine": "a", "tool": "b", "project": "d"},
        "z",
    ]
    (tree / "workspaces.json").write_text(json.dumps(entries))
    skips = list_skips(tree)
    assert {path: reason.partition(" ")[0] for path, reason in skips.items()} == {
        "workspaces.json: entry 3": "it",
        "workspaces.json: entry 4": "no",
        "workspaces.json: entry 5": "no",
        "workspaces.json: entry 6": "not",
        f"{SHOP['id']}/link.md": "a",
        f"{SHOP['id']}/knowledge/pool.md": "it",
        f"{SHOP['id']}/logo.png": "neither",
        f"{SHOP['id']}/.cache": "hidden",
        "lost": "no",
    }


@pytest.mark.parametrize("text", ["", "[" * 100_000, '"text"', "{", "\ud800"])
def test_index_that_is_broken_is_reported_and_stores_nothing(tree: Path, text: str):
    (tree / "workspaces.json").write_text(text, errors="surrogatepass")
    found: list[str] = []
    assert list_workspaces(tree, lambda path, _: found.append(path)) == []
    assert found[0].startswith(str(tree / "workspaces.json"))


def test_broken_and_oversized_files_are_left_out_and_the_rest_is_stored(tree: Path, run: Callable[..., str]):
    shop = tree / SHOP["id"]
    (shop / "sessions/broken.jsonl.gz").write_bytes(gzip.compress(TRANSCRIPT)[:30])
    (shop / "sessions/bomb.jsonl.gz").write_bytes(gzip.compress(bytes(2**20)) * 257)
    (shop / "sessions/none.jsonl").write_bytes(b"")
    (shop / "big.md").write_text("x" * 1_100_000)
    (shop / "latin.md").write_bytes(b"\xe9")
    (shop / "con.md").write_text("a name that Windows reserves")
    shown = run("import", str(tree)).splitlines()
    assert shown[:3] == [
        "stored      3 knowledge files",
        "stored      1 overview",
        "stored      2 transcripts",
    ]
    names = {line.partition("tree/")[2].partition(": ")[0].rpartition("/")[2] for line in shown[3:]}
    assert names == {"broken.jsonl.gz", "bomb.jsonl.gz", "none.jsonl", "big.md", "latin.md", "con.md"}
