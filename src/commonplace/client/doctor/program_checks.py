"""Is this the `commonplace` that a shell finds? Another package of that name is on PyPI."""

import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from commonplace import __version__
from commonplace.client.doctor.finding import Finding

DISTRIBUTION = "commonplace-mcp"
_OTHER_DISTRIBUTION = "commonplace"
_SCRIPT = "commonplace"


def check_program() -> Iterator[Finding]:
    yield Finding(
        "program", "ok", f"Commonplace {__version__}, Python {sys.version.split()[0]}, {sys.executable}"
    )
    yield _check_script(Path(sys.executable).parent, shutil.which(_SCRIPT))
    yield from _check_package()


def _check_script(own_folder: Path, found: str | None) -> Finding:
    """The hooks and settings of agents name our own path; only a person's shell can find another program."""
    own = own_folder / _SCRIPT
    if found is None:
        return Finding(
            "PATH",
            "ok",
            f"`commonplace` is not on PATH; use {own if own.exists() else 'uvx commonplace-mcp'}",
        )
    if own.exists() and Path(found).resolve() != own.resolve() and not _starts_this_package(Path(found)):
        return Finding(
            "PATH",
            "warning",
            f"`commonplace` on PATH is another program: {found}",
            f"Use {own}, or put its folder first: export PATH={own_folder}:$PATH",
        )
    return Finding("PATH", "ok", f"`commonplace` is {found}")


def _starts_this_package(script: Path) -> bool:
    """Whether a script of another environment starts this program too, such as that of pipx or uv."""
    try:
        return b"commonplace.__main__" in script.read_bytes()[:4096]
    except OSError:
        return False


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
        f"{sys.executable} -m pip uninstall commonplace && {sys.executable} -m pip install --force-reinstall {DISTRIBUTION}",
    )
