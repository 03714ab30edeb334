"""Day zero is not empty: notes that agents and people already wrote become documents, once, and say where they are from."""

import json
from pathlib import Path

import pytest
from user import User

from commonplace.__main__ import main
from commonplace.client.checkout.git_program import run_git
from commonplace.client.day_zero.note_sources import list_commit_notes, list_path

MEMORY = [
    {
        "type": "entity",
        "name": "PgBouncer",
        "entityType": "tool",
        "observations": ["closes idle connections after 10 minutes"],
    },
    {"type": "relation", "from": "PgBouncer", "to": "PostgreSQL", "relationType": "stands before"},
    {"type": "entity", "name": "Empty", "entityType": "tool", "observations": []},
]


@pytest.fixture
def repository(user: User, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = user.home / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / ".cursor/rules").mkdir(parents=True)
    (folder / "CLAUDE.md").write_text(
        "# Rules of the shop\n\nPrices are net, in cents. Round half to even.\n"
    )
    (folder / ".cursor/rules/tax.mdc").write_text(
        "---\nglobs: src/**\n---\nVAT is added in the cart, never in the database.\n"
    )
    (folder / "GEMINI.md").write_text("\n")
    memory = (
        user.home
        / ".claude/projects"
        / str(folder).replace("/", "-").replace("_", "-").replace(".", "-")
        / "memory"
    )
    memory.mkdir(parents=True)
    (memory / "tests.md").write_text(
        "The suite needs a running PostgreSQL 18; start it with make database.\n"
    )
    monkeypatch.chdir(folder)
    return folder


def run_import(user: User, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["import", *words, "--data", str(user.home / "data"), "--project", "shop"]) == 0
    return capsys.readouterr().out


@pytest.mark.usefixtures("repository")
def test_notes_of_agents_are_stored_once_with_their_origin(user: User, capsys: pytest.CaptureFixture[str]):
    assert "would store 3 notes" in run_import(user, capsys, "--notes", "--dry-run")
    first = run_import(user, capsys, "--notes")
    assert ("stored      3 notes" in first, "GEMINI.md: empty" in first) == (True, True)
    second = run_import(user, capsys, "--notes")
    assert ("stored      0 notes" in second, "3 items stored before" in second) == (True, True)
    main(["search", "where is VAT added", "--project", "shop", "--data", str(user.home / "data"), "--json"])
    [found] = [each for each in json.loads(capsys.readouterr().out)["results"] if "tax" in each["title"]]
    assert {"import", "from-cursor-rules"} <= set(found["tags"])


def test_file_of_the_memory_server_becomes_a_note_for_each_entity(tmp_path: Path):
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join([*(json.dumps(record) for record in MEMORY), "no json"]))
    skipped: list[str] = []
    notes = list(list_path(file, lambda path, _reason: skipped.append(path)))
    assert [(note.title, note.text) for note in notes] == [
        ("PgBouncer", "- closes idle connections after 10 minutes\n- stands before PostgreSQL")
    ]
    assert skipped == [f"{file}:4", f"{file}: Empty"]


def test_vault_of_markdown_is_imported_without_its_hidden_folders(
    user: User, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".obsidian/x.md").write_text("hidden")
    (vault / "Deploy.md").write_text("Restart the workers before the web server, or jobs are lost.")
    assert "stored      1 note" in run_import(user, capsys, str(vault))


@pytest.mark.processes
def test_commits_that_explain_themselves_become_notes(tmp_path: Path):
    for words in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "Typo"],
        [
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "Round half to even",
            "-m",
            "Cents were lost at the end of each month.",
        ],
    ):
        run_git("-c", "user.name=ann", "-c", "user.email=ann@example.org", *words, folder=tmp_path)
    [note] = list_commit_notes(tmp_path, lambda *_: None)
    assert (note.title, "Cents were lost" in note.text, "of ann" in note.origin) == (
        "Round half to even",
        True,
        True,
    )


@pytest.mark.processes
def test_a_repository_without_commits_has_no_notes_and_is_not_left_out(tmp_path: Path):
    run_git("init", "-q", folder=tmp_path)
    left_out: list[str] = []
    assert list(list_commit_notes(tmp_path, lambda where, _: left_out.append(where))) == []
    assert left_out == []


@pytest.mark.processes
def test_everything_reads_the_notes_of_every_repository_that_transcripts_name(
    user: User, repository: Path, capsys: pytest.CaptureFixture[str]
):
    other = user.home / "billing"
    (other / ".git").mkdir(parents=True)
    (other / "AGENTS.md").write_text("Read by agents at every start.\n")
    (other / "MEMORY.md").write_text("Invoices are numbered without gaps.\n")
    transcripts = user.home / ".claude/projects/-billing"
    transcripts.mkdir(parents=True)
    for number, folder in enumerate((other, repository, user.home / "gone")):
        (transcripts / f"{number}.jsonl").write_text(json.dumps({"type": "user", "cwd": str(folder)}) + "\n")
    capsys.readouterr()
    assert main(["import", "--everything", "--data", str(user.home / "data")]) == 0
    shown = capsys.readouterr().out
    assert "stored      2 notes" in shown
    assert "left out    transcripts: they go to the server that this machine uses" in shown
    words = ["search", "invoice numbers", "--project", "billing", "--data", str(user.home / "data"), "--json"]
    main(words)
    [found] = json.loads(capsys.readouterr().out)["results"]
    assert (found["source"], "from-memory-md" in found["tags"]) == ("billing", True)
