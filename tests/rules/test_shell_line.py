"""A line becomes the simple commands that it runs, and the files that these write."""

import pytest

from commonplace.rules.shell_line import split_line
from commonplace.rules.written_paths import list_written_paths


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git add -A && git commit -m 'a && b'", [("git", "add", "-A"), ("git", "commit", "-m", "a && b")]),
        ("git status; git stash || true", [("git", "status"), ("git", "stash"), ("true",)]),
        ("git log | head -3", [("git", "log"), ("head", "-3")]),
        ('echo "git stash" # git stash', [("echo", "git stash")]),
        ("(git stash)", [("git", "stash")]),
        ("if git diff --quiet; then git stash; fi", [("git", "diff", "--quiet"), ("git", "stash")]),
        ('echo "$(git stash)"', [("git", "stash"), ("echo", None)]),
        ("g=stash; git $g", [("git", "stash")]),
        ("git $unknown_variable", [("git", None)]),
        ("FOO=1 sudo -u ann timeout 10 git stash", [("git", "stash")]),
        ("ls | xargs -n 1 git add", [("ls",), ("git", "add", None)]),
        ("find . -name x -exec git add {} +", [("git", "add", None)]),
        ("git add src/{a,b}.py", [("git", "add", "src/a.py", "src/b.py")]),
        ("A='reset --hard'; git $A", [("git", "reset", "--hard")]),
        ("cat <<EOF\ngit stash\nEOF\nls", [("cat",), ("ls",)]),
    ],
)
def test_line_is_split_as_a_shell_would(line, expected):
    assert [command.words for command in split_line(line, "/w") if command.words] == expected


@pytest.mark.parametrize(
    "line",
    [
        "bash -lc 'git stash'",
        "eval git stash",
        "bash <<'EOF'\ngit stash\nEOF",
        "bash <<< 'git stash'",
        "echo git stash | bash",
        "cat <<EOF | bash\ngit stash\nEOF",
        "env -S 'git stash'",
        "script -qc 'git stash' /dev/null",
        "bash -c \"bash -c 'git stash'\"",
    ],
)
def test_a_line_inside_of_a_line_is_split_too(line):
    assert ("git", "stash") in [command.words for command in split_line(line, "/w")]


@pytest.mark.parametrize(
    "line", ["git commit -m 'open", "git stash (((", "x" * 200_000, "<<", "$(", "${", "\\"]
)
def test_broken_lines_are_split_somehow(line):
    split_line(line, "/w")


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("sed -i 's/a/b/' src/a.py src/b.py", ["src/a.py", "src/b.py"]),
        ("sed -n '1,5p' src/a.py", []),
        ("perl -pi -e 's/a/b/' src/a.py", ["src/a.py"]),
        ("mv src/a.py lib/", ["src/a.py", "lib/a.py"]),
        ("cp src/a.py src/b.py", ["src/b.py"]),
        ("rm -rf build src/a.py", ["build", "src/a.py"]),
        ("echo x | tee -a src/a.py", ["src/a.py"]),
        ("cat > src/a.py <<EOF\nx\nEOF", ["src/a.py"]),
        ("make > /dev/null 2>&1", []),
        ("black --check src/a.py", []),
        ("uv run ruff format src/a.py", ["src/a.py"]),
        ("npx prettier --write web/a.ts", ["web/a.ts"]),
        ("git rm -q src/a.py", ["src/a.py"]),
        ("cd src && rm a.py", ["src/a.py"]),
    ],
)
def test_written_files_are_named(line, files):
    written = [path for command in split_line(line, "/w") for path in list_written_paths(command)]
    assert written == [f"/w/{file}" for file in files]
