"""`commonplace scrub`: a dry run first, the secret from standard input, and nothing left afterwards."""

import argparse
import io
from pathlib import Path

import pytest

from commonplace import errors
from commonplace.cli import operation_call, scrub

SECRET = "quokka-lagoon-7Zk2pWvQ91x"


@pytest.fixture
def flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    """A store of its own without a server, and a client folder with a file that waits to be sent."""
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("COMMONPLACE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    spool = tmp_path / "home" / "spool"
    spool.mkdir(parents=True)
    (spool / "job.json").write_text(f'{{"text": "{SECRET}"}}')
    flags = argparse.Namespace(data=tmp_path / "data", store=None, url=None, yes=False)
    rule = {"action": "set", "name": "deploy", "rule": f"Use {SECRET}.", "scope": "shop"}
    operation_call.call_operation("memory_project", {"action": "create", "name": "shop"}, flags)
    operation_call.call_operation("memory_guidelines", rule, flags)
    return flags


def _scrub(
    flags: argparse.Namespace, monkeypatch: pytest.MonkeyPatch, *, yes: bool, secret: str = SECRET
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{secret}\n"))
    flags.yes = yes
    assert scrub.run(flags) == 0


def test_scrub_looks_first_and_removes_only_when_told(
    flags: argparse.Namespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    job = tmp_path / "home" / "spool" / "job.json"
    _scrub(flags, monkeypatch, yes=False)
    looked = capsys.readouterr().out
    assert "guideline 1" in looked
    assert str(job) in looked
    assert "Nothing was changed" in looked
    assert SECRET in job.read_text()
    _scrub(flags, monkeypatch, yes=True)
    removed = capsys.readouterr().out
    assert "Removed" in removed
    assert SECRET not in removed
    assert job.read_text() == f'{{"text": "{"*" * len(SECRET)}"}}'
    listed = operation_call.call_operation("memory_guidelines", {"action": "list", "scope": "shop"}, flags)
    assert listed["guidelines"][0]["rule"] == "Use [scrubbed]."
    _scrub(flags, monkeypatch, yes=True)
    assert "The secret was not found." in capsys.readouterr().out


def test_scrub_refuses_a_short_secret(flags: argparse.Namespace, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(errors.Invalid):
        _scrub(flags, monkeypatch, yes=True, secret="short")
