"""The runtime of the bundled model reports to nobody: its telemetry, on by default, would write an id to the cache."""

import os
import subprocess
import sys
from pathlib import Path

LOAD = """
from commonplace.search.models import require_bundled_model
from commonplace.search.embed import OnnxModel
OnnxModel(require_bundled_model()).embed(["hello"])
"""


def test_model_leaves_nothing_in_the_users_home(tmp_path: Path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    subprocess.run([sys.executable, "-c", LOAD], env=environment | {"HOME": str(tmp_path)}, check=True)
    assert list(tmp_path.rglob("*")) == []
