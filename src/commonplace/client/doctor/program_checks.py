"""Is this the `commonplace` that a shell finds? Another package of that name is on PyPI."""

import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from commonplace import __version__
from commonplace.client import program
from commonplace.client.doctor.finding import Finding

_OTHER_DISTRIBUTION = "commonplace"


def check_program() -> Iterator[Finding]:
    yield Finding(
        "program", "ok", f"Commonplace {__version__}, Python {sys.version.split()[0]}, {sys.executable}"
    )
    yield _check_script()
    yield from _check_package()


def _check_script() -> Finding:
    """The hooks and settings of agents name our own path; only a person's shell can find another program."""
    found = shutil.which(program.NAME)
    if found and not program.starts_this_program(Path(found)):
        own = Path(program.find_program()[0]).parent
        return Finding(
            "PATH",
            "warning",
            f"`commonplace` on PATH is another program: {found}",
            f"Use {program.name_program()}, or put its folder first: export PATH={own}:$PATH",
        )
    if program.is_temporary() and not program.find_lasting_script():
        return Finding(
            "PATH",
            "problem",
            "This program runs from a cache: after it is cleaned, hooks would fail.",
            f"uv tool install {program.DISTRIBUTION}",
        )
    return Finding(
        "PATH", "ok", f"`commonplace` is {found}" if found else f"Start it as {program.name_program()}"
    )


def _check_package() -> Iterator[Finding]:
    """The other distribution installs a package of the same import name over ours."""
    try:
        other = metadata.distribution(_OTHER_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return
    if any(entry.value.startswith("commonplace.__main__") for entry in other.entry_points):
        return  # this program, installed from a clone before its distribution had a name of its own
    yield Finding(
        "import",
        "problem",
        f"The package `commonplace` {other.version}, another project, is installed in the same environment.",
        f"{sys.executable} -m pip uninstall commonplace && {sys.executable} -m pip install --force-reinstall {program.DISTRIBUTION}",
    )
