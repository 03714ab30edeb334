"""The JSDoc types of the page's scripts, checked by the TypeScript compiler."""

import subprocess
from pathlib import Path

import pytest

import nodejs

HERE = Path(__file__).parent


@pytest.mark.slow
def test_types_of_the_scripts_are_right():
    nodejs.install_packages(HERE)
    compiler = HERE / "node_modules/typescript/bin/tsc"
    checked = subprocess.run(
        [nodejs.NODE, compiler, "-p", HERE / "tsconfig.json"], capture_output=True, text=True, check=False
    )
    assert (checked.stdout, checked.returncode) == ("", 0)
