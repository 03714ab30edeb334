from collections.abc import Iterator

import nodejs
import pytest
from mcp_servers import FIXTURES, free_port, run_server


@pytest.fixture(scope="session")
def installed() -> None:
    nodejs.install()


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    port = free_port()
    with run_server([*FIXTURES, "--port", str(port)], port) as address:
        yield address
