"""How the soak judges its figures; the soak itself is `make soak`."""

import random

import pytest

from nemesis.soak import Series


def sampled(grows_in_an_hour: float, scatters: float = 0.0) -> Series:
    """A figure around 100 that is sampled for ten minutes, with a warm-up that grows fast."""
    chance, series = random.Random(1), Series("memory", "MB", 0.10, 8)
    for second in range(0, 600, 2):
        warm_up = min(second, 100)
        noise = chance.uniform(-scatters, scatters)
        series.add(second, warm_up + grows_in_an_hour * second / 3600 + noise)
    return series


@pytest.mark.parametrize(("grows_in_an_hour", "scatters"), [(0, 0), (15, 0), (-50, 0), (0, 20), (15, 20)])
def test_small_growth_and_scatter_are_flat(grows_in_an_hour: float, scatters: float):
    assert sampled(grows_in_an_hour, scatters).is_flat


@pytest.mark.parametrize(("grows_in_an_hour", "scatters"), [(150, 0), (300, 2)])
def test_what_grows_is_told(grows_in_an_hour: float, scatters: float):
    assert not sampled(grows_in_an_hour, scatters).is_flat
