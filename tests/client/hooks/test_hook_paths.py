"""One file has one name, however an agent spells it."""

import re
from pathlib import Path

import pytest
from hooked import git, repository
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.client.checkout.working_tree import (
    WorkingTree,
    find_working_tree,
    relative_by_text,
    repository_path,
)
from commonplace.rooms.locks import paths

NAME = st.from_regex(r"[a-zA-Z0-9_\-\[\]é ]{1,6}\.?[a-z]{1,3}", fullmatch=True).filter(
    lambda name: not name.endswith((".", " ")) and not name.startswith(" ")
)
NAMES = st.lists(NAME, min_size=1, max_size=5)
FILES = NAMES.map("/".join)


@st.composite
def detours(draw, separator="/"):
    """A path, and another spelling of it: doubled slashes, dots, steps in and out again."""
    names = draw(NAMES)
    steps = []
    for name in names[:-1]:
        steps += draw(st.sampled_from([[name], [name, "."], [name, ""], [name, "in", ".."], [".", name]]))
    return "/".join(names), separator.join([*steps, names[-1]])


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Path:
    """A repository with a linked worktree beside it, one inside it, and links to and in it."""
    folder = tmp_path_factory.mktemp("work")
    root = repository(folder / "shop", "src/cart.py")
    git(root, "worktree", "add", "-q", str(folder / "side"))
    git(root, "worktree", "add", "-q", str(root / ".worktrees/inner"))
    (folder / "link").symlink_to(root)
    (root / "linked").symlink_to(root / "src")
    (root / "out.md").symlink_to(folder / "notes.md")
    return root


@settings(max_examples=60, deadline=None)
@given(detours())
def test_absolute_relative_and_winding_paths_are_one(shop, path):
    plain, winding = path
    tree = find_working_tree(str(shop))
    spellings = [winding, f"./{winding}", f"{shop}/{winding}", str(shop / plain), winding.replace("/", "\\")]
    assert {repository_path(spelling, str(shop), tree) for spelling in spellings} == {plain}


@settings(max_examples=40, deadline=None)
@given(FILES)
def test_every_worktree_and_link_means_the_same_file(shop, file):
    beside = shop.parent
    for cwd in (shop, beside / "side", shop / ".worktrees/inner", beside / "link", shop / "src"):
        tree = find_working_tree(str(cwd))
        for root in (shop, beside / "side", shop / ".worktrees/inner", beside / "link"):
            assert repository_path(f"{root}/{file}", str(cwd), tree) == file


@settings(max_examples=40, deadline=None)
@given(FILES)
def test_link_inside_of_the_repository_is_followed(shop, file):
    assert repository_path(f"linked/{file}", str(shop), find_working_tree(str(shop))) == f"src/{file}"


@settings(max_examples=40, deadline=None)
@given(FILES)
def test_relative_path_is_of_the_folder_in_which_the_agent_is(shop, file):
    assert repository_path(file, str(shop / "src"), find_working_tree(str(shop / "src"))) == f"src/{file}"


@settings(max_examples=40, deadline=None)
@given(FILES)
def test_file_outside_of_the_repository_has_no_name(shop, file):
    tree = find_working_tree(str(shop))
    for path in (f"../{file}", f"{shop.parent}/{file}", f"/{file}", f"{shop}-2/{file}"):
        assert repository_path(path, str(shop), tree) is None


@settings(max_examples=100, deadline=None)
@given(
    detours(separator="\\"), st.sampled_from(["C:\\Work\\Shop", "c:/work/shop", "\\\\?\\C:\\work\\Shop\\"])
)
def test_windows_paths_lose_drive_case_and_backslashes_of_their_root(path, root):
    plain, winding = path
    tree = WorkingTree(root, "")
    for prefix in ("C:\\Work\\Shop\\", "c:/work/SHOP/", "\\\\?\\C:\\Work\\Shop\\", ""):
        assert repository_path(prefix + winding, root, tree) == plain


@settings(max_examples=60, deadline=None)
@given(FILES)
def test_windows_paths_of_elsewhere_have_no_name(file):
    for path in (f"D:\\work\\shop\\{file}", f"C:\\work\\shop2\\{file}", f"\\\\host\\work\\shop\\{file}"):
        assert repository_path(path, "C:\\work\\shop", WorkingTree("C:\\work\\shop", "")) is None


@settings(max_examples=60, deadline=None)
@given(FILES)
def test_network_share_is_a_root_as_any(file):
    assert relative_by_text(f"\\\\Host\\Share\\shop\\{file}", "\\\\host\\share\\shop") == file
    assert relative_by_text(f"\\\\?\\UNC\\host\\share\\shop\\{file}", "\\\\host\\share\\shop") == file


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1, max_size=60).filter(lambda text: not re.search(r"[\0\ud800-\udfff]", text)))
def test_whatever_is_named_stays_inside_or_has_no_name(shop, text):
    repository_file = repository_path(text, str(shop), find_working_tree(str(shop)))
    assert repository_file is None or not ({"", ".", ".."} & set(repository_file.split("/")))


@settings(max_examples=100, deadline=None)
@given(FILES)
def test_name_is_the_servers_own_spelling(shop, file):
    repository_file = repository_path(f"{shop}/{file}", str(shop), find_working_tree(str(shop)))
    assert paths.canonicalize_path(file, str(shop)) == paths.canonicalize_path(repository_file or "", None)


def test_link_that_leads_out_is_a_file_of_the_repository(shop):
    assert repository_path("out.md", str(shop), find_working_tree(str(shop))) == "out.md"


@pytest.mark.parametrize("path", [".", "", "/", "src/..", "..", "~"])
def test_folders_are_no_files(shop, path):
    assert repository_path(path, str(shop), find_working_tree(str(shop))) in (None, "~")


def test_folder_without_a_repository_is_its_own_root(tmp_path):
    tree = find_working_tree(str(tmp_path))
    assert repository_path(f"{tmp_path}/a/b.py", str(tmp_path), tree) == "a/b.py"
    assert repository_path("/etc/passwd", str(tmp_path), tree) is None


def test_file_of_another_repository_inside_keeps_the_outer_name(shop):
    repository(shop / "vendor/lib")
    assert repository_path("vendor/lib/x.py", str(shop), find_working_tree(str(shop))) == "vendor/lib/x.py"


@pytest.mark.skipif(Path(__file__.upper()).exists(), reason="this file system does not tell cases apart")
def test_cases_are_told_apart_where_the_file_system_does(shop):
    assert repository_path("SRC/cart.py", str(shop), find_working_tree(str(shop))) == "SRC/cart.py"


def test_stored_case_is_used_where_the_file_system_ignores_it(tmp_path):
    """Seen by `.GIT` being there too."""
    root = repository(tmp_path / "shop", "Src/Cart.py")
    (root / ".GIT").mkdir(exist_ok=True)
    assert repository_path("src/CART.py", str(root), find_working_tree(str(root))) == "Src/Cart.py"
    assert repository_path("src/NEW.py", str(root), find_working_tree(str(root))) == "Src/NEW.py"
