"""Which files a command writes, where their paths stand in it."""

import pytest

from commonplace.client.git.file_writes import list_written_paths
from commonplace.client.git.shell_parser import parse_line


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("sed -i 's/a/b/' src/a.py src/b.py", ["src/a.py", "src/b.py"]),
        ("sed -i.bak -e 's/a/b/' src/a.py", ["src/a.py"]),
        ("sed -n '1,5p' src/a.py", []),
        ("perl -pi -e 's/a/b/' src/a.py", ["src/a.py"]),
        ("perl -ne print src/a.py", []),
        ("mv src/a.py src/b.py", ["src/a.py", "src/b.py"]),
        ("mv src/a.py lib/", ["src/a.py", "lib/a.py"]),
        ("cp src/a.py src/b.py", ["src/b.py"]),
        ("cp -r src/a.py src/c.py lib", ["lib/a.py", "lib/c.py"]),
        ("rm -rf build src/a.py", ["build", "src/a.py"]),
        ("echo x | tee -a src/a.py", ["src/a.py"]),
        ("echo x > src/a.py", ["src/a.py"]),
        ("make > /dev/null 2>&1", []),
        ("black src/a.py", ["src/a.py"]),
        ("black --check src/a.py", []),
        ("ruff format src/a.py", ["src/a.py"]),
        ("ruff check src/a.py", []),
        ("ruff check --fix src/a.py", ["src/a.py"]),
        ("prettier --write web/a.ts", ["web/a.ts"]),
        ("prettier --check web/a.ts", []),
        ("npx prettier --write web/a.ts", ["web/a.ts"]),
        ("python -m black src/a.py", ["src/a.py"]),
        ("uv run ruff format src/a.py", ["src/a.py"]),
        ("gofmt -w main.go", ["main.go"]),
        ("gofmt -l main.go", []),
        ("truncate -s 0 src/a.py", ["src/a.py"]),
        ("dd if=/dev/zero of=src/a.py", ["src/a.py"]),
        ("grep -r x src > /tmp/out", ["/tmp/out"]),
        ("cat src/a.py", []),
        ("touch src/a.py", []),
        ("cd src && rm a.py", ["src/a.py"]),
    ],
)
def test_written_files_are_named(line: str, files: list[str]):
    written = [path for command in parse_line(line, "/w").commands for path in list_written_paths(command)]
    assert written == [file if file.startswith("/") else f"/w/{file}" for file in files]


def test_pattern_is_expanded(tmp_path):
    for name in ("a.py", "b.py", "c.txt"):
        (tmp_path / name).touch()
    (command,) = parse_line("rm *.py", str(tmp_path)).commands
    assert sorted(list_written_paths(command)) == [f"{tmp_path}/a.py", f"{tmp_path}/b.py"]
