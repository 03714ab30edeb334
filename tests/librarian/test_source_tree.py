"""Which files are read, and by which names they are known."""

from pathlib import Path

import pytest
from trees import write_all

from commonplace import errors
from commonplace.librarian.source_tree import MAX_SOURCE_BYTES, SourceTree


def names(folder: Path, prefix: str = "") -> list[str]:
    return list(SourceTree(folder, prefix).list_files())


def test_files_respects_gitignore_at_every_depth(tmp_path):
    write_all(
        tmp_path,
        {
            ".gitignore": "build/\n*.gen.py\n/top.py\n",
            "a.py": "",
            "top.py": "",
            "x.gen.py": "",
            "build/b.py": "",
            "src/.gitignore": "!keep.gen.py\nlocal.py\n",
            "src/keep.gen.py": "",
            "src/local.py": "",
            "src/top.py": "",
            "src/notes.txt": "",
            "node_modules/m/index.js": "",
        },
    )
    assert names(tmp_path) == ["a.py", "src/keep.gen.py", "src/top.py"]


def test_files_are_named_from_the_repository_that_the_folder_lies_in(tmp_path):
    write_all(
        tmp_path,
        {".git/HEAD": "", ".gitignore": "secret/\n", "lib/a.py": "", "lib/secret/b.py": "", "c.py": ""},
    )
    assert names(tmp_path / "lib") == ["lib/a.py"]
    assert SourceTree(tmp_path / "lib").scope == "lib/"


def test_files_of_an_ignored_folder_are_read_when_it_is_asked_for(tmp_path):
    write_all(tmp_path, {".git/HEAD": "", ".gitignore": "vendor/\n", "vendor/a.py": ""})
    assert names(tmp_path / "vendor") == ["a.py"]


def test_files_stand_behind_the_prefix_and_are_opened_without_it(tmp_path):
    write_all(tmp_path, {"a.py": "x = 1\n"})
    tree = SourceTree(tmp_path, "server/")
    assert list(tree.list_files()) == ["server/a.py"]
    assert tree.resolve_file("server/a.py").read_text() == "x = 1\n"


def test_files_leaves_out_links_and_what_a_program_made(tmp_path):
    write_all(tmp_path, {"a.py": "", "big.py": "#" * (MAX_SOURCE_BYTES + 1)})
    (tmp_path / "b.py").symlink_to(tmp_path / "a.py")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert names(tmp_path) == ["a.py"]


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(errors.NotFound):
        SourceTree(tmp_path / "nowhere")
