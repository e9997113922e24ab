"""Pages of exporters under fixtures/fleet/dialects, and what a test expects in them."""

from typing import Any

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import Foreign, read_devices
from accelwatch.schema.series import series_of
from accelwatch.schema.snapshot import DeviceView
from support.machines.samples import FIXTURES

NOW = 1_700_000_100.0


def foreign(name: str) -> Foreign:
    return read_devices((FIXTURES / "fleet" / "dialects" / f"{name}.prom").read_text(), NOW)


def find(read: Foreign, name: str) -> DeviceView:
    return next(view for view in read.devices if view.device.name == name)


def holds(view: DeviceView, **expected: Any) -> None:
    """Values by path, with `__` for a dot; an Absence for what is not there."""
    reading = view.reading
    for path, value in expected.items():
        series = series_of(path.replace("__", "."))
        if isinstance(value, Absence):
            assert series not in reading.values, path
            assert reading.absent.get(series, reading.absent.get(series[:1])) is value, path
        else:
            assert reading.values[series] == value, path
