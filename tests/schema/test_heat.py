"""Hot is what a device's own limits say; without them nothing is said."""

import pytest

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.status.heat import MARGIN_CELSIUS, is_hot, near_limit, within_margin


def values(celsius: Number | None, **limits: Number) -> dict[Series, Number]:
    """A sensor and its limits."""
    found: dict[Series, Number] = {
        ("temperature_limit_celsius", "gpu", name): limit for name, limit in limits.items()
    }
    return found if celsius is None else {**found, ("temperature_celsius", "gpu"): celsius}


def test_a_card_above_its_own_limit_is_hot() -> None:
    assert is_hot(values(91, slowdown=89, shutdown=92)) is True


@pytest.mark.parametrize("limit", ["slowdown", "shutdown"])
def test_near_is_a_margin(limit: str) -> None:
    assert is_hot(values(90 - MARGIN_CELSIUS, **{limit: 90})) is True
    assert is_hot(values(90 - MARGIN_CELSIUS - 0.1, **{limit: 90})) is False


def test_without_a_limit_or_a_temperature_it_is_not_known() -> None:
    assert is_hot(values(99)) is None
    assert is_hot(values(None, slowdown=89)) is None
    assert is_hot(values(99, max_operating=87)) is None
    assert near_limit(None, 89) is None
    assert near_limit(99, None) is None


def test_another_sensor_has_its_own_limit() -> None:
    cool = values(50, slowdown=89)
    memory: dict[Series, Number] = {("temperature_limit_celsius", "memory", "slowdown"): 95}
    assert is_hot({**cool, **memory, ("temperature_celsius", "memory"): 94}) is True
    assert is_hot({**cool, **memory, ("temperature_celsius", "memory"): 60}) is False
    assert is_hot({**cool, **memory}) is False


def test_a_device_that_reports_only_how_far_it_is() -> None:
    assert is_hot({("temperature_headroom_celsius",): MARGIN_CELSIUS}) is True
    assert is_hot({("temperature_headroom_celsius",): 20.0}) is False
    assert within_margin(-1) is True
    assert within_margin(None) is None
