"""A thousand ordinary lines that one agent runs in its own checkout: none of them may be refused.

Each line comes with the programs that it runs, so that the parser can be judged too.
"""

import itertools
from collections.abc import Iterator

FILES = ["src/cart.py", "src/tax.py", "docs/read me.md", "web/[id].tsx", "tests/test_cart.py"]
MESSAGES = ["fix: totals", "it's done", 'say "hi"', "a && b; c | d", "feat(cart): add VAT (#12)"]
BRANCHES = ["feature/cart", "fix-1", "main", "release/1.2"]

OrdinaryLine = tuple[str, list[str]]


def quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def list_ordinary_lines() -> list[OrdinaryLine]:
    lines = list(dict.fromkeys(_single_lines()))
    pairs = itertools.cycle(lines[::7])
    joiners = itertools.cycle([" && ", "; ", " || ", "\n", " | "])
    combined: list[tuple[str, tuple[str, ...]]] = []
    for (first, programs), (second, more), joiner in zip(lines, pairs, joiners, strict=False):
        if "\n" not in first + second:
            combined.append((first + joiner + second, programs + more))
    wrapped = [(f"bash -c {quote(line)}", ("bash", *programs)) for line, programs in lines[::3]]
    wrapped += [(f"( {line} )", programs) for line, programs in lines[::4] if "\n" not in line]
    wrapped += [
        (f"if true; then {line}; fi", ("true", *programs))
        for line, programs in lines[::5]
        if "\n" not in line
    ]
    everything = [*lines, *combined, *wrapped]
    return [(line, list(programs)) for line, programs in everything[:1000]]


def _single_lines() -> Iterator[tuple[str, tuple[str, ...]]]:
    for file, message in itertools.product(FILES, MESSAGES):
        yield f"git commit -m {quote(message)} -- {quote(file)}", ("git",)
    for file in FILES:
        yield from _lines_about_a_file(quote(file))
    for branch in BRANCHES:
        for line in (
            f"git checkout {branch}", f"git switch {branch}", f"git checkout -b {branch}-2", f"git switch -c {branch}-3",
            f"git merge {branch}", f"git rebase {branch}", f"git log --oneline {branch} -5", f"git push origin {branch}",
            f"git push --force origin {branch}", f"git pull origin {branch}", f"git branch -D {branch}-2",
            f"git diff main...{branch}", f"git worktree add ../w-{branch.replace('/', '-')} {branch}", f"git fetch origin {branch}",
            f"git reset --hard origin/{branch}", f"git cherry-pick {branch}", f"git branch --list {branch}",
        ):  # fmt: skip
            yield line, ("git",)
    for message in MESSAGES:
        for line in (f"git commit -m {quote(message)}", f"git commit -am {quote(message)}", f"git stash push -m {quote(message)}",
                     f"git commit --amend -m {quote(message)}", f"git tag -a v1 -m {quote(message)}"):  # fmt: skip
            yield line, ("git",)
        yield f"echo {quote(message)}", ("echo",)
    for line in _BARE_GIT:
        yield f"git {line}", ("git",)
    yield from _OTHER_PROGRAMS


def _lines_about_a_file(file: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for words in ("add", "diff", "checkout --", "restore", "log -p --", "blame", "rm -f --", "restore --staged", "stash push --",
                  "checkout HEAD~1 --", "add -p", "reset --", "show HEAD:"):  # fmt: skip
        yield f"git {words} {file}".replace("HEAD: ", "HEAD:"), ("git",)
    for program in (
        "cat",
        "head -20",
        "wc -l",
        "rm -f",
        "touch",
        "black",
        "ruff check --fix",
        "prettier --write",
        "grep -n total",
    ):
        yield f"{program} {file}", (program.split()[0],)
    yield f"sed -i 's/a/b/g' {file}", ("sed",)
    yield f"cp {file} /tmp/copy", ("cp",)
    yield f"echo x >> {file}", ("echo",)
    yield f"mv {file} {file}", ("mv",)
    yield f"cat {file} | sort | uniq -c > /tmp/out.txt", ("cat", "sort", "uniq")


_BARE_GIT = [
    "status", "status -sb", "diff", "diff --stat", "log --oneline -10", "log --graph --all", "show", "add -A", "add .", "add -u",
    "stash", "stash pop", "stash list", "stash drop", "stash apply", "reset --hard", "reset", "reset --soft HEAD~1", "clean -fd",
    "clean -fdx", "clean -n", "checkout .", "checkout -- .", "restore .", "pull", "pull --rebase", "push", "push --force",
    "push --force-with-lease", "push -u origin HEAD", "fetch --all --prune", "branch", "branch -a", "rebase --continue",
    "rebase --abort", "merge --abort", "cherry-pick --abort", "bisect start", "worktree list", "worktree prune", "remote -v",
    "config user.name", "rev-parse HEAD", "ls-files", "tag", "describe --tags", "reflog", "gc", "submodule update --init",
    "--version", "-C . status", "--no-pager log -1", "-c core.pager=cat diff", "apply /tmp/x.patch", "am /tmp/x.patch", "init",
    "clone https://example.com/x.git /tmp/x", "blame -L 1,5 src/cart.py", "grep -n TODO", "shortlog -sn", "rm --cached src/x.py",
    "mv src/a.py src/b.py", "notes list", "commit", "commit --amend --no-edit", "commit --allow-empty -m x", "revert HEAD",
    "switch -", "checkout -", "diff --cached", "diff HEAD~1 HEAD -- src", "show HEAD --stat",
]  # fmt: skip

_OTHER_PROGRAMS: list[tuple[str, tuple[str, ...]]] = [
    ("ls -la", ("ls",)),
    ("npm test", ("npm",)),
    ("npm run build > build.log 2>&1", ("npm",)),
    ("make check", ("make",)),
    ("pytest -q tests", ("pytest",)),
    ("python -m pytest -x", ("python",)),
    ("cargo build --release", ("cargo",)),
    ("go test ./...", ("go",)),
    ("docker compose up -d", ("docker",)),
    ("curl -s https://example.com | jq .name", ("curl", "jq")),
    ("find . -name '*.py' | xargs grep -l total", ("find", "grep")),
    ("for f in *.py; do wc -l $f; done", ("wc",)),
    ("while read line; do echo $line; done < list.txt", ("read", "echo")),
    ("export A=1; echo $A", ("echo",)),
    ("cat <<'EOF' > /tmp/x\ngit stash\nrm -rf /\nEOF", ("cat",)),
    ("echo 'git reset --hard'", ("echo",)),
    ("grep -rn 'git stash' docs", ("grep",)),
    ("mkdir -p src/new && touch src/new/a.py", ("mkdir", "touch")),
    ("cd src && ls", ("cd", "ls")),
    ("rm -rf node_modules dist", ("rm",)),
    ("tar czf /tmp/x.tgz src", ("tar",)),
    ("[ -f a ] && echo yes", ("echo",)),
    ("test -d src || mkdir src", ("test", "mkdir")),
    ("x=$(git rev-parse HEAD); echo $x", ("git", "echo")),
    ("sleep 0 &", ("sleep",)),
    ("sed -n '1,20p' src/cart.py", ("sed",)),
    ("awk '{print $1}' src/cart.py", ("awk",)),
    ("diff <(ls a) <(ls b)", ("ls", "ls", "diff")),
    ("time make", ("make",)),
    ("env FOO=1 npm test", ("npm",)),
    ("FOO=1 BAR='a b' npm test", ("npm",)),
    ("sudo apt-get install -y jq", ("apt-get",)),
    ("timeout 60 pytest", ("pytest",)),
    ('python -c "print(1 > 2)"', ("python",)),
    ("node -e 'a => a'", ("node",)),
    ("psql -c 'select 1'", ("psql",)),
    ("git commit -m \"$(cat <<'EOF'\nFix it\n\nIt's done\nEOF\n)\"", ("cat", "git")),
    ("git log --format='%h %s' | head -3", ("git", "head")),
    ("git diff --name-only | xargs -r black", ("git", "black")),
    ("tee /tmp/log < /dev/null", ("tee",)),
]
