"""python -m bench.hooks: how long an agent waits for its hooks, compared with the bare interpreter."""

import argparse
import asyncio
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench.__main__ import free_port, running_server
from bench.tls_relay import TlsRelay
from commonplace.client.link import remote

HOOK = [sys.executable, "-m", "commonplace", "hook", "claude"]
FILE = "src/cart.py"


def build_event(root: Path, session: str, event: str, **more: object) -> bytes:
    return json.dumps({"session_id": session, "cwd": str(root), "hook_event_name": event, **more}).encode()


def build_edit_event(root: Path, session: str, file: str = FILE) -> bytes:
    return build_event(
        root, session, "PreToolUse", tool_name="Edit", tool_input={"file_path": str(root / file)}
    )


def run_hook(command: list[str], environ: dict[str, str], given: bytes) -> tuple[float, float, bytes]:
    before, worked = time.perf_counter(), read_child_cpu_seconds()
    done = subprocess.run(command, input=given, env=environ, capture_output=True, check=True, timeout=60)
    return 1e3 * (time.perf_counter() - before), 1e3 * (read_child_cpu_seconds() - worked), done.stdout


def read_child_cpu_seconds() -> float:
    """CPU seconds of child processes that ended; unlike wall time they do not depend on the machine's load."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_row(
    what: str, command: list[str], environ: dict[str, str], given: bytes, rounds: int, said: bytes
) -> None:
    """The answer is checked too: a hook that does nothing would be fast."""
    waits, works = [], []
    for _ in range(rounds):
        waited, worked, answer = run_hook(command, environ, given)
        assert said in answer if said else not answer, answer
        waits.append(waited)
        works.append(worked)
    waits.sort()
    figures = (statistics.median(waits), waits[int(0.95 * (rounds - 1))], waits[0], statistics.median(works))
    print(f"| {what:44} |" + "".join(f" {figure:7.1f} |" for figure in figures))


def print_head(what: str) -> None:
    print(f"| {what:44} |     p50 |     p95 |   least | CPU p50 |")
    print(f"|{'-' * 46}|" + "--------:|" * 4)


def measure_local(folder: str, root: Path, port: int, rounds: int) -> None:
    here = os.environ | {"COMMONPLACE_HOME": f"{folder}/home", "COMMONPLACE_URL": f"http://127.0.0.1:{port}"}
    edit, denied = build_edit_event(root, "alice"), build_edit_event(root, "bob")
    run_hook(HOOK, here, build_event(root, "alice", "SessionStart"))
    run_hook(HOOK, here, edit)
    run_hook(HOOK, here, build_event(root, "bob", "SessionStart"))
    print_row("before an edit, lease taken or renewed", HOOK, here, edit, rounds, b"")
    print_row("before an edit, held by another: denied", HOOK, here, denied, rounds, b'"deny"')
    touched = json.dumps(json.loads(edit) | {"hook_event_name": "PostToolUse"}).encode()
    run_hook(HOOK, here, touched)  # brings the news that another one wants the file
    print_row("after an edit, reported", HOOK, here, touched, rounds, b"")
    again = build_event(root, "alice", "SessionStart", source="compact")
    print_row("session start after a compaction", HOOK, here, again, rounds, b"additionalContext")


SHELL_LINES = ("ls -la", "git status", "npm test", "make test", "echo 'git'", "git add src/cart.py")


def measure_shell(folder: str, root: Path, port: int, rounds: int) -> None:
    """What looking at a shell command costs, in CPU, as a ratio to the hook that has nothing to look at."""
    here = os.environ | {"COMMONPLACE_HOME": f"{folder}/home", "COMMONPLACE_URL": f"http://127.0.0.1:{port}"}
    (root / "Makefile").write_text("test:\n\techo tested\n\nrelease:\n\tgit push\n", encoding="utf-8")
    works: dict[str, list[float]] = {line: [] for line in SHELL_LINES}
    for _ in range(rounds):
        for line, seen in works.items():
            shell = build_event(root, "alice", "PreToolUse", tool_name="Bash", tool_input={"command": line})
            seen.append(run_hook(HOOK, here, shell)[1])
    bare = statistics.median(works["ls -la"])
    print()
    print(f"| {'before the shell command':44} |  CPU ms | to ls |")
    print(f"|{'-' * 46}|" + "--------:|------:|")
    for line, seen in works.items():
        print(f"| {line:44} | {statistics.median(seen):7.1f} | {statistics.median(seen) / bare:5.2f} |")


RADAR_FILES, RADAR_CHANGED = 1_000, 20


def measure_radar(folder: str, port: int, rounds: int) -> None:
    """What one look of the radar costs: two working trees, with nothing and with something changed in each."""
    home = os.environ | {"COMMONPLACE_HOME": f"{folder}/radar", "COMMONPLACE_URL": f"http://127.0.0.1:{port}"}
    here = home | {"COMMONPLACE_HOOKS_RADAR": "off"}
    shop, tree = Path(folder, "orchard"), Path(folder, "orchard-tree")
    names = [f"src/part{number}.py" for number in range(RADAR_FILES)]
    make_trees(shop, tree, names)
    for root, session in ((shop, "ann"), (tree, "ben")):
        run_hook(HOOK, here, build_event(root, session, "SessionStart"))
    command = [*HOOK[:-1], "radar", "claude", "ann", str(shop)]
    clean = statistics.median(run_hook(command, here, b"")[1] for _ in range(rounds))
    for root, step in ((shop, 1), (tree, 2)):
        for name in names[: RADAR_CHANGED * step : step]:
            (root / name).write_text(f"def add(a, b):\n    return a + b + {step}\n", encoding="utf-8")
    changed = statistics.median(run_hook(command, here, b"")[1] for _ in range(rounds))
    alone = statistics.median(run_hook([*HOOK[:-1], "radar"], here, b"")[1] for _ in range(rounds))
    print()
    print(
        f"radar, two working trees of {RADAR_FILES} files, CPU ms: {clean - alone:.0f} with nothing changed,"
    )
    print(
        f"{changed - alone:.0f} with {RADAR_CHANGED} files changed in each; its start alone takes {alone:.0f}"
    )


def make_trees(shop: Path, tree: Path, names: list[str]) -> None:
    subprocess.run(["git", "init", "-q", str(shop)], check=True)
    for name in names:
        (shop / name).parent.mkdir(exist_ok=True)
        (shop / name).write_text(f"def add(a, b):\n    return a + b  # {name}\n", encoding="utf-8")
    author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    for words in (
        ["add", "."],
        [*author, "commit", "-qm", "all"],
        ["worktree", "add", "-q", "-b", "b", str(tree)],
    ):
        subprocess.run(["git", *words], cwd=shop, check=True)


RULES_FILE = Path(__file__).parents[1] / "tests" / "rules_broken.json"


def add_rules(folder: str) -> int:
    """Twenty rules, set by the operator of the server."""
    rules = json.loads(RULES_FILE.read_text(encoding="utf-8"))
    url, token = (
        json.loads(Path(folder, "data", "server.json").read_bytes())[name] for name in ("url", "token")
    )
    for rule in rules:
        values = {
            "action": "set",
            "scope": "shop",
            **{name: rule[name] for name in ("name", "rule", "enforce")},
        }
        remote.call_operation(remote.RemoteServer(url, token), "memory_guidelines", values, 10)
    return len(rules)


def forget_rules(folder: Path) -> None:
    """As if there were none; the version stays, so that they do not come again."""
    for cache in folder.glob("*.json"):
        version = json.loads(cache.read_bytes())["version"]
        cache.write_text(json.dumps({"version": version, "rules": []}), encoding="utf-8")


def measure_rules(folder: str, root: Path, port: int, rounds: int) -> None:
    """What twenty rules add to each hook, in CPU: the same events in turn without rules and with them."""
    homes = {name: f"{folder}/home-{name}" for name in ("bare", "rules")}
    here = {
        name: os.environ | {"COMMONPLACE_HOME": home, "COMMONPLACE_URL": f"http://127.0.0.1:{port}"}
        for name, home in homes.items()
    }
    events = {
        "before an edit, lease renewed": build_edit_event(root, "rita"),
        **{
            f"before the shell command {line}": build_event(
                root, "rita", "PreToolUse", tool_name="Bash", tool_input={"command": line}
            )
            for line in ("ls -la", "git status", "npm test", "echo $HOME")
        },
    }
    run_hook(HOOK, here["bare"], build_event(root, "rita", "SessionStart"))
    run_hook(HOOK, here["bare"], events["before an edit, lease renewed"])
    count = add_rules(folder)
    run_hook(HOOK, here["rules"], build_event(root, "rita", "SessionStart"))
    print()
    print(f"| CPU ms with {count} rules that do not fire        | without |    with | ratio |")
    print(f"|{'-' * 46}|" + "--------:|" * 2 + "------:|")
    for what, given in events.items():
        works: dict[str, list[float]] = {"bare": [], "rules": []}
        for _ in range(rounds):
            forget_rules(Path(homes["bare"], "rules"))
            for name, seen in works.items():
                seen.append(run_hook(HOOK, here[name], given)[1])
        bare, ruled = (statistics.median(works[name]) for name in ("bare", "rules"))
        print(f"| {what:44} | {bare:7.1f} | {ruled:7.1f} | {ruled / bare:5.2f} |")


def measure_remote(folder: str, root: Path, port: int, rounds: int) -> None:
    """Through TLS with a round trip of 0, 50 and 150 ms: each hook with its own connection, then through the keeper."""
    for milliseconds in (0, 50, 150):
        with running_relay(port, milliseconds / 1e3, Path(folder)) as relay:
            print()
            print_head(f"over TLS, round trip {milliseconds} ms")
            for what, minutes in (("cold", "0"), ("warm", "10")):
                home = Path(folder, f"{what}-{milliseconds}")
                far = os.environ | {
                    "COMMONPLACE_HOME": str(home),
                    "COMMONPLACE_URL": relay.url,
                    "COMMONPLACE_CA_FILE": str(relay.ca_file),
                    "COMMONPLACE_HOOKS_KEEPER": minutes,
                }
                _measure_far(what, f"{what}{milliseconds}", far, root, rounds)
                (home / "keeper.sock").unlink(missing_ok=True)


def _measure_far(what: str, name: str, far: dict[str, str], root: Path, rounds: int) -> None:
    ann, ben = f"ann-{name}", f"ben-{name}"
    file = f"src/{name}.py"
    start = build_event(root, ann, "SessionStart")
    run_hook(HOOK, far, start)
    run_hook(HOOK, far, build_edit_event(root, ann, file))
    run_hook(HOOK, far, build_event(root, ben, "SessionStart"))
    again = build_event(root, ann, "SessionStart", source="compact")
    edit, denied = build_edit_event(root, ann, file), build_edit_event(root, ben, file)
    print_row(f"{what}: session start, two calls", HOOK, far, again, rounds, b"additionalContext")
    print_row(f"{what}: before an edit, one call", HOOK, far, edit, rounds, b"")
    print_row(f"{what}: before an edit, denied, two calls", HOOK, far, denied, rounds, b'"deny"')
    run_hook(HOOK, far, build_event(root, ann, "SessionEnd"))


@contextlib.contextmanager
def running_relay(port: int, round_trip_seconds: float, folder: Path) -> Iterator[TlsRelay]:
    """In a thread, since the hooks run in this one."""
    relay, started, ended = TlsRelay(port, round_trip_seconds, folder), threading.Event(), threading.Event()

    async def relay_until_ended() -> None:
        async with relay.run():
            started.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=lambda: asyncio.run(relay_until_ended()))
    thread.start()
    started.wait()
    try:
        yield relay
    finally:
        ended.set()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        root, port = Path(folder) / "shop", free_port()
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        away = os.environ | {"COMMONPLACE_HOME": f"{folder}/home", "COMMONPLACE_URL": "http://127.0.0.1:9"}
        print_head(f"milliseconds, {rounds} runs each")
        print_row("interpreter alone", [sys.executable, "-c", "pass"], away, b"", rounds, b"")
        run_hook(HOOK, away, build_edit_event(root, "nobody"))
        print_row("before an edit, server away", HOOK, away, build_edit_event(root, "nobody"), rounds, b"")
        with running_server(
            port, "-m", "commonplace", "serve", "--port", str(port), "--data", f"{folder}/data"
        ):
            measure_local(folder, root, port, rounds)
            measure_shell(folder, root, port, rounds)
            measure_radar(folder, port, rounds)
            measure_rules(folder, root, port, rounds)
            measure_remote(folder, root, port, rounds)


if __name__ == "__main__":
    main()
