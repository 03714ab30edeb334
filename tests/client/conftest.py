"""A user with an empty home folder."""

from pathlib import Path

import pytest
from user import User


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> User:
    return User(tmp_path, monkeypatch, capsys)
