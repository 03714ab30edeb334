"""What a shell command line is: its parts, where it runs, how it would be typed again, and whether to offer it to others."""

import re
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

_MAX_PARSED_CHARACTERS = 4_000
_COMMAND_CHARACTERS = 300
_MAX_OFFERED_LINES = 3
_OPERATORS = frozenset({"&&", "||", ";", "|", "&", "\n"})
_TOKEN = re.compile(
    r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*"|<<-?\s*(?P<quote>['"]?)(?P<here>[A-Za-z_]\w{0,40})(?P=quote)|[<>]&|&>|&&|\|\||[;|&\n()]""",
    re.DOTALL,
)
_ASSIGNMENT = re.compile(r"^(?:[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|[^\s'\"]*)\s+)+")
_WRAPPERS = re.compile(
    r"^(?:(?:sudo|time|nice|env|exec|command|npx|bunx|(?:timeout|gtimeout)(?:\s+-\S+)*\s+\S+|uv run|poetry run|pipenv run"
    r"|bundle exec|mise exec --|(?:\S{0,200}/)?python[\d.]{0,5} -m)\s+)+"
)
_FILTERS = frozenset({"head", "tail", "grep", "egrep", "rg", "tee", "cat", "less", "more"})
_REDIRECTION = re.compile(r"\s*(?:2>&1|&>\s*/dev/null|[12]?>\s*/dev/null)\s*$")
_ECHOED_STATUS = re.compile(r"^(?:echo|printf)\b.*\$(?:\?|status|PIPESTATUS|pipestatus|\{)")
_SEARCHES = frozenset(
    {
        "rg",
        "grep",
        "egrep",
        "fgrep",
        "ag",
        "ack",
        "find",
        "fd",
        "diff",
        "cmp",
        "test",
        "[",
        "[[",
        "which",
        "pgrep",
        "command",
    }
)
_READERS = (
    frozenset(
        [
            "cat",
            "ls",
            "head",
            "tail",
            "wc",
            "pwd",
            "echo",
            "printf",
            "which",
            "type",
            "tree",
            "stat",
            "file",
            "less",
            "more",
            "env",
            "printenv",
            "ps",
            "df",
            "du",
            "date",
            "sleep",
            "true",
            "sed",
            "awk",
            "sort",
            "uniq",
            "cut",
            "tr",
            "jq",
            "yq",
            "nl",
            "od",
            "xxd",
            "basename",
            "dirname",
            "realpath",
            "readlink",
            "cd",
            "pushd",
            "popd",
            "set",
            "export",
            "unset",
            "source",
            ".",
        ]
    )
    | _SEARCHES
)
_READING_GIT = re.compile(
    r"^git(?:\s+-[cC]\s+\S+|\s+--no-pager)*\s+(?:status|diff|log|show|branch|blame|remote|rev-parse|ls-files|ls-remote|grep"
    r"|describe|cat-file|merge-base|rev-list|config|reflog|for-each-ref|shortlog|fetch|check-ignore)\b"
)
_IN_PLACE = re.compile(r"^(?:sed|perl)\s(?:\S+\s)*-\w*i|^(?:yq|awk)\s.*\s-i\b")
_NEVER_OFFERED = re.compile(
    r"^(?:sudo|doas|su|rm|rmdir|unlink|shred|truncate|dd|mkfs\S*|chmod|chown|chgrp|setfacl|kill|pkill|killall|shutdown|reboot"
    r"|dropdb|eval)\b"
    r"|^git\s.*?\b(?:push|clean|reset|restore|rm|gc|prune|filter-branch|filter-repo|update-ref)\b|^git\s.*?\b(?:checkout|switch)\s.*(?:--(?:\s|$)|-f\b|--force)"
    r"|^git\s.*?\b(?:branch|tag|remote|worktree|stash)\s.*?(?:-[dD]\b|--delete|\bdrop\b|\bclear\b|\bremove\b|\bprune\b)"
    r"|^(?:npm|pnpm|yarn|bun|cargo|poetry|uv|flit|hatch|gem|vsce|lerna|mvn|gradle|\./gradlew)\s.*?\b(?:publish|deploy|unpublish|yank|release:perform)\b|^gem\s+push|^twine\s|^goreleaser\s"
    r"|^(?:docker|podman|buildah|skopeo|helm)\s.*?\b(?:push|rm|rmi|prune|copy|kill|down)\b|--push\b"
    r"|^gh\s+(?:pr|issue|release|repo|gist|secret|variable|workflow|run|label|ruleset|cache|codespace)\s+(?:create|merge|close|delete|edit|comment|review|upload|set|run|rerun|cancel|transfer|archive|rename|fork|ready|reopen|lock)\b"
    r"|^gh\s+api\b.*?(?:\s-X\s*(?!GET)|--method[ =](?!GET)|\s-[fF]\s|--(?:raw-)?field|--input)"
    r"|^(?:curl|wget|http|https|xh)\b.*?(?:\s-X\s*(?!GET|HEAD)|--request[ =](?!GET|HEAD)|\s-[dFT]\b|\s--(?:data|form|upload|json|post)\S*|\s(?:POST|PUT|PATCH|DELETE)\s)"
    r"|^(?:terraform|tofu|pulumi|cdk|sam|serverless|sls|vercel|netlify|fly|flyctl|heroku|wrangler|ansible\S*)\b.*?\b(?:apply|destroy|deploy|up|delete|remove|promote|release|publish|taint|import|playbook)\b"
    r"|^(?:kubectl|oc)\s.*?\b(?:delete|apply|create|replace|patch|scale|drain|exec|edit|rollout)\b|^(?:aws|gcloud|az|doctl)\b"
    r"|^(?:ssh|scp|rsync|sftp|ftp)\b|\s-delete\b|^xargs\s.*?\b(?:rm|kill|chmod)\b|-exec(?:dir)?\s+(?:rm|chmod|chown|mv)\b"
    r"|^\w*sql\w*\s.*?\b(?i:drop|delete|truncate|alter|grant)\b|^redis-cli\s.*?(?i:flush|del)\b"
    r"|\b(?:rmtree|unlinkSync|rmSync|os\.remove|shutil\.move)\b"
)
_FETCHES = re.compile(r"^(?:curl|wget|http|iwr|Invoke-WebRequest)\b")
_INTERPRETERS = frozenset(
    {
        "sh",
        "bash",
        "zsh",
        "dash",
        "fish",
        "python",
        "python3",
        "node",
        "perl",
        "ruby",
        "php",
        "source",
        "iex",
        "sudo",
        "xargs",
    }
)
_RUNS_FETCHED = re.compile(r"(?:<\(|\$\(|`)\s*(?:curl|wget)\b")
_MESSAGE = re.compile(
    r"(?:\s-\w*m|\s--message)[ =]?\s*(?:\"\$\(cat <<-?\s*['\"]?(\w+)['\"]?\n(?P<here>.*?)\n\s*\1|\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>[^']*)'|(?P<bare>\S+))",
    re.DOTALL,
)
_COMMIT = re.compile(r"^git(?:\s+-[cC]\s+\S+|\s+--?[\w-]+(?:=\S+)?)*\s+commit\b(?!-)")
_SCRATCH = re.compile(
    r"^(?:/tmp|/private/tmp|/var/folders|/private/var/folders|/var/tmp|\$\(?\{?(?:TMP|tmp|mktemp|d\b|dir\b|DIR\b))"
)
_SELECTS = re.compile(r"(?:^|\s)(?:-k|-m|-t|-run|--run|--grep|--lf|--last-failed)\b|::")
_CHECKERS = frozenset({"pytest", "tox", "nox", "tsc", "mypy", "ruff", "eslint", "jest", "vitest", "unittest"})
"""Without an argument they check everything."""
_WHOLE_CHECKS = frozenset({"make test", "make check", "npm test", "yarn test", "pnpm test", "tox", "nox"})
_EVERYTHING = frozenset({".", "./...", "..."})
_TESTS = re.compile(
    r"^(?:pytest|py\.test|tox|nox|unittest|jest|vitest|mocha|ava|tsc|mypy|pyright|ruff|flake8|pylint|black|isort|eslint|biome|ultracite"
    r"|oxlint|prettier|rspec|phpunit|ctest|golangci-lint|staticcheck|gotestsum|clippy|zizmor|actionlint|shellcheck|hadolint|lychee|bats"
    r"|playwright|cypress|detekt|ktlint|swiftlint|rubocop|standardrb)\b"
    r"|^go (?:test|vet|build)\b|^cargo (?:\+\S+ )?(?:test|nextest|check|clippy|build|fmt)\b|^dotnet (?:test|build)\b|^swift (?:test|build)\b"
    r"|^(?:mvn|gradle|\S*gradlew|mvnw)\b.*\b(?:test|verify|check|build)\b|^(?:deno|bun|zig|mix|dune|stack|cabal|sbt|bazel|lein|elm-test) (?:\S+ )?(?:test|check|lint|build)\b"
    r"|^(?:make|just|task|mise|npm|pnpm|yarn|bun|composer|rake|invoke|hatch|pdm|turbo|nx)\b(?:\s+(?:run|-s|--silent|exec|-C \S+|--filter[ =]\S+|-w))*\s+\S*(?:test|check|lint|type|tsc|build|verify|e2e|spec|ci|fix|fmt|format)\S*"
    r"|^node --test\b|^\S*(?:run_?tests?|test)\.(?:sh|py)\b"
)


_ASKS_VERSION = re.compile(r"\s(?:--version|--help|-V|-h)\b|\sversion$")
_REMOTE = frozenset({"gh", "glab", "git", "curl", "docker-compose", "journalctl", "ssh"})
"""What these print happened elsewhere, or earlier."""


class CommandPart(NamedTuple):
    operator: str
    """What stands before the part: empty, `&&`, `||`, `;`, `|` or `&`."""
    text: str

    @property
    def bare(self) -> str:
        """Without assignments and wrappers, so that it begins with the program."""
        text = _ASSIGNMENT.sub("", self.text)
        return _WRAPPERS.sub("", text).strip()

    @property
    def program(self) -> str:
        return self.bare.split(None, 1)[0].rpartition("/")[2] if self.bare else ""


class ShellCommand:
    """A command line of an agent. Properties are computed when they are asked for."""

    def __init__(self, line: str, folder: str = "", root: str = "") -> None:
        self.line, self.root = line.strip()[:_MAX_PARSED_CHARACTERS], root
        self._folder = folder or root

    @cached_property
    def parts(self) -> list[CommandPart]:
        return _split_parts(self.line)

    @cached_property
    def folder(self) -> str:
        """Where its last part runs, as far as its own `cd` and `git -C` tell."""
        folder = self._folder
        for part in self.parts:
            target = re.match(r"(?:cd|pushd)\s+(\S+)", part.text) or re.match(r"git\s+-C\s+(\S+)", part.text)
            if target:
                folder = str(PurePosixPath(folder or "/") / target[1].strip("'\""))
        return folder

    @cached_property
    def main_parts(self) -> list[CommandPart]:
        """Without the `cd` before, and without filters and echoes of the status after."""
        parts = list(self.parts)
        while len(parts) > 1 and parts[0].program in ("cd", "pushd") and parts[1].operator in ("&&", ";"):
            parts = [parts[1]._replace(operator=""), *parts[2:]]
        while len(parts) > 1 and (
            (parts[-1].operator == "|" and parts[-1].program in _FILTERS)
            or _ECHOED_STATUS.match(parts[-1].text)
            or (parts[-1].operator == "||" and parts[-1].program in ("true", "echo", ":"))
        ):
            parts.pop()
        return parts

    @cached_property
    def shown(self) -> str:
        """The invocation as one would type it again, in `place`."""
        words = [
            f"{'' if part.operator in ('', ';') else ' '}{part.operator}{' ' * bool(part.operator)}{part.text}"
            for part in self.main_parts
        ]
        return _REDIRECTION.sub("", "".join(words)).strip()[:_COMMAND_CHARACTERS]

    @cached_property
    def place(self) -> str:
        """The folder below the root; empty for the root itself, absolute where it lies elsewhere."""
        folder, root = self.folder.rstrip("/"), self.root.rstrip("/")
        if not folder or folder == root:
            return ""
        return folder.removeprefix(root + "/") if root else folder

    @property
    def hides_exit_code(self) -> bool:
        """Whether the exit code is that of a filter or of what was run last."""
        if "pipefail" in self.line and all(part.operator in ("", "&&", "|") for part in self.parts):
            return False
        kept = self.main_parts
        return any(
            part.operator in (";", "||", "|", "&") for part in (*kept[1:], *self.parts[1:])
        ) and not all(part.operator == "&&" for part in self.parts[1:])

    @property
    def is_search(self) -> bool:
        """Whether its exit code 1 means that nothing was found or that things differ."""
        last = self.parts[-1] if self.parts else CommandPart("", "")
        return last.program in _SEARCHES or bool(
            re.match(r"git(?:\s+-\S+)*\s+(?:grep|diff|check-ignore|merge-base|show-ref|config)\b", last.bare)
        )

    @property
    def is_read_only(self) -> bool:
        return all(_is_reader(part) for part in self.parts)

    @property
    def is_check(self) -> bool:
        """Whether it runs tests, a type checker, a linter or a build."""
        return any(
            _TESTS.match(part.bare) and not _ASKS_VERSION.search(part.bare) for part in self.main_parts
        )

    @property
    def runs_here(self) -> bool:
        """Whether a summary that it prints is of something that it ran."""
        return not self.is_read_only and not all(
            part.program in _REMOTE or _is_reader(part) for part in self.parts
        )

    @property
    def is_offered(self) -> bool:
        """Whether others may be told to run it: nothing that deletes, pushes, publishes, changes permissions or runs what it
        fetches. A command that was cut, or that is a script of many lines, is not offered either."""
        if (
            len(self.line) >= _COMMAND_CHARACTERS
            or self.line.count("\n") >= _MAX_OFFERED_LINES
            or _RUNS_FETCHED.search(self.line)
        ):
            return False
        fetched = False
        for part in self.parts:
            fetched = (fetched and part.operator == "|") or bool(_FETCHES.match(part.bare))
            if any(map(_NEVER_OFFERED.search, (part.bare, _ASSIGNMENT.sub("", part.text)))):
                return False
            if fetched and part.operator == "|" and part.program in _INTERPRETERS:
                return False
            if part.program in _INTERPRETERS and re.search(r"\s-\w*c\s", part.text):
                inner = re.search(r"\s-\w*c\s+(['\"])(.*)\1", part.text, re.DOTALL)
                if inner is None or (
                    part.program in ("sh", "bash", "zsh", "dash") and not ShellCommand(inner[2]).is_offered
                ):
                    return False
                if _NEVER_OFFERED.search(inner[2]):
                    return False
        return True

    @cached_property
    def commit_messages(self) -> list[str]:
        """The subject of each commit that it makes; empty text for one whose message is elsewhere."""
        if "commit" not in self.line:
            return []
        return [
            _find_subject(part.text)
            for part in self.parts
            if _COMMIT.match(part.bare) and "--dry-run" not in part.text
        ]

    @property
    def is_elsewhere(self) -> bool:
        """Whether it works in a scratch repository or outside of the session's own folder."""
        if "git init" in self.line or "mktemp" in self.line or _SCRATCH.match(self.folder):
            return True
        return any(_SCRATCH.match(match) for match in re.findall(r"(?:cd|git -C)\s+[\"']?(\S+)", self.line))

    @cached_property
    def attempt_keys(self) -> list[str]:
        """The keys of its parts; two commands with the same key are attempts at the same thing."""
        return [key for part in self.main_parts if (key := _build_key(part))]


def is_repeated_by(failed: str, succeeded: str) -> bool:
    """Does the success of one attempt key mean that what failed under the other succeeds as well?"""
    if failed == succeeded:
        return True
    program, _, place = failed.partition(" ")
    other, _, wider = succeeded.partition(" ")
    if succeeded in _WHOLE_CHECKS and program in _CHECKERS:
        return True
    if program != other or program not in _CHECKERS:
        return False
    return not wider or wider in _EVERYTHING or place.startswith((wider.rstrip("/") + "/", wider + "::"))


def _build_key(part: CommandPart) -> str:
    command = part.bare
    words = [word for word in command.split() if not word.startswith("-")][:2]
    if words:
        words[0] = words[0].rpartition("/")[2] or words[0]
    if len(words) == 1 and words[0] in _CHECKERS and _SELECTS.search(command):
        words.append("-")
    return " ".join(words)


def _is_reader(part: CommandPart) -> bool:
    if _IN_PLACE.match(part.bare) or re.search(r"(?<![0-9&])>>?\s*(?!/dev/null|&)\S", part.bare):
        return False
    return part.program in _READERS or bool(_READING_GIT.match(part.bare)) or not part.bare


def _find_subject(commit: str) -> str:
    match = _MESSAGE.search(commit)
    if match is None:
        return ""
    words = next((value for name in ("here", "double", "single", "bare") if (value := match[name])), "")
    return words.strip().split("\n", 1)[0].strip()[:300]


def _split_parts(line: str) -> list[CommandPart]:
    """Split at `&&`, `||`, `;`, `|`, `&` and newlines that are not quoted, nested or inside of a here-document."""
    parts, delimiters = list[CommandPart](), list[str]()
    operator, start, at, depth = "", 0, 0, 0
    while token := _TOKEN.search(line, at):
        at, text = token.end(), token[0]
        if token["here"]:
            delimiters.append(token["here"])
        elif text in "()":
            depth = max(0, depth + (1 if text == "(" else -1))
        elif text == "\n" and delimiters:
            end = re.compile(rf"^\s*{re.escape(delimiters.pop(0))}\s*$", re.MULTILINE).search(line, at)
            at = end.end() if end else len(line)
        elif depth == 0 and text in _OPERATORS:
            if part := line[start : token.start()].strip():
                parts.append(CommandPart(operator, part))
                operator = ";" if text == "\n" else text
            start = at
    last = line[start:].strip()
    return [*parts, CommandPart(operator, last)] if last else parts
