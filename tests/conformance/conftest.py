from collections.abc import Iterator

import mcp_programs
import pytest
from mcp_servers import FIXTURES, free_port, run_server

import nodejs


@pytest.fixture(scope="session")
def installed() -> None:
    nodejs.install_packages(mcp_programs.HERE)


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    port = free_port()
    with run_server([*FIXTURES, "--port", str(port)], port) as address:
        yield address
