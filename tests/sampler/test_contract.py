"""What the sampler makes of a backend's readings before they count."""

from pathlib import Path

import pytest

from accelwatch.sampler.contract import sound_readings
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.sysfs import is_left_asleep

DEVICE = Device(id="v:1", vendor="v", backend="b", index=0, name="v0")


def sound(groups: set[str]) -> Reading:
    given = Reading(
        device_id=DEVICE.id,
        values={("voltage_volts", "core"): 0.9, ("power_watts",): 5.0},
        absent={("voltage_volts", "soc"): Absence.ERROR, ("energy_joules_total",): Absence.ERROR},
    )
    (reading,) = sound_readings((given,), (DEVICE,), frozenset(groups))
    return reading


def test_quantities_of_a_group_that_is_off_are_left_out_values_and_absences() -> None:
    reading = sound(set())
    assert ("voltage_volts", "core") not in reading.values
    assert ("power_watts",) in reading.values
    assert reading.absent == {("energy_joules_total",): Absence.ERROR}


def test_quantities_of_a_group_that_is_on_stay() -> None:
    reading = sound({"components"})
    assert reading.values["voltage_volts", "core"] == 0.9
    assert reading.absent["voltage_volts", "soc"] is Absence.ERROR


@pytest.mark.parametrize(
    ("status", "bus", "wake", "left"),
    [
        ("suspended", "0000:65:00.0", False, True),
        ("suspending", "0000:65:00.0", False, True),
        ("active", "0000:65:00.0", False, False),
        ("suspended", "0000:65:00.0", True, False),
        ("suspended", None, False, False),
    ],
)
def test_a_device_is_left_asleep(
    tmp_path: Path, status: str, bus: str | None, wake: bool, left: bool
) -> None:
    folder = tmp_path / "sys/bus/pci/devices/0000:65:00.0/power"
    folder.mkdir(parents=True)
    (folder / "runtime_status").write_text(f"{status}\n")
    assert is_left_asleep(tmp_path, bus, wake=wake) is left
