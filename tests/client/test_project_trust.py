"""A repository joins the project of another team only if a person said so."""

import argparse
from pathlib import Path

import pytest

from commonplace import errors
from commonplace.client.commands import join
from commonplace.client.link import remote
from commonplace.client.project import find_untrusted_project, project_of_folder


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that names a project which is not its own."""
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("COMMONPLACE_PROJECT", raising=False)
    folder = tmp_path / "clone"
    (folder / ".git").mkdir(parents=True)
    (folder / ".commonplace.toml").write_text('project = "payments"')
    return folder


def _configure(text: str) -> None:
    path = remote.configuration_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _join(folder: Path, *, yes: bool = True) -> int:
    return join.run(argparse.Namespace(folder=str(folder), yes=yes))


def test_a_clone_that_names_a_project_has_its_own_name_until_it_is_confirmed(clone: Path):
    assert (project_of_folder(clone), find_untrusted_project(clone).value) == ("clone", "payments")
    assert _join(clone) == 0
    assert (project_of_folder(clone), find_untrusted_project(clone)) == ("payments", None)


def test_a_confirmation_counts_for_one_repository_and_one_project(clone: Path, tmp_path: Path):
    _join(clone)
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".commonplace.toml").write_text('project = "payments"')
    assert project_of_folder(other) == "other"
    (clone / ".commonplace.toml").write_text('project = "payroll"')
    assert project_of_folder(clone) == "clone"


@pytest.mark.parametrize("policy", ['["payments"]', '["*"]'])
def test_a_policy_of_the_user_trusts_projects_in_every_repository(clone: Path, policy: str):
    _configure(f"trusted_projects = {policy}")
    assert project_of_folder(clone) == "payments"


def test_the_repositorys_own_name_in_any_spelling_needs_no_confirmation(clone: Path):
    (clone / ".commonplace.toml").write_text('project = "Clone"')
    assert (project_of_folder(clone), find_untrusted_project(clone)) == ("Clone", None)


def test_join_asks_and_keeps_the_rest_of_the_configuration(clone: Path):
    _configure('# mine\nurl = "http://127.0.0.1:1"\n')
    with pytest.raises(errors.Invalid):
        _join(clone, yes=False)
    assert project_of_folder(clone) == "clone"
    _join(clone)
    text = remote.configuration_path().read_text()
    assert text.startswith('# mine\nurl = "http://127.0.0.1:1"\n')


def test_join_without_a_named_project_is_refused(clone: Path):
    (clone / ".commonplace.toml").unlink()
    with pytest.raises(errors.NotFound):
        _join(clone)
