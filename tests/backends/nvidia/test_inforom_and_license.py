"""The infoROM and the license of a virtual GPU, by NVML and by nvidia-smi."""

import pytest

from accelwatch.clock import ManualClock
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.health import Health, judge
from accelwatch.schema.reading import Reading
from accelwatch_nvidia import smi_document, smi_mapping
from accelwatch_nvidia.inforom import PACE_S
from smi_documents import Gpu, document

from .conftest import Rig

CORRUPTED = ("inforom_corrupted",)
LICENSE = ("vgpu_license_info",)
GUEST = 2
BLANK = Device(id="nvidia:0", vendor="nvidia", backend="nvidia", index=0, name="nvidia0")
IMAGE = "<inforom_version><img_version>G520.0200.00.05</img_version></inforom_version>"


def health_of(reading: Reading) -> tuple[Health, tuple[str, ...]]:
    found = judge(DeviceState.OK, reading, (), 0.0)
    return found.health, tuple(found.reasons)


def licenses(reading: Reading) -> set[str]:
    return {series[1] for series in reading.values if series[0] == LICENSE[0]}


def printed(status: int | None, *, image: str = IMAGE, after: str = "", more: str = "") -> Reading:
    """What nvidia-smi prints of one GPU, and how it ends."""
    text = document([Gpu(0)]).replace("<fan_speed>", f"{image}{more}<fan_speed>", 1) + after
    (gpu,) = smi_document.parse(text.encode(), status).gpus
    device = smi_mapping.complete_device(BLANK, gpu, None)
    return smi_mapping.read(device, gpu, frozenset())


def test_a_corrupted_inforom_through_nvml(rig: Rig) -> None:
    scenario = rig.devices(2).set(0, "inforom_corrupted", 1).set(1, "inforom_corrupted", 0)
    with rig.machine(scenario) as machine:
        (bad,), (good,) = machine.read(0), machine.read(1)
    assert bad.values[CORRUPTED] == 1
    assert health_of(bad) == (Health.DEGRADED, ("the infoROM is corrupted",))
    assert good.values[CORRUPTED] == 0
    assert health_of(good) == (Health.OK, ())


def test_an_inforom_that_cannot_be_validated_is_not_known(rig: Rig) -> None:
    with rig.machine(rig.devices(1)) as machine:
        (reading,) = machine.read(0)
    assert reading.absent[CORRUPTED] is Absence.UNSUPPORTED
    denied = rig.devices(1).fault("nvmlDeviceValidateInforom", "error:4")
    with rig.machine(denied) as machine:
        (reading,) = machine.read(0)
    assert reading.absent[CORRUPTED] is Absence.PERMISSION


def test_an_inforom_is_validated_once_an_hour(rig: Rig) -> None:
    clock = ManualClock()
    scenario = rig.devices(1).set(0, "inforom_corrupted", 0)
    with rig.machine(scenario, clock=clock) as machine:
        first = machine.read(0, slow=True)[0].values[CORRUPTED]
        scenario.set(0, "inforom_corrupted", 1).write()
        clock.advance(PACE_S - 1)
        soon = machine.read(0, slow=True)[0].values[CORRUPTED]
        clock.advance(1)
        later = machine.read(0, slow=True)[0].values[CORRUPTED]
    assert (first, soon, later) == (0, 0, 1)


def test_a_corrupted_inforom_through_nvidia_smi() -> None:
    bus = smi_document.parse(document([Gpu(0)]).encode()).gpus[0].get("id")
    warning = f"WARNING: infoROM is corrupted at gpu {str(bus)[4:].lower()}\n"
    assert printed(14, after=warning).values[CORRUPTED] == 1
    assert printed(0).values[CORRUPTED] == 0


def test_nvidia_smi_says_nothing_of_an_inforom() -> None:
    other = "WARNING: infoROM is corrupted at gpu 0000:ff:00.0\n"
    assert printed(14, after=other).absent[CORRUPTED] is Absence.UNSUPPORTED
    assert printed(None).absent[CORRUPTED] is Absence.UNSUPPORTED
    none = IMAGE.replace("G520.0200.00.05", "N/A")
    assert printed(0, image=none).absent[CORRUPTED] is Absence.UNSUPPORTED
    assert printed(0, image="").absent[CORRUPTED] is Absence.UNSUPPORTED


def guest(rig: Rig, *features: tuple[int, int]) -> Reading:
    """Reading of a guest that lists features, each with (licensed, enabled)."""
    scenario = rig.devices(1).set(0, "virtualization_mode", GUEST)
    for number, (licensed, enabled) in enumerate(features):
        scenario.set(0, f"license.{number}.licensed", licensed)
        scenario.set(0, f"license.{number}.enabled", enabled)
    with rig.machine(scenario) as machine:
        (reading,) = machine.read(0)
    return reading


@pytest.mark.parametrize(
    ("features", "word", "health"),
    [
        ([(0, 1)], "unlicensed", Health.DEGRADED),
        ([(1, 1)], "licensed", Health.OK),
        ([(4, 1)], "licensed", Health.OK),
        ([(0, 1), (1, 1)], "licensed", Health.OK),
        ([(1, 0)], "licensed", Health.OK),
        ([(0, 0), (0, 1)], "unlicensed", Health.DEGRADED),
    ],
)
def test_the_license_of_a_guest_through_nvml(
    rig: Rig, features: list[tuple[int, int]], word: str, health: Health
) -> None:
    reading = guest(rig, *features)
    assert licenses(reading) == {word}
    assert health_of(reading)[0] is health


def test_a_gpu_that_is_no_guest_needs_no_license(rig: Rig) -> None:
    scenario = rig.devices(1).set(0, "virtualization_mode", 1).set(0, "license.0.licensed", 0)
    with rig.machine(scenario) as machine:
        (reading,) = machine.read(0)
    assert reading.absent[LICENSE] is Absence.UNSUPPORTED


def test_a_guest_without_an_enabled_feature_needs_no_license(rig: Rig) -> None:
    assert guest(rig, (0, 0)).absent[LICENSE] is Absence.UNSUPPORTED
    assert guest(rig).absent[LICENSE] is Absence.UNSUPPORTED


def test_a_license_that_cannot_be_read_is_not_known(rig: Rig) -> None:
    scenario = rig.devices(1).set(0, "virtualization_mode", GUEST)
    scenario.fault("nvmlDeviceGetGridLicensableFeatures_v4", "error:4")
    with rig.machine(scenario) as machine:
        (reading,) = machine.read(0)
    assert reading.absent[LICENSE] is Absence.PERMISSION


def product(status: str, mode: str = "VGPU", name: str = "vgpu_software_licensed_product") -> str:
    return (
        f"<gpu_virtualization_mode><virtualization_mode>{mode}</virtualization_mode>"
        f"</gpu_virtualization_mode><{name}><license_status>{status}</license_status></{name}>"
    )


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ("Licensed (Expiry: 2026-7-7 16:1:44 GMT)", "licensed"),
        ("Licensed", "licensed"),
        ("Unlicensed (Restricted)", "unlicensed_restricted"),
        ("Unlicensed (Unrestricted)", "unlicensed_unrestricted"),
        ("Unlicensed", "unlicensed"),
    ],
)
def test_the_license_of_a_guest_through_nvidia_smi(status: str, word: str) -> None:
    assert licenses(printed(0, more=product(status))) == {word}
    assert licenses(printed(0, more=product(status, name="grid_licensed_product"))) == {word}


def test_nvidia_smi_says_nothing_of_a_license() -> None:
    assert printed(0).absent[LICENSE] is Absence.UNSUPPORTED
    bare = printed(0, more=product("Unlicensed", mode="Pass-Through"))
    assert bare.absent[LICENSE] is Absence.UNSUPPORTED
    assert printed(0, more=product("N/A")).absent[LICENSE] is Absence.UNSUPPORTED
    assert printed(0, more=product("Perhaps")).absent[LICENSE] is Absence.ERROR
