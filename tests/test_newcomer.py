"""The stories of `make newcomer` come true for this clone, so that no stumble comes back unseen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE_SECONDS

TOP = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("story", ["first answer", "different makers", "TLS and keys", "restored backup"])
def test_story_of_somebody_new_comes_true(story: str):
    done = subprocess.run(
        [sys.executable, "tools/newcomer.py", "--only", story],
        cwd=TOP, capture_output=True, text=True, timeout=10 * PATIENCE_SECONDS, check=False,
        env=os.environ | {"COMMONPLACE_TEST_PATIENCE": str(PATIENCE_SECONDS)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert story in done.stdout
