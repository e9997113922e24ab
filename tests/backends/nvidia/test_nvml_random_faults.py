"""Any mix of failing calls: a typed error or a reading whose values are those of the healthy GPU."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.backend import Request
from accelwatch.base.errors import ReadError
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch_nvidia.quantities.functions import FUNCTIONS
from support.machines.nvml_stand_ins import NvmlScenario

from .conftest import Rig

_NEWEST = {
    "nvmlDeviceGetPciInfo": "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetMemoryInfo": "nvmlDeviceGetMemoryInfo_v2",
}
EXPORTED = sorted({_NEWEST.get(name, name) for name in FUNCTIONS} | {"nvmlDeviceGetFieldValues"})
CODES = (1, 2, 3, 4, 6, 7, 9, 10, 13, 15, 16, 17, 18, 21, 25, 26, 27, 999, 12345)
GROUPS = frozenset({"pools", "pcie", "links", "ecc", "components"})
# Values that a second source gives when the first one fails.
OTHER_SOURCE: dict[Series, set[Number]] = {
    ("power_watts",): {588.39, 629.45},
    ("reset_required",): {0, 1},
    ("memory_used_bytes",): {65740472320},  # the first version counts the reservation as used
}


def readings(scenario: NvmlScenario, root: Path) -> list[Reading]:
    with Rig(root).machine(scenario) as machine:
        device = machine.identify(0)[0]
        return list(machine.backend.read(device, Request(groups=GROUPS)))


@settings(database=None, deadline=None, max_examples=60)
@given(st.dictionaries(st.sampled_from(EXPORTED), st.sampled_from(CODES), max_size=12))
def test_failing_calls_invent_nothing(faults: dict[str, int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (healthy,) = readings(NvmlScenario(root / "healthy").devices(1), root)
        scenario = NvmlScenario(root / "faulty").devices(1)
        for function, code in faults.items():
            scenario.fault(function, f"error:{code}")
        try:
            (reading,) = readings(scenario, root)
        except ReadError:
            return
    for series, value in reading.values.items():
        allowed = OTHER_SOURCE.get(series, set()) | {healthy.values.get(series)}
        assert value in allowed or series[0] == "throttle_active", series
    assert not {s for s in reading.absent if len(s) == 1} & {(s[0],) for s in reading.values}


@pytest.mark.parametrize("code", CODES)
def test_every_call_failing_is_a_typed_error(rig: Rig, code: int) -> None:
    with rig.machine(rig.devices(1)) as machine:
        device = machine.identify(0)[0]
        machine.scenario.fault("*", f"error:{code}", device=0).write()
        try:
            (reading,) = machine.backend.read(device, Request())
        except ReadError:
            return
    assert not reading.values
