"""Command lines become the programs that they run; what is quoted is not run, what cannot be known is None."""

import pytest

from commonplace.client.git.shell_parser import parse_line


def commands(text: str) -> list[tuple[str | None, ...]]:
    return [command.words for command in parse_line(text, "/w").commands if command.words]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git stash", [("git", "stash")]),
        ("git add -A && git commit -m 'a && b'", [("git", "add", "-A"), ("git", "commit", "-m", "a && b")]),
        ("git status; git stash || true", [("git", "status"), ("git", "stash"), ("true",)]),
        ("git log | head -3", [("git", "log"), ("head", "-3")]),
        ("echo 'git stash'", [("echo", "git stash")]),
        ('echo "git stash"', [("echo", "git stash")]),
        ("# git stash", []),
        ("(git stash)", [("git", "stash")]),
        ("{ git stash; }", [("git", "stash")]),
        ("if git diff --quiet; then git stash; fi", [("git", "diff", "--quiet"), ("git", "stash")]),
        ("x=$(git stash)", [("git", "stash")]),
        ('echo "$(git stash)"', [("git", "stash"), ("echo", None)]),
        ("git stas\\h", [("git", "stash")]),
        ("git 'stash'", [("git", "stash")]),
        ('"git" "stash"', [("git", "stash")]),
        ("g=stash; git $g", [("git", "stash")]),
        ("git $unknown_variable", [("git", None)]),
        ("env FOO=1 git stash", [("git", "stash")]),
        ("FOO=1 git stash", [("git", "stash")]),
        ("sudo -u ann git stash", [("git", "stash")]),
        ("timeout 10 git stash", [("git", "stash")]),
        ("time git stash", [("git", "stash")]),
        ("command git stash", [("git", "stash")]),
        ("nohup git stash &", [("git", "stash")]),
        ("/usr/bin/git stash", [("/usr/bin/git", "stash")]),
        ("ls | xargs -n 1 git add", [("ls",), ("git", "add", None)]),
        ("ls | xargs -I{} git add {} -v", [("ls",), ("git", "add", None, "-v")]),
        ("find . -name x -exec git add {} +", [("git", "add", None)]),
        ("git add src/{a,b}.py", [("git", "add", "src/a.py", "src/b.py")]),
        ("for f in a b; do git add $f; done", [("git", "add", "a"), ("git", "add", "b")]),
        ("for f in $(ls); do git add $f; done", [("ls",), ("git", "add", None)]),
        ("A='reset --hard'; git $A", [("git", "reset", "--hard")]),
        ('A="reset --hard"; git "$A"', [("git", "reset --hard")]),
        ('C=(git reset --hard); "${C[@]}"', [("git", "reset", "--hard")]),
        ("git ${X:-stash}", [("git", "stash")]),
        ('f() { git "$@"; }; f stash', [("git", None), ("f", "stash"), ("git", "stash")]),
        ("$(which git) stash", [("which", "git"), ("git", "stash")]),
        ('env -i PATH="$PATH" git stash', [("git", "stash")]),
        ("sudo --user root git stash", [("git", "stash")]),
        ("flock -w 5 /tmp/l git stash", [("git", "stash")]),
        ("strace -o log git stash", [("git", "stash")]),
        ("uv run git stash", [("git", "stash")]),
        ("uv run pytest", [("uv", "run", "pytest")]),
        ("parallel git ::: stash", [("git", "stash")]),
        ('git commit -m "fix: a  b"', [("git", "commit", "-m", "fix: a  b")]),
        ('git commit -m "say \\"hi\\""', [("git", "commit", "-m", 'say "hi"')]),
        ("! git diff --quiet", [("git", "diff", "--quiet")]),
    ],
)
def test_line_is_read_as_the_shell_would(line: str, expected: list[tuple[str | None, ...]]):
    assert commands(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "bash -c 'git stash'",
        'sh -c "git stash"',
        "bash -lc 'git stash'",
        "env bash -c 'git stash'",
        "eval 'git stash'",
        "eval git stash",
        "bash <<'EOF'\ngit stash\nEOF",
        "bash -c \"bash -c 'git stash'\"",
        "bash -o pipefail -c 'git stash'",
        "bash -euxo pipefail -c 'git stash'",
        "bash --rcfile /dev/null -c 'git stash'",
        "bash <<< 'git stash'",
        "echo git stash | bash",
        "printf 'git stash\\n' | sh -s",
        "cat <<EOF | bash\ngit stash\nEOF",
        'eval "$(echo git stash)"',
        "env -S 'git stash'",
        "flock /tmp/l -c 'git stash'",
        "script -qc 'git stash' /dev/null",
        "su ann -c 'git stash'",
        "watch -n 1 git stash",
        "trap 'git stash' EXIT",
        "busybox sh -c 'git stash'",
    ],
)
def test_a_line_inside_of_a_line_is_read_too(line: str):
    assert ("git", "stash") in commands(line)


def test_folder_follows_cd_within_its_own_shell():
    parsed = parse_line("cd src && git add -A; (cd /x && git stash); git pull; cd .. && git push", "/w")
    folders = [(command.words[1], command.cwd) for command in parsed.commands if command.words[0] == "git"]
    assert folders == [("add", "/w/src"), ("stash", "/x"), ("pull", "/w/src"), ("push", "/w")]
    parsed = parse_line("pushd src; git add -A; popd; cd /x; cd - && git stash; env -C lib git pull", "/w")
    folders = [(command.words[1], command.cwd) for command in parsed.commands if command.words[0] == "git"]
    assert folders == [("add", "/w/src"), ("stash", "/w"), ("pull", "/w/lib")]


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("echo x > a.py", ["a.py"]),
        ("echo x >> 'b c.py' 2>/dev/null", ["b c.py", "/dev/null"]),
        ("cat <<EOF > a.py\nx\nEOF", ["a.py"]),
        ("cat > a.py <<EOF\nx\nEOF", ["a.py"]),
        ("make 2>&1 | tee log", []),
        ("sort < a.py", []),
        ("{ echo x; echo y; } > a.py", ["a.py"]),
        ("> a.py", ["a.py"]),
    ],
)
def test_redirections_name_the_files_that_they_write(line: str, files: list[str]):
    parsed = parse_line(line, "/w")
    assert [file for command in parsed.commands for file in command.redirects] == files


@pytest.mark.parametrize("line", ["git commit -m 'open", "git stash (((", "x" * 200_000])
def test_what_cannot_be_parsed_is_said(line: str):
    assert not parse_line(line, "/w").is_complete


def test_text_of_a_heredoc_is_not_run():
    assert ("git", "stash") not in commands("cat <<EOF\ngit stash\nEOF")
