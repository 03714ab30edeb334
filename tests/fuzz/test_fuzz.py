"""Random input on every surface: the server stays up, answers in the shape of refusals, and keeps no memory.

`make fuzz` runs this for minutes with a new seed; `make test` runs a short form with a fixed one, and replays `corpus/`,
which keeps every request that once broke something.
"""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz_server import FuzzRequest, FuzzServer, run_fuzzed_server
from fuzz_targets import WireFuzzer

import product  # noqa: F401 - tells that these tests start a process

CORPUS = Path(__file__).with_name("corpus")
_SHORT_ROUNDS = 40
_MEMORY_GROWTH = 1.15


@pytest.fixture(scope="module")
def fuzz_seconds(pytestconfig: pytest.Config) -> int:
    return int(pytestconfig.getoption("--fuzz-seconds"))


@pytest.fixture(scope="module")
def seed(fuzz_seconds: int) -> int:
    return int(os.environ.get("FUZZ_SEED", "15" if not fuzz_seconds else str(random.randrange(2**31))))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FuzzServer]:
    with run_fuzzed_server(tmp_path_factory.mktemp("fuzz")) as running:
        yield running


@pytest.fixture(scope="module")
def fuzzer(server: FuzzServer, seed: int) -> WireFuzzer:
    made = WireFuzzer(server, seed)
    made.prepare()
    return made


@pytest.mark.usefixtures("fuzzer")
def test_requests_that_once_broke_something_are_answered(server: FuzzServer):
    for path in sorted(CORPUS.glob("*.json")):
        server.send(FuzzRequest.from_json(path.read_text()))
    assert server.find_bugs_in_log() == []


def test_random_requests_are_answered(server: FuzzServer, fuzzer: WireFuzzer, fuzz_seconds: int, seed: int):
    print(f"FUZZ_SEED={seed}")  # noqa: T201 - to repeat the run  # noqa: T201 - to repeat the run
    send_rounds(server, fuzzer, fuzz_seconds / 2)
    warm = server.memory_bytes()
    send_rounds(server, fuzzer, fuzz_seconds / 2)
    print(f"{server.sent} requests, answers by status: {dict(sorted(server.statuses.items()))}")  # noqa: T201 - the result of a long run
    assert server.call("memory_health")["status"] == "ok"
    assert server.find_bugs_in_log() == []
    assert server.memory_bytes() < _MEMORY_GROWTH * warm


def send_rounds(server: FuzzServer, fuzzer: WireFuzzer, seconds: float) -> None:
    """One request of every target, again and again."""
    ends, rounds = time.monotonic() + seconds, 0
    while rounds < _SHORT_ROUNDS or time.monotonic() < ends:
        for name, make in fuzzer.targets.items():
            send_and_keep(server, make(), name)
        rounds += 1
        if rounds % 25 == 0:
            fuzzer.renew_session()


def send_and_keep(server: FuzzServer, request: FuzzRequest, target: str) -> None:
    """Send it; a request that breaks something is kept in the corpus, so that it is sent again from now on."""
    try:
        server.send(request)
    except AssertionError:
        name = f"{target.replace(' ', '-')}-{abs(hash(request.body)) % 10**8:08d}.json"
        (CORPUS / name).write_text(request.to_json() + "\n")
        raise
