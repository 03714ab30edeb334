"""`search`, `show`, `who`, `inbox` and `backlog`: what a person asks the server for, without a session."""

import json
import os
import pty
import re
import select
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import product
from commonplace.__main__ import main
from patience import PATIENCE_SECONDS

ESCAPE = "\x1b"
TITLE = "PgBouncer closes connections after ten minutes"


@dataclass
class Team:
    """A server, and what two agents left on it."""

    server: product.Product
    owner: str = ""
    ids: dict[str, str] = field(default_factory=dict)

    def fill(self) -> "Team":
        ann = self.start("ann", task_description="cart totals")
        self.start("ben")
        self.call(ann, "lock_files", files=["src/cart.py", "src/tax/"], reason="totals")
        learned = self.call(ann, "record_learning", topic=TITLE, content="Set pool_recycle=300.")
        item = self.call(ann, "add_backlog_item", title="Cart loses items on reload", priority="high")
        self.call(ann, "update_backlog_item", item_id=item["id"], claim=True)
        other = self.call(ann, "add_backlog_item", title="Write the docs", assigned_to="ben")
        sent = self.call(
            ann,
            "send_message",
            to_instance="ben",
            subject="Review",
            message=f"Please look.{ESCAPE}[31m\nThanks.",
        )
        self.ids = {
            "learning": learned["id"], "claimed": item["id"], "open": other["id"], "mail": sent["message_id"]
        }  # fmt: skip
        return self

    def start(self, name: str, **more: str) -> str:
        arguments = {"project": "shop", "claude_instance": name} | more
        return self.server.call("memory_start_session", self.owner, **arguments)["session_id"]

    def call(self, session: str, operation: str, **arguments: object) -> dict:
        return self.server.call(f"memory_{operation}", self.owner, session_id=session, **arguments)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with product.running("--data", str(tmp_path_factory.mktemp("team"))) as server:
        yield Team(server).fill()


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    data = tmp_path_factory.mktemp("keyed")
    with product.running("--data", str(data), "--auth", "on") as server:
        operator = json.loads((data / "server.json").read_bytes())["token"]
        created = server.call("memory_admin", operator, action="create_key", name="boss", role="owner")
        yield Team(server, created["key"]).fill()


class Person:
    """Somebody in a checkout of the project shop."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
        self.checkout, self._environment, self._capsys = folder / "shop", monkeypatch, capsys
        (self.checkout / ".git").mkdir(parents=True)
        for name in [name for name in os.environ if name.startswith("COMMONPLACE_")]:
            monkeypatch.delenv(name)
        self.sets(COMMONPLACE_HOME=str(folder / "home"), COMMONPLACE_DATA=str(folder / "data"), USER="carol")
        monkeypatch.setenv("LOGNAME", "carol")
        monkeypatch.chdir(self.checkout)

    def sets(self, **variables: str) -> None:
        for name, value in variables.items():
            self._environment.setenv(name, value)

    def connects(self, team: Team, key: str = "") -> None:
        self.sets(COMMONPLACE_URL=team.server.url, COMMONPLACE_KEY=key)

    def enters(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._environment.chdir(folder)

    def tries(self, *words: str) -> tuple[int, str, str]:
        code = main(list(words))
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err

    def runs(self, *words: str) -> str:
        code, out, error = self.tries(*words)
        assert code == 0, error
        return out

    def reads(self, *words: str) -> dict:
        return json.loads(self.runs(*words, "--json"))

    def sees(self, *words: str, columns: int = 80, **environ: str) -> str:
        """What a terminal of this width shows."""
        leader, follower = pty.openpty()
        env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"} | environ
        process = subprocess.Popen(
            product.command(*words), stdin=follower, stdout=follower, stderr=follower, env=env
        )
        os.close(follower)
        shown = b""
        while select.select([leader], [], [], PATIENCE_SECONDS)[0]:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
        os.close(leader)
        assert process.wait(PATIENCE_SECONDS) == 0, shown
        return shown.decode().replace("\r\n", "\n")


@pytest.fixture
def person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, team: Team
) -> Person:
    someone = Person(tmp_path, monkeypatch, capsys)
    someone.connects(team)
    return someone


def test_search_finds_by_meaning_and_prints_a_line_for_each_result(person: Person, team: Team):
    line = person.runs("search", "idle connections are dropped").splitlines()[0].split("\t")
    assert (line[0], line[-2], line[-1]) == (team.ids["learning"], TITLE, "Set pool_recycle=300.")
    assert person.reads("search", "pgbouncer")["results"][0]["id"] == team.ids["learning"]


def test_search_filters_by_type_project_and_limit(person: Person):
    assert person.reads("search", "pgbouncer", "--type", "learning", "--limit", "1")["result_count"] == 1
    assert person.reads("search", "pgbouncer", "--type", "architecture")["results"] == []
    assert person.reads("search", "pgbouncer", "--project", "bank")["results"] == []
    assert person.reads("search", "pgbouncer", "--all")["results"][0]["project"] == "shop"


def test_search_outside_of_a_repository_searches_every_project(person: Person, tmp_path: Path, team: Team):
    person.enters(tmp_path / "elsewhere")
    assert team.ids["learning"] in person.runs("search", "pgbouncer")


def test_search_that_finds_nothing_says_so_and_what_to_try(person: Person):
    code, out, error = person.tries("search", "zzzz qqqq", "--project", "bank")
    assert (code, out) == (0, "")
    assert "--all" in error


def test_show_prints_what_an_id_stands_for(person: Person, team: Team):
    shown = person.runs("show", team.ids["learning"])
    assert TITLE in shown
    assert "Set pool_recycle=300." in shown
    assert person.tries("show", "doc_000000000000")[0] == 5


def test_who_lists_live_agents_with_their_task_leases_and_claims(person: Person):
    rows = {row[0]: row for row in (line.split("\t") for line in person.runs("who").splitlines())}
    ann, ben = rows["ann"], rows["ben"]
    assert ann[:3] == ["ann", "shop", "busy"]
    assert "Cart loses items on reload" in ann[4]
    assert ann[5] == "src/cart.py, src/tax/"
    assert "Cart loses items on reload" in ann[6]
    assert (ben[0], ben[5:]) == ("ben", ["", ""])
    agent = next(row for row in person.reads("who", "--all")["agents"] if row["agent"] == "ann")
    assert [lock["file"] for lock in agent["locks"]] == ["src/cart.py", "src/tax/"]
    assert [claim["title"] for claim in agent["claims"]] == ["Cart loses items on reload"]


def test_who_finds_the_agents_of_a_folder_whose_name_the_server_spells_otherwise(
    person: Person, team: Team, tmp_path: Path
):
    team.start("dora", project="Web-Shop.v2")
    person.enters(tmp_path / "Web-Shop.v2")
    (tmp_path / "Web-Shop.v2" / ".git").mkdir()
    for words in (("who",), ("who", "--project", "web shop v2"), ("who", "--idle")):
        assert [line.split("\t")[:2] for line in person.runs(*words).splitlines()] == [
            ["dora", "web_shop_v2"]
        ]


def test_inbox_of_an_agent_stays_unread(person: Person, team: Team):
    for _ in range(2):
        line = person.runs("inbox", "--agent", "ben").splitlines()[0].split("\t")
        assert line[:2] == [team.ids["mail"], "ann"]
        assert ESCAPE not in line[-1]
    assert person.reads("inbox", "--agent", "ben")["messages"][0]["status"] == "pending"


def test_inbox_is_marked_as_read_only_when_asked(person: Person, team: Team):
    frank = team.start("frank")
    team.start("carol")
    team.call(frank, "send_message", to_instance="carol", message="hello")
    assert "hello" in person.runs("inbox", "--agent", "carol")
    assert "hello" in person.runs("inbox", "--mark-read")
    assert person.reads("inbox", "--agent", "carol")["messages"] == []
    assert "hello" in person.runs("inbox", "--agent", "carol", "--read")


def test_backlog_lists_filters_adds_and_completes(person: Person, team: Team):
    first = person.runs("backlog").splitlines()[0].split("\t")
    assert first[:4] == [team.ids["claimed"], "high", "in_progress", "ann"]
    listed = person.reads("backlog", "--assigned-to", "ben")["items"]
    assert [item["id"] for item in listed] == [team.ids["open"]]
    added = person.runs("backlog", "add", "Rotate the keys", "--priority", "low", "--tag", "ops").split()[0]
    item = person.reads("backlog", "--tag", "ops")["items"][0]
    assert (item["id"], item["priority"], item["created_by"]) == (added, "low", "carol")
    assert "Rotate the keys" in person.runs("backlog", "done", added, "--resolution", "rotated")
    assert person.reads("backlog", "--tag", "ops")["items"] == []
    done = person.reads("backlog", "--tag", "ops", "--done")["items"][0]
    assert (done["status"], done["completed_by"]) == ("done", "carol")
    code, _, error = person.tries("backlog", "done", "backlog_000000000000")
    assert (code, "commonplace backlog" in error) == (5, True)


def test_adding_outside_of_a_repository_needs_a_project(person: Person, tmp_path: Path):
    person.enters(tmp_path / "elsewhere")
    code, _, error = person.tries("backlog", "add", "Lost")
    assert (code, "--project" in error) == (2, True)


@pytest.mark.parametrize("words", [("search", "x"), ("who",), ("inbox", "--agent", "ben"), ("backlog",)])
def test_a_server_that_is_away_is_an_error_with_its_own_exit_code(person: Person, words: tuple[str, ...]):
    person.sets(COMMONPLACE_URL="http://127.0.0.1:9")
    code, out, error = person.tries(*words)
    assert (code, out) == (8, "")
    assert "COMMONPLACE_URL" in error


def test_the_rights_of_a_key_hold(person: Person, keyed: Team):
    assert person.tries("who")[0] == 0
    person.connects(keyed)
    assert person.tries("search", "pgbouncer")[0] == 3
    for role, projects, codes in (
        ("readonly", ["shop"], (0, 0, 4, 4)),
        ("agent", ["shop"], (0, 0, 4, 0)),
        ("agent", ["bank"], (4, 4, 4, 4)),
        ("owner", ["*"], (0, 0, 0, 0)),
    ):
        created = keyed.server.call(
            "memory_admin", keyed.owner, action="create_key", name=f"{role}-{projects[0].strip('*')}", role=role,
            projects=projects,
        )  # fmt: skip
        person.connects(keyed, created["key"])
        tried = [
            person.tries(*words)[0]
            for words in (
                ("search", "pgbouncer"),
                ("backlog",),
                ("inbox", "--agent", "ben"),
                ("backlog", "add", f"as {role}"),
            )
        ]
        assert tuple(tried) == codes, (role, projects)


def test_a_command_says_what_its_key_may_not_do_and_where_a_key_belongs(person: Person, keyed: Team):
    person.connects(keyed)
    assert "Set COMMONPLACE_KEY" in person.tries("who")[2]
    created = keyed.server.call(
        "memory_admin", keyed.owner, action="create_key", name="reader", role="readonly", projects=["shop"]
    )
    person.connects(keyed, created["key"])
    person.sets(COMMONPLACE_AGENT="zoe")
    assert "memory_add_backlog_item requires the role agent" in person.tries("backlog", "add", "More")[2]


def test_inbox_without_a_name_is_that_of_the_key(person: Person, keyed: Team):
    created = keyed.server.call(
        "memory_admin", keyed.owner, action="create_key", name="ben", projects=["shop"], agent="ben"
    )
    person.connects(keyed, created["key"])
    assert person.reads("inbox")["messages"][0]["id"] == keyed.ids["mail"]
    created = keyed.server.call(
        "memory_admin", keyed.owner, action="create_key", name="team", projects=["shop"]
    )
    person.connects(keyed, created["key"])
    assert person.tries("inbox")[0] == 4


def test_commands_read_the_local_store_where_no_server_runs(person: Person):
    person.sets(COMMONPLACE_URL="")
    person.runs("backlog", "add", "Here")
    assert "Here" in person.runs("backlog")


def test_a_terminal_shows_a_table_that_fits_its_width(person: Person):
    for columns in (60, 100):
        shown = person.sees("backlog", columns=columns)
        plain = re.sub(rf"{ESCAPE}\[[0-9;]*m", "", shown)
        assert plain.startswith("ID ")
        assert max(map(len, plain.splitlines())) <= columns
        assert ESCAPE in shown


@pytest.mark.parametrize(
    "words", [("backlog",), ("who",), ("search", "pgbouncer"), ("inbox", "--agent", "ben")]
)
def test_no_colour_is_no_colour(person: Person, words: tuple[str, ...]):
    shown = person.sees(*words, NO_COLOR="1")
    assert shown.strip()
    assert ESCAPE not in shown


@pytest.mark.parametrize("command", ["search", "show", "who", "inbox", "backlog"])
def test_help_teaches_with_examples(capsys: pytest.CaptureFixture, command: str):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"  commonplace {command} " in capsys.readouterr().out
