"""`commonplace rule`: a person adds, lists, tests and removes rules, and gets proposals from what they denied."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.__main__ import main
from commonplace.client.checkout import acting_author

Run = Callable[..., tuple[int, str, str]]
FORCE = (
    "add",
    "no-force",
    "--command",
    "git push --force|-f",
    "--say",
    "Push plainly.",
    "--reason",
    "Lost twice.",
)


@pytest.fixture
def rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `commonplace rule` in a checkout of the project shop, on a store without a server."""
    checkout = tmp_path / "shop"
    (checkout / ".git").mkdir(parents=True)
    monkeypatch.chdir(checkout)
    agent_names = (*acting_author._SESSION_VARIABLES, *acting_author._AGENT_VARIABLES)
    for name in [name for name in os.environ if name.startswith("COMMONPLACE_") or name in agent_names]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("USER", "ann")
    monkeypatch.setenv("LOGNAME", "ann")

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["rule", *words, "--data", str(tmp_path / "data")])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_added_rule_is_listed_tested_and_removed(rule: Run):
    assert rule(*FORCE)[:2] == (0, "created\tshop\tno-force\n")
    code, out, _ = rule("list")
    assert code == 0
    assert out.split("\t")[:6] == ["no-force", "shop", "command", "deny", "0", "ann"]
    assert rule("test", "git -C web push -f")[0] == 1
    assert rule("test", "git push")[:2] == (0, "")
    listed = json.loads(rule("list", "--json")[1])
    assert (listed["count"], listed["rules"][0]["enforced_by"]) == (1, "ann")
    assert rule("remove", "no-force")[:2] == (0, "deleted\tshop\tno-force\n")
    assert "commonplace rule add" in rule("list")[2]


def test_rule_of_every_project_is_global(rule: Run):
    assert rule(*FORCE, "--all")[1] == "created\tglobal\tno-force\n"
    assert rule("test", "git push -f")[0] == 1


def test_every_flag_reaches_the_rule(rule: Run):
    rule("add", "tests", "--on", "stop", "--path", "src/", "--unless-ran", "make test", "--within", "30m",
         "--unless-branch", "wip/*", "--unless-role", "owner", "--hold", "--expires", "never",
         "--say", "Run make test.", "--reason", "CI broke.")  # fmt: skip
    (listed,) = json.loads(rule("list", "--json")[1])["rules"]
    assert listed["enforce"] == {
        "on": ["stop"],
        "match": {"path": ["src/"]},
        "unless": {"ran": ["make test"], "within": "30m", "branch": ["wip/*"], "role": ["owner"]},
        "do": "deny",
        "reason": "CI broke.",
        "hold": True,
    }


def test_wrong_rule_is_refused_with_what_to_do(rule: Run):
    code, _, said = rule("add", "x", "--say", "y", "--reason", "z", "--text", "(?=a)")
    assert (code, "RE2 has no look-around" in said) == (2, True)


@pytest.mark.parametrize("variable", ["CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI"])
def test_agents_shell_sets_and_removes_no_rule(rule: Run, monkeypatch: pytest.MonkeyPatch, variable: str):
    rule(*FORCE)
    monkeypatch.setenv(variable, "1")
    assert rule("remove", "no-force")[0] == 4
    code, _, said = rule("add", "mine", "--path", "src/", "--say", "Mine.", "--reason", "Mine.")
    assert (code, "person" in said) == (4, True)
    assert rule("add", "hint", "--path", "src/", "--say", "Careful.", "--do", "warn")[0] == 0


def write_claude_transcript(home: Path, cwd: Path, *denied: str) -> None:
    records = []
    for number, line in enumerate(denied):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": line}}
        refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."
        result = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{number}",
            "content": refused,
            "is_error": True,
        }
        for kind, block in (("assistant", call), ("user", result)):
            message = {"role": kind, "content": [block]}
            records.append({"type": kind, "cwd": str(cwd), "sessionId": "s", "message": message})
    folder = home / ".claude" / "projects" / "shop"
    folder.mkdir(parents=True)
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "6f1c2f3a-0000-4000-8000-000000000000.jsonl").write_text(text)


def test_proposals_come_from_what_was_denied_twice(rule: Run, tmp_path: Path):
    write_claude_transcript(
        tmp_path / "person",
        tmp_path / "shop",
        "git push --force origin main",
        "cd web && git push --force",
        "npm publish",
    )
    (proposal,) = json.loads(rule("from-denials", "--json")[1])["proposals"]
    assert proposal == {
        "times": 2,
        "name": "git-push-force",
        "enforce": {
            "on": "command",
            "match": {"command": "git push --force"},
            "do": "ask",
            "reason": "People denied it 2 times.",
        },
        "example": "cd web && git push --force",
    }
    assert (
        "commonplace rule add git-push-force --command 'git push --force' --do ask" in rule("from-denials")[1]
    )
    assert json.loads(rule("list", "--json")[1])["count"] == 0


def test_no_denials_no_proposals(rule: Run):
    code, out, said = rule("from-denials")
    assert (code, out, "Nothing was denied" in said) == (0, "", True)
