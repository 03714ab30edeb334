"""Runs tools/operation_docs.py of the repository."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    TOOLS = Path(__file__).resolve().parents[3] / "tools"
    sys.path.insert(0, str(TOOLS))
    runpy.run_path(str(TOOLS / "operation_docs.py"), run_name="__main__")
