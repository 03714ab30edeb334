"""Build the wheel and the source distribution, and try the wheel in a clean environment: `make release`.

The trial installs what a user gets: the wheel, and its dependencies as the runtime lock pins them. It starts the
server, calls tools over HTTP, finds a document by its meaning and stops the server. Then pip, pipx and uvx install the
wheel with dependencies that they resolve themselves. Nothing is published.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

import embedding_model
from environment import LOCKS, ROOT

DIST = ROOT / "dist"
PATIENCE_SECONDS = 60
LOOK_AGAIN_SECONDS = 0.1
NOTE = "The walrus rests on the ice."
QUESTION = "marine mammal asleep on frozen water"


def main() -> None:
    wheel = build()
    with tempfile.TemporaryDirectory(prefix="commonplace-release-") as folder:
        python = install(wheel, Path(folder, "environment"))
        with serve(python, Path(folder, "data")) as url:
            title = search_by_meaning(url)
        try_installers(wheel, Path(folder, "installers"))
    megabytes = wheel.stat().st_size / 1e6
    sys.stdout.write(f"{wheel.relative_to(ROOT)} ({megabytes:.0f} MB) works: '{QUESTION}' finds '{title}'.\n")


def build() -> Path:
    """Build both distributions into an empty dist/; return the wheel."""
    if not embedding_model.is_installed():
        sys.exit("The embedding model is missing; run `make setup`.")
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-d", DIST)
    (wheel,) = DIST.glob("*.whl")
    return wheel


def install(wheel: Path, environment: Path) -> Path:
    """Install the wheel with the runtime lock into a new environment; return its interpreter."""
    venv.create(environment)
    python = environment / "bin" / "python"
    uv = Path(sys.executable).with_name("uv")
    for requirements in (["--require-hashes", "-r", LOCKS["runtime"]], [wheel]):
        run(uv, "pip", "install", "--quiet", "--no-deps", "--python", python, *requirements)
    return python


def try_installers(wheel: Path, folder: Path) -> None:
    """Install it as users do, with pip, pipx and uvx, which resolve the dependencies; each starts the program once."""
    uv = Path(sys.executable).with_name("uv")
    venv.create(folder / "pip", with_pip=True)
    python = folder / "pip" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    run(python.with_name("commonplace-mcp"), "--version")
    run(uv, "tool", "run", "--from", wheel, "commonplace-mcp", "--version")
    run(uv, "tool", "run", "pipx", "run", "--spec", wheel, "commonplace-mcp", "--version")


@contextlib.contextmanager
def serve(python: Path, data: Path) -> Iterator[str]:
    """Run the installed server on a free port; yield its URL, and require that it stops with exit code 0."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COMMONPLACE_")}
    command = [str(python.with_name("commonplace")), "serve", "--port", "0", "--data", str(data)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=data.parent, env=environ)
    try:
        assert server.stdout is not None
        yield "http://" + server.stdout.readline().partition("http://")[2].split()[0]
        server.terminate()
        if server.wait(PATIENCE_SECONDS) != 0:
            sys.exit(f"The server stopped with exit code {server.returncode}.")
    finally:
        server.kill()


def search_by_meaning(url: str) -> str:
    """Store a document and find it with none of its words; return its title."""
    session = call(url, "memory_start_session", project="release", claude_instance="release")["session_id"]
    call(url, "memory_store", session_id=session, title="Sea animal", content=NOTE, memory_type="adr")
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        found = call(url, "memory_query", session_id=session, query=QUESTION).get("results")
        if found:
            return str(found[0]["title"])
        time.sleep(LOOK_AGAIN_SECONDS)
    sys.exit(f"'{QUESTION}' finds nothing: search by meaning does not work.")


def call(url: str, operation: str, **arguments: str) -> dict[str, list[dict[str, str]]]:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/api/{operation}", json.dumps(arguments).encode(), headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as reply:  # noqa: S310 - our own server
        return json.load(reply)


def run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
