"""What the tests of the search engine share."""

import pytest

from patience import wait_until_async


@pytest.fixture
def eventually():
    """Wait until a condition holds that nobody signals, such as a vector that is made in the background."""

    return wait_until_async
