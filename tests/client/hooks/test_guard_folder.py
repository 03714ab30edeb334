"""`commonplace guard` where git looks for hooks in another folder."""

import subprocess
from pathlib import Path

import pytest

from commonplace.__main__ import main


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    subprocess.run(["git", "init", "-q", "--template=", str(folder)], check=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(("place", "shared"), [("", False), (".githooks", False), ("../everywhere", True)])
def test_guard_says_when_others_share_its_folder_and_leaves_none_that_it_made(
    shop: Path, capsys: pytest.CaptureFixture[str], place: str, shared: bool
):
    if place:
        subprocess.run(["git", "config", "core.hooksPath", place], cwd=shop, check=True)
    folder = shop / (place or ".git/hooks")
    assert main(["guard", "install"]) == 0
    assert sorted(each.name for each in folder.iterdir()) == ["post-commit", "pre-commit"]
    assert ("every repository" in capsys.readouterr().out) == shared
    assert main(["guard", "uninstall"]) == 0
    assert not folder.exists()


def test_guard_uninstall_keeps_a_folder_with_other_hooks(shop: Path):
    (shop / ".git/hooks").mkdir()
    (shop / ".git/hooks/pre-push").write_text("#!/bin/sh\n")
    assert main(["guard", "install"]) == main(["guard", "uninstall"]) == 0
    assert [each.name for each in (shop / ".git/hooks").iterdir()] == ["pre-push"]
