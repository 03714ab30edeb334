"""One server and one Chromium for all tests of the page; without a Chromium they are skipped, and say so.

`make test` runs four stories, `make browser` all of them (--long).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import CHROMIUM, Chromium, start_chromium
from page_stage import PageStage, open_stage

SHORT_FORM = (
    "test_change_of_another_client_appears_without_reload",
    "test_card_moves_by_mouse_and_by_key_and_back_by_undo",
    "test_hostile_text_runs_nothing_on_any_view",
    "test_person_answers_an_agent_that_waits",
    "test_types_of_the_scripts_are_right",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    here = Path(__file__).parent
    left_out = [item for item in items if here in item.path.parents and item.name not in SHORT_FORM]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


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
