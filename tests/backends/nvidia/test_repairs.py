"""Memory and compute units that wait for a repair or are beyond it, by NVML and by nvidia-smi."""

from collections.abc import Mapping

import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch_nvidia.nvml.nvml import import_library
from accelwatch_nvidia.quantities import functions

from .conftest import Rig
from .test_smi_variants import changed

FLAGS = (
    "memory_repair_pending",
    "memory_repair_failed",
    "memory_unrepairable",
    "sram_error_threshold_exceeded",
    "compute_repair_pending",
)

CASES = [
    ("unrepairable_memory", "memory_unrepairable", Health.FAILED),
    ("sram_threshold_exceeded", "sram_error_threshold_exceeded", Health.FAILED),
    ("tpc_repair_pending", "compute_repair_pending", Health.DEGRADED),
    ("channel_repair_pending", "memory_repair_pending", Health.DEGRADED),
]


def raised(reading: Reading) -> set[str]:
    return {key for key in FLAGS if reading.values[key,]}


def health_of(reading: Reading) -> Health:
    return evaluate_health(DeviceState.OK, reading, (), 0.0).health


@pytest.mark.parametrize(("name", "key", "health"), CASES)
def test_through_nvml(rig: Rig, name: str, key: str, health: Health) -> None:
    scenario = rig.devices(1).set(0, "unrepairable_memory", 0)
    with rig.machine(scenario) as machine:
        (sound,) = machine.read(0)
    assert (raised(sound), health_of(sound)) == (set(), Health.OK)
    with rig.machine(scenario.set(0, name, 1)) as machine:
        (reading,) = machine.read(0)
    assert (raised(reading), health_of(reading)) == ({key}, health)


_ECC = """<ecc_errors>
    <aggregate><sram_threshold_exceeded>{sram_threshold_exceeded}</sram_threshold_exceeded></aggregate>
    <channel_repair_pending>{channel_repair_pending}</channel_repair_pending>
    <tpc_repair_pending>{tpc_repair_pending}</tpc_repair_pending>
    <unrepairable_memory>{unrepairable_memory}</unrepairable_memory>
</ecc_errors>
<remapped_rows><remapped_row_failure>No</remapped_row_failure></remapped_rows>
<fan_speed>"""


def printed(words: Mapping[str, str], other: str = "No") -> Reading:
    all_words = {name: words.get(name, other) for name, _, _ in CASES}
    return changed(("<fan_speed>", _ECC.format(**all_words)))


@pytest.mark.parametrize(("name", "key", "health"), CASES)
def test_through_nvidia_smi(name: str, key: str, health: Health) -> None:
    sound = printed({})
    assert (raised(sound), health_of(sound)) == (set(), Health.OK)
    reading = printed({name: "Yes"})
    assert (raised(reading), health_of(reading)) == ({key}, health)


def test_a_flag_that_is_not_there_is_not_0(rig: Rig) -> None:
    reading = printed({"tpc_repair_pending": "Unknown Error"}, other="N/A")
    assert reading.absent["memory_unrepairable",] is Absence.UNSUPPORTED
    assert reading.absent["sram_error_threshold_exceeded",] is Absence.UNSUPPORTED
    assert reading.absent["compute_repair_pending",] is Absence.ERROR
    with rig.machine(rig.devices(1, "t4")) as machine:
        (reading,) = machine.read(0)
    for key in ("memory_unrepairable", "sram_error_threshold_exceeded", "compute_repair_pending"):
        assert reading.absent[key,] is Absence.UNSUPPORTED


def test_a_binding_older_than_a_call_is_as_a_driver_without_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nvidia-ml-py 12.560, the oldest that is allowed, has none of these."""
    newer = (
        "nvmlDeviceGetMarginTemperature",
        "nvmlDeviceGetRepairStatus",
        "nvmlDeviceGetUnrepairableMemoryFlag_v1",
        "c_nvmlGpuFabricInfo_v3_t",
    )
    assert set(newer) <= {*functions.FUNCTIONS, *functions.STRUCTURES}
    with rig.machine(rig.devices(1)) as machine:
        for name in newer:
            monkeypatch.delattr(import_library(), name)
        (reading,) = machine.read(0)
    assert reading.values["power_watts",] > 0
    assert reading.values["fabric_state_info", "completed"] == 1
    assert reading.values["sram_error_threshold_exceeded",] == 0
    assert reading.absent["compute_repair_pending",] is Absence.UNSUPPORTED
    assert reading.absent["memory_unrepairable",] is Absence.UNSUPPORTED
