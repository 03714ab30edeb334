"""One server and one Chromium for all tests of the page; without a Chromium they are skipped, and say so."""

from collections.abc import Iterator

import pytest
from chromium import CHROMIUM, Chromium, start_chromium
from page_stage import PageStage, open_stage


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    if not CHROMIUM:
        pytest.skip("no Chromium found: apt-get install chromium, or see `make browser`")
    with start_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def stage(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageStage]:
    with open_stage(chromium, tmp_path_factory.mktemp("data")) as opened:
        yield opened
