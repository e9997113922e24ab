"""neuron-monitor names cores, counted through all devices: their devices are the agent's."""

from collections.abc import Mapping

import pytest

from accelwatch.fleet.dialects import read_devices
from accelwatch.fleet.dialects.foreign import ForeignReader
from accelwatch.schema.snapshot import DeviceView

NOW = 1_700_000_000.0
INFO = 'neuron_hardware_info{{neuron_device_count="2",neuroncore_per_device_count="{}"}} 1\n'
ECC = "".join(
    f'hardware_ecc_events_total{{event_type="mem_ecc_corrected",neuron_device_index="{at}"}} 3\n'
    for at in (0, 1)
)


def core(number: int, load: float, tag: str = "367", megabytes: int = 100) -> str:
    labels = f'instance_id="i-0",neuroncore="{number}",runtime_tag="{tag}"'
    memory = f'{labels},memory_location="None"'
    return (
        f"neuroncore_utilization_ratio{{{labels}}} {load}\n"
        f"neuroncore_memory_usage_tensors{{{memory}}} {megabytes}000000\n"
        f"neuroncore_memory_usage_constants{{{memory}}} 1000000\n"
    )


def devices(page: str) -> Mapping[str, DeviceView]:
    return {view.device.name: view for view in read_devices(page, NOW).devices}


def test_cores_are_counted_into_their_devices() -> None:
    page = INFO.format(4) + core(1, 0.5) + core(2, 0.25) + core(7, 1.0)
    listed = devices(page)
    assert {name: (view.device.id, view.device.index) for name, view in listed.items()} == {
        "neuron0": ("neuron:neuron0", 0),
        "neuron1": ("neuron:neuron1", 1),
    }
    first, second = (listed[name].reading.values for name in ("neuron0", "neuron1"))
    # A core that no runtime uses is idle.
    assert (first["utilization_ratio",], second["utilization_ratio",]) == (0.1875, 0.25)
    assert first["core_utilization_ratio", "1"] == 0.5
    assert first["core_utilization_ratio", "2"] == 0.25
    assert second["core_utilization_ratio", "3"] == 1.0
    assert (first["memory_used_bytes",], second["memory_used_bytes",]) == (202e6, 101e6)


def test_runtimes_on_the_cores_of_one_device_add_up() -> None:
    values = devices(INFO.format(2) + core(0, 0.5, "1") + core(1, 0.75, "2"))[
        "neuron0"
    ].reading.values
    assert values["utilization_ratio",] == 0.625
    assert values["memory_used_bytes",] == 202e6


def test_devices_stay_while_no_runtime_uses_a_core() -> None:
    listed = devices(INFO.format(2) + ECC)
    assert list(listed) == ["neuron0", "neuron1"]
    for view in listed.values():
        assert ("utilization_ratio",) not in view.reading.values
        assert not [series for series in view.reading.values if series[0].startswith("ecc_")]


@pytest.mark.parametrize(
    "info",
    ["", INFO.format(0), INFO.format("many"), INFO.format(65), INFO.format(2) + INFO.format(4)],
)
def test_without_the_number_of_cores_a_row_is_a_core(info: str) -> None:
    listed = devices(info + core(0, 0.25) + core(5, 0.5))
    assert {name: view.reading.values["utilization_ratio",] for name, view in listed.items()} == {
        "neuroncore0": 0.25,
        "neuroncore5": 0.5,
    }


def test_machines_with_other_numbers_of_cores_are_distinguished() -> None:
    pages = {count: INFO.format(count) + core(3, 1.0) for count in (2, 4, 8)}
    listed = {count: ForeignReader().read(page, NOW).devices[0] for count, page in pages.items()}
    assert {count: view.device.name for count, view in listed.items()} == {
        2: "neuron1",
        4: "neuron0",
        8: "neuron0",
    }
    assert {count: view.reading.values["utilization_ratio",] for count, view in listed.items()} == {
        2: 0.5,
        4: 0.25,
        8: 0.125,
    }
