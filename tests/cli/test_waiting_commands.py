"""For those who never open a browser: `answer`, `status --watch` and `statusline`."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import product
from commonplace.__main__ import main
from commonplace.client.checkout import acting_author
from commonplace.client.commands import statusline
from commonplace.client.people.watch import render_frame
from patience import PATIENCE_SECONDS, wait_until

ESCAPE = "\x1b"


@dataclass
class Team:
    server: product.Product
    owner: str
    helper: str
    session: str

    def report(self, **more: Any) -> str:
        given = {"kind": "permission", "title": "Bash", "text": "git push", "is_awaited": True} | more
        reply = self.server.call("memory_report_request", self.helper, session_id=self.session, **given)
        request_id: str = reply["request_id"]
        return request_id

    def read_answer(self, request_id: str) -> dict[str, Any]:
        return self.server.call(
            "memory_wait_for_answer", self.helper, session_id=self.session, request_id=request_id
        )


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    data = tmp_path_factory.mktemp("keyed")
    with product.running("--data", str(data), "--auth", "on", "--embeddings", "off") as server:
        operator = json.loads((data / "server.json").read_bytes())["token"]
        keys = [
            server.call("memory_admin", operator, action="create_key", name=name, role=role, projects=["*"])[
                "key"
            ]
            for name, role in (("boss", "owner"), ("helper", "agent"))
        ]
        started = server.call("memory_start_session", keys[1], project="shop", claude_instance="ann")
        yield Team(server, *keys, started["session_id"])


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, team: Team) -> Path:
    """Somebody in a checkout of shop, with the key of an owner."""
    checkout = tmp_path / "shop"
    (checkout / ".git").mkdir(parents=True)
    agents = (*acting_author._SESSION_VARIABLES, *acting_author._AGENT_VARIABLES)
    for name in [name for name in os.environ if name.startswith("COMMONPLACE_") or name in agents]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COMMONPLACE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("COMMONPLACE_URL", team.server.url)
    monkeypatch.setenv("COMMONPLACE_KEY", team.owner)
    monkeypatch.chdir(checkout)
    return checkout


@pytest.mark.usefixtures("person")
def test_answer_lists_what_waits_and_answers_it(team: Team, capsys: pytest.CaptureFixture):
    request_id = team.report(text=f"git push{ESCAPE}[31m")
    assert main(["answer"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(request_id))
    assert line.split("\t")[1:4] == ["ann", "shop", "permission"]
    assert ESCAPE not in line
    assert main(["answer", request_id[:9], "deny", "--note", "not on Fridays"]) == 0
    answer = team.read_answer(request_id)
    assert (answer["decision"], answer["note"]) == ("deny", "not on Fridays")
    assert main(["answer", request_id, "allow"]) == 5  # it no longer waits


@pytest.mark.usefixtures("person")
def test_answer_takes_the_words_of_each_question(team: Team):
    questions = [{"question": "Which db?", "options": [{"label": "lite"}]}, {"question": "Which port?"}]
    request_id = team.report(kind="question", questions=questions)
    assert main(["answer", request_id, "lite"]) == 2
    assert main(["answer", request_id, "lite", "5432"]) == 0
    assert team.read_answer(request_id)["answers"] == ["lite", "5432"]


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    "words", [("{id}", "--project", "shop", "lite"), ("--project", "shop", "{id}", "--note", "quick", "lite")]
)
def test_answer_takes_options_between_its_words(team: Team, words: tuple[str, ...]):
    request_id = team.report(kind="question", questions=[{"question": "Which db?"}])
    assert main(["answer", *(word.format(id=request_id) for word in words)]) == 0
    assert team.read_answer(request_id)["answers"] == ["lite"]


@pytest.mark.usefixtures("person")
def test_answer_refuses_an_unknown_option(team: Team, capsys: pytest.CaptureFixture):
    with pytest.raises(SystemExit):
        main(["answer", team.report(), "--projekt", "shop", "allow"])
    assert "--projekt" in capsys.readouterr().err


def test_answer_finds_a_named_request_of_another_project_than_the_folders(
    team: Team, person: Path, monkeypatch: pytest.MonkeyPatch
):
    request_id = team.report()
    elsewhere = person.parent / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    monkeypatch.chdir(elsewhere)
    assert main(["answer", request_id, "allow"]) == 0
    assert team.read_answer(request_id)["decision"] == "allow"


@pytest.mark.usefixtures("person")
def test_answer_does_not_run_in_the_shell_of_an_agent(team: Team, monkeypatch, capsys):
    request_id = team.report()
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "1")
    assert main(["answer", request_id, "allow"]) == 4
    assert "agent's shell" in capsys.readouterr().err
    assert team.read_answer(request_id)["status"] == "open"


@pytest.mark.usefixtures("person")
def test_key_of_an_agent_does_not_answer(team: Team, monkeypatch):
    request_id = team.report()
    monkeypatch.setenv("COMMONPLACE_KEY", team.helper)
    assert main(["answer", request_id, "allow"]) == 4
    assert team.read_answer(request_id)["status"] == "open"


@pytest.mark.usefixtures("person")
def test_watch_prints_frames_until_it_is_interrupted():
    command = product.command("status", "--watch", "--interval", "0.2")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ))
    assert process.stdout is not None
    first = [process.stdout.readline().decode() for _ in range(5)]
    assert first[0].startswith("Commonplace  ")
    assert not any(ESCAPE in line for line in first)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, error) == (0, b"")


NOW = datetime(2026, 11, 17, 9, 0, tzinfo=UTC)
STATE = {
    "needs_you": [
        {
            "kind": "request", "agent": "ann", "project": "shop", "since": "2026-11-17T08:58:00Z",
            "request": {"id": "req_1", "kind": "permission", "can_answer": True, "text": f"rm -rf x{ESCAPE}[2J" * 40},
        },
        {"kind": "idle", "agent": "zoe", "project": "shop", "since": "2026-11-17T08:58:00Z"},
    ],
    "agents": [
        {"agent": "界" * 30, "project": "shop", "active": "2026-11-17T08:59:58Z", "task": "VAT " * 50, "acts": [0, 3, 9]},
        *({"agent": f"a{n}", "project": "shop", "active": "2026-11-17T08:00:00Z"} for n in range(50)),
    ],
    "files": [{"path": "src/cart.py", "agent": "ann", "mode": "exclusive", "reason": "VAT", "until": "2026-11-17T09:30:00Z"}],
    "prevented_counts": {"edits": 2},
}  # fmt: skip


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 10), (200, 60)])
def test_watch_fits_the_terminal(columns: int, rows: int):
    from commonplace.client.people.terminal import display_width  # noqa: PLC0415 - only here

    lines = render_frame(STATE, columns, rows, lambda text, _: text, NOW)
    assert len(lines) <= rows
    assert max(map(display_width, lines)) <= columns
    assert not any(ESCAPE in line for line in lines)
    text = "\n".join(lines)
    assert "1 need" in text
    assert "Prevented today: 2 edits" in text
    assert "ann asks permission: rm -rf x" in text


def test_watch_shows_everything_without_a_limit():
    text = "\n".join(render_frame(STATE, 80, 0, lambda text, _: text, NOW))
    assert "commonplace answer req_1" in text
    assert "src/cart.py" in text
    assert "a49" in text
    assert re.search(r"2m ann asks", text)


def test_watch_of_an_empty_server_says_so():
    text = "\n".join(render_frame({}, 80, 24, lambda text, _: text, NOW, "it is away"))
    assert "nobody needs you" in text
    assert "The server does not answer: it is away" in text
    assert "No agent is working." in text


def test_statusline_says_who_needs_you(team: Team, person: Path):
    team.report()
    line = statusline.build_line({"cwd": str(person), "session_id": "unknown"})
    assert re.search(r"\d+ needs? you", line)
    assert "1 agent" in line


def test_statusline_never_fails(person: Path, monkeypatch):
    del person
    monkeypatch.setenv("COMMONPLACE_URL", "http://127.0.0.1:9")
    for sent in (b"", b"{", b"[1]", b'{"cwd": 5, "session_id": {}}', b"\xff"):
        done = subprocess.run(
            product.command("statusline"),
            input=sent,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")


def test_statusline_without_colours_and_needs_is_short():
    counts = {"needs_you": 0, "agents": 3, "active": 1, "locks": 0, "prevented": 2}
    assert statusline.format_line(counts, "ann", has_colours=False) == "ann · 3 agents · 2 prevented"
    assert statusline.format_line(None, "", has_colours=True) == "commonplace: no answer"


def test_statusline_asks_the_server_again_after_a_moment(team: Team, person: Path):
    """The line of a moment ago is shown again, so that many windows ask the server rarely."""
    folder = str(person)
    first = statusline._find_counts(folder)
    team.report()
    assert statusline._find_counts(folder) == first
    wait_until(lambda: statusline._find_counts(folder) != first)
