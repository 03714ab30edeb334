"""A folder of Markdown and the documents of a project are kept in step; nothing is lost on either side."""

import json
from pathlib import Path
from typing import Any

import pytest
from user import User

from commonplace.client.vault.vault_file import UnfitFile, read_vault_file, replace_file

pytestmark = pytest.mark.slow

DEPLOY = "Restart the workers before the web server, or jobs are lost.\n"


class Vault:
    def __init__(self, user: User, folder: Path) -> None:
        self.user, self.folder = user, folder
        self._place = ("--data", str(user.home / "data"))
        folder.mkdir()

    def runs(self, *flags: str) -> str:
        return self.user.runs("vault", str(self.folder), "--project", "shop", *self._place, *flags)

    def calls(self, name: str, **arguments: Any) -> dict[str, Any]:
        shown = self.user.runs("call", name, "--json", json.dumps(arguments), *self._place)
        answer: dict[str, Any] = json.loads(shown)
        return answer

    def stores(self, title: str, content: str, *, force: bool = False) -> str:
        """What an agent stores."""
        session = self.calls("memory_start_session", project="shop", claude_instance="ann")["session_id"]
        receipt = self.calls("memory_store", session_id=session, title=title, content=content, memory_type="learning", force_store=force)  # fmt: skip
        return str(receipt["id"])

    def documents(self) -> dict[str, dict[str, Any]]:
        page = self.calls("memory_list_documents", project="shop")
        return {document["title"]: document for document in page["documents"]}

    def text_of(self, identity: str, version: int | None = None) -> str:
        session = self.calls("memory_start_session", project="shop", claude_instance="ann")["session_id"]
        wanted = {"doc_id": identity, "session_id": session} | ({"version": version} if version else {})
        return str(self.calls("memory_get_by_id", **wanted)["content"])

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


@pytest.fixture
def vault(user: User, tmp_path: Path) -> Vault:
    return Vault(user, tmp_path / "vault")


def test_file_becomes_a_document_of_the_importer_and_a_second_run_does_nothing(vault: Vault):
    path = vault.write("ops/Deploy.md", f"---\naliases: [ship]\ntags: [ops]\n---\n{DEPLOY}")
    assert "file → new" in vault.runs("--dry-run")
    assert (vault.documents(), "commonplace-id" in path.read_text()) == ({}, False)
    vault.runs()
    document = vault.documents()["Deploy"]
    assert (document["author"], {"import", "from-vault", "ops"} <= set(document["tags"])) == (
        "importer",
        True,
    )
    lines = path.read_text().splitlines()
    assert lines[:4] == ["---", "aliases: [ship]", "tags: [ops]", f"commonplace-id: {document['id']}"]
    assert path.read_text().endswith(f"---\n{DEPLOY}")
    before = path.stat().st_mtime_ns
    assert vault.runs() == "nothing to do\n"
    assert path.stat().st_mtime_ns == before


def test_document_becomes_a_file_and_changes_go_both_ways(vault: Vault):
    identity = vault.stores("../../Cart: totals?", "Round half to even, at the end.")
    vault.runs()
    [path] = vault.folder.glob("*.md")
    assert (path.name, path.read_text().endswith("\nRound half to even, at the end.\n")) == (".. Cart totals.md".lstrip(". "), True)  # fmt: skip
    vault.edit(path.name, "half to even", "half up")
    assert "file → document" in vault.runs()
    assert (vault.text_of(identity), vault.documents()["../../Cart: totals?"]["version"]) == (
        "Round half up, at the end.",
        2,
    )
    vault.stores("../../Cart: totals?", "Never round; keep fractions of cents.", force=True)
    assert "document → file" in vault.runs()
    assert path.read_text().endswith("\nNever round; keep fractions of cents.\n")
    assert vault.runs() == "nothing to do\n"


def test_what_changed_on_both_sides_is_kept_on_both_until_somebody_merged_it(vault: Vault):
    vault.write("Deploy.md", DEPLOY)
    vault.runs()
    identity = vault.documents()["Deploy"]["id"]
    vault.edit("Deploy.md", "workers", "queues")
    vault.stores("Deploy", "Restart the cache first of all, then the web server.", force=True)
    told = vault.runs()
    assert "Deploy.md and its document both changed; Deploy.conflict-2.md has the document's text" in told
    assert "queues" in (vault.folder / "Deploy.md").read_text()
    assert "cache" in (vault.folder / "Deploy.conflict-2.md").read_text()
    assert "cache" in vault.text_of(identity)
    assert "waits" in vault.runs()
    assert set(vault.documents()) == {"Deploy"}
    vault.edit("Deploy.md", "queues", "queues and the cache")
    (vault.folder / "Deploy.conflict-2.md").unlink()
    assert "file → document" in vault.runs()
    assert "queues and the cache" in vault.text_of(identity)
    assert "cache first" in vault.text_of(identity, 2)
    assert vault.runs() == "nothing to do\n"


def test_deletions_are_told_and_not_carried_over(vault: Vault):
    vault.write("Deploy.md", DEPLOY)
    identity = vault.stores("Cart", "Round half to even, at the end.")
    vault.runs()
    (vault.folder / "Deploy.md").unlink()
    session = vault.calls("memory_start_session", project="shop", claude_instance="ann")["session_id"]
    vault.calls("memory_change_status", session_id=session, doc_id=identity, new_status="deprecated")
    told = vault.runs()
    assert "Deploy.md: the document" in told
    assert "Cart.md: its document is not active in this project; the file stays" in told
    assert ((vault.folder / "Deploy.md").exists(), (vault.folder / "Cart.md").exists()) == (False, True)
    assert vault.documents()["Deploy"]["status"] == "active"
    vault.runs("--restore")
    assert (vault.folder / "Deploy.md").read_text().endswith(DEPLOY)


def test_line_ends_of_a_file_stay_as_they_are(vault: Vault):
    path = vault.folder / "Deploy.md"
    path.write_bytes(DEPLOY.replace("\n", "\r\n").encode())
    vault.runs()
    assert (path.read_bytes().count(b"\n"), path.read_bytes().count(b"\r\n")) == (6, 6)
    assert vault.runs() == "nothing to do\n"


def test_any_title_becomes_a_name_that_the_file_system_takes(vault: Vault):
    for title, text in (("🛒" * 100, "Carts are kept for a week."), ("..", "Dots are no name."), ("CON", "Nor is this on Windows.")):  # fmt: skip
        vault.stores(title, text)
    told = vault.runs()
    assert told.count("new → file") == 3
    assert sorted(path.name for path in vault.folder.glob("*.md")) == [
        "document CON.md",
        "document.md",
        "🛒" * 30 + ".md",
    ]
    assert vault.runs() == "nothing to do\n"


def test_file_that_cannot_be_written_is_told(tmp_path: Path):
    with pytest.raises(UnfitFile, match="cannot be written"):
        replace_file(tmp_path / ("a" * 300), b"x", None)


def test_moved_file_stays_the_same_document_and_a_copy_is_left_out(vault: Vault):
    vault.write("Deploy.md", DEPLOY)
    vault.runs()
    (vault.folder / "ops").mkdir()
    (vault.folder / "Deploy.md").rename(vault.folder / "ops/Shipping.md")
    assert vault.runs() == "nothing to do\n"
    (vault.folder / "A copy.md").write_bytes((vault.folder / "ops/Shipping.md").read_bytes())
    assert "A copy.md: it is a copy of ops/Shipping.md" in vault.runs()
    vault.write("Twin.md", f"---\ntitle: Deploy\n---\n{DEPLOY}")
    told = vault.runs()
    assert ("Twin.md: An identical document exists" in told, "file → new" in told) == (True, False)
    assert set(vault.documents()) == {"Deploy"}


def test_links_huge_and_binary_files_hidden_folders_and_forged_ids_are_left_out(vault: Vault, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("The password of the database is elsewhere.")
    (vault.folder / "link.md").symlink_to(outside / "secret.md")
    (vault.folder / "linked").symlink_to(outside)
    vault.write("huge.md", "x" * 1_000_001)
    (vault.folder / "binary.md").write_bytes(b"\xff\xfe\x00\x01")
    vault.write(
        "forged.md", "---\ncommonplace-id: ../../doc\ncommonplace-version: 1\n---\nText of a forged file."
    )
    vault.write("empty.md", "")
    vault.write(".obsidian/hidden.md", "Hidden settings are nobody's business.")
    told = vault.runs()
    reasons = ("link.md: it is a link", "linked: it is a link", "huge.md: it is larger", "binary.md: it is not UTF-8", "forged.md: its commonplace-id", "empty.md: it is empty")  # fmt: skip
    assert [reason for reason in reasons if reason not in told] == []
    assert vault.documents() == {}


def test_file_is_not_overwritten_if_it_changed_since_it_was_read(tmp_path: Path):
    path = tmp_path / "a.md"
    path.write_text("one")
    read = read_vault_file(path)
    path.write_text("two")
    with pytest.raises(UnfitFile, match="changed meanwhile"):
        replace_file(path, b"three", read.raw)
    with pytest.raises(UnfitFile, match="appeared"):
        replace_file(path, b"three", None)
    assert (path.read_text(), [each.name for each in tmp_path.iterdir()]) == ("two", ["a.md"])


def test_secret_is_masked_in_the_document_and_stays_in_the_file(vault: Vault):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    path = vault.write("Deploy.md", f"{DEPLOY}The token of the build is {secret} for now.\n")
    vault.runs()
    identity = vault.documents()["Deploy"]["id"]
    assert (secret in vault.text_of(identity), secret in path.read_text()) == (False, True)
    assert vault.runs() == "nothing to do\n"


def test_watch_carries_over_what_changes_and_tells_it_once(vault: Vault, monkeypatch: pytest.MonkeyPatch):
    vault.write("Deploy.md", DEPLOY)
    vault.write("empty.md", "")
    changes = iter(["queues", "queues"])

    def change_or_stop(_seconds: float) -> None:
        word = next(changes, "")
        if not word:
            raise KeyboardInterrupt
        text = (vault.folder / "Deploy.md").read_text()
        (vault.folder / "Deploy.md").write_text(text.replace("workers", word))

    with monkeypatch.context() as patched:
        patched.setattr("time.sleep", change_or_stop)
        _, told, _ = vault.user.tries("vault", str(vault.folder), "--project", "shop", "--data", str(vault.user.home / "data"), "--watch")  # fmt: skip
    assert (told.count("file → new"), told.count("file → document"), told.count("empty.md: it is empty")) == (1, 1, 1)  # fmt: skip
    assert vault.documents()["Deploy"]["version"] == 2


def test_one_file_can_be_kept_in_step_alone(vault: Vault):
    vault.stores("Cart", "Round half to even, at the end.")
    vault.write("MEMORY.md", DEPLOY)
    vault.write("Other.md", "This file is nobody's business here.")
    vault.user.runs("vault", str(vault.folder / "MEMORY.md"), "--project", "shop", "--data", str(vault.user.home / "data"))  # fmt: skip
    assert set(vault.documents()) == {"Cart", "MEMORY"}
    assert sorted(path.name for path in vault.folder.glob("*.md")) == ["MEMORY.md", "Other.md"]


def test_of_two_documents_with_one_title_neither_is_overwritten(vault: Vault):
    vault.write("Deploy.md", DEPLOY)
    vault.runs()
    vault.stores("Deploy", "The certificate is renewed by hand on the first of March.")
    vault.runs()
    vault.edit("Deploy.md", "workers", "queues")
    assert "has the same title" in vault.runs()


def test_missing_folder_is_refused(vault: Vault):
    code, _, told = vault.user.tries("vault", str(vault.folder / "none"), "--project", "shop")
    assert (code != 0, "There is no folder" in told) == (True, True)
