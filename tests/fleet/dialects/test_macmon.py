"""macmon: a Mac in a fleet, through the page that macmon serves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import read_devices
from accelwatch.schema.device import DeviceKind, DeviceState, MemoryKind
from accelwatch.schema.series import series_of
from support.machines.samples import FIXTURES, sample

NOW = 1_700_000_100.0
PAGE = (FIXTURES / "fleet/dialects/macmon.prom").read_text()


def test_a_mac() -> None:
    read = read_devices(PAGE, NOW)
    assert read.dialects == ("macmon",)
    (view,) = read.devices
    expected = {
        "utilization_ratio": 0.875,
        "clock_hertz.graphics": 1.578e9,
        "power_watts": 37.5,
        "power_component_watts.sram": 0.0625,
        "power_component_watts.ane": 0.125,
        "temperature_celsius.gpu": 48.25,
        "memory_size_bytes": 68719476736,
        "memory_used_bytes": 34359738368,
        "fan_speed_rpm.0": 1350,
        "fan_speed_rpm.1": 1400,
    }
    assert view.reading.values == {series_of(path): value for path, value in expected.items()}
    assert (view.device.vendor, view.device.name, view.device.model) == (
        "apple",
        "apple0",
        "Apple M4 Max",
    )
    assert (view.device.kind, view.device.memory_kind) == (DeviceKind.GPU, MemoryKind.SHARED)
    assert view.state is DeviceState.OK
    assert read.node is not None
    assert read.node.reading.values == {
        ("host_cpu_utilization_ratio",): 0.5,
        ("host_memory_size_bytes",): 68719476736,
        ("host_memory_used_bytes",): 34359738368,
        ("host_swap_size_bytes",): 0,
        ("host_swap_used_bytes",): 0,
    }


def test_load_of_an_older_release_is_scaled_and_not_read() -> None:
    older = "\n".join(line for line in PAGE.splitlines() if "active_ratio" not in line)
    read = read_devices(older, NOW)
    (view,) = read.devices
    assert ("utilization_ratio",) not in view.reading.values
    assert view.reading.values["power_watts",] == 37.5


@pytest.mark.parametrize(("number", "absence"), [("0", Absence.ERROR), ("NaN", Absence.ERROR)])
def test_a_temperature_that_is_none(number: str, absence: Absence) -> None:
    read = read_devices(PAGE.replace("48.25", number), NOW)
    reading = read.devices[0].reading
    assert ("temperature_celsius", "gpu") not in reading.values
    assert reading.absent["temperature_celsius", "gpu"] is absence


@pytest.mark.oracle
def test_the_recorded_page() -> None:
    read = read_devices(sample("apple/macmon_metrics.prom").read_bytes(), NOW)
    assert read.dialects == ("macmon",)
    (view,) = read.devices
    assert view.device.model == "Apple M3 Pro"
    assert view.reading.values == {("fan_speed_rpm", "0"): 1234}
    assert read.node is not None
    assert read.node.reading.values == {("host_cpu_utilization_ratio",): 0.092}


@given(st.text(max_size=40), st.integers(0, len(PAGE)), st.integers(0, len(PAGE)))
def test_no_damaged_page_escapes(noise: str, at: int, end: int) -> None:
    for page in (PAGE[:end], PAGE[:at] + noise + PAGE[at:]):
        for view in read_devices(page, NOW).devices:
            share = view.reading.values.get(("utilization_ratio",), 0)
            assert 0 <= share <= 1.01
