"""The infoROM and the license of a virtual GPU, by NVML and by nvidia-smi."""

import threading
import time
from collections.abc import Sequence

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch_nvidia.quantities.inforom import PACE_S, RETRY_S
from accelwatch_nvidia.smi import document as smi_document
from accelwatch_nvidia.smi import identity as smi_identity
from accelwatch_nvidia.smi import mapping as smi_mapping
from support.machines.smi_documents import Gpu, document

from .conftest import Rig

CORRUPTED = ("inforom_corrupted",)
LICENSE = ("vgpu_license_info",)
GUEST = 2
VALIDATION = "nvmlDeviceValidateInforom"
BLANK = Device(id="nvidia:0", vendor="nvidia", backend="nvidia", index=0, name="nvidia0")
IMAGE = "<inforom_version><img_version>G520.0200.00.05</img_version></inforom_version>"


def health_of(reading: Reading) -> tuple[Health, tuple[str, ...]]:
    found = evaluate_health(DeviceState.OK, reading, (), 0.0)
    return found.health, tuple(found.reasons)


def licenses(reading: Reading) -> set[str]:
    return {series[1] for series in reading.values if series[0] == LICENSE[0]}


def validations(rig: Rig) -> int:
    """How often it was called so far, in this process."""
    return int(rig.library.standin_calls(VALIDATION.encode(), 0))


def printed(status: int | None, *, image: str = IMAGE, after: str = "", more: str = "") -> Reading:
    """What nvidia-smi prints of one GPU, and how it ends."""
    text = document([Gpu(0)]).replace("<fan_speed>", f"{image}{more}<fan_speed>", 1) + after
    (gpu,) = smi_document.parse(text.encode(), status).gpus
    device = smi_identity.complete_device(BLANK, gpu, None)
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
    denied = rig.devices(1).fault(VALIDATION, "error:4")
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


@pytest.mark.parametrize("corrupted", [0, 1])
def test_validations_are_one_an_hour_however_often_the_gpu_is_read(
    rig: Rig, corrupted: int
) -> None:
    clock = ManualClock()
    with rig.machine(rig.devices(1).set(0, "inforom_corrupted", corrupted), clock=clock) as machine:
        before = validations(rig)
        for _ in range(3 * 60):
            machine.read(0)
            clock.advance(PACE_S / 60)
        assert validations(rig) == before + 3


@pytest.mark.parametrize("code", [4, 10, 999])
def test_a_validation_without_a_result_is_retried_soon(rig: Rig, code: int) -> None:
    clock = ManualClock()
    scenario = rig.devices(1).set(0, "inforom_corrupted", 1)
    scenario.fault(VALIDATION, f"error:{code},first:1")
    with rig.machine(scenario, clock=clock) as machine:
        assert CORRUPTED in machine.read(0, slow=False)[0].absent
        clock.advance(RETRY_S - 1)
        assert CORRUPTED in machine.read(0, slow=False)[0].absent
        clock.advance(1)
        assert machine.read(0, slow=False)[0].values[CORRUPTED] == 1


def test_an_unsupported_validation_is_not_retried_soon(rig: Rig) -> None:
    clock = ManualClock()
    with rig.machine(rig.devices(1), clock=clock) as machine:
        before = validations(rig)
        machine.read(0)
        clock.advance(RETRY_S)
        machine.read(0)
        assert validations(rig) == before + 1


def test_a_single_reading_validates_the_inforom_only_for_its_group(rig: Rig) -> None:
    scenario = rig.devices(1).set(0, "inforom_corrupted", 1)
    with rig.machine(scenario, one_shot=True) as machine:
        before = validations(rig)
        plain = machine.read(0)[0]
        assert validations(rig) == before
        reading = machine.read(0, "ecc")[0]
    assert plain.absent[CORRUPTED] is Absence.NOT_COLLECTED
    assert reading.values[CORRUPTED] == 1


def test_the_numbers_do_not_wait_for_the_inforom(rig: Rig) -> None:
    scenario = rig.devices(1).set(0, "inforom_corrupted", 1)
    early: list[Reading] = []
    validated: list[int] = []

    def numbers(readings: Sequence[Reading]) -> None:
        early.extend(readings)
        validated.append(validations(rig))

    with rig.machine(scenario) as machine:
        before = validations(rig)
        last = machine.read(0, numbers=numbers)[0]
        again = machine.read(0, numbers=numbers)[0]
    assert validated == [before, before + 1]
    assert early[0].absent[CORRUPTED] is Absence.NOT_COLLECTED
    assert [reading.values[CORRUPTED] for reading in (last, early[1], again)] == [1, 1, 1]


def test_without_processes_the_inforom_is_validated_too(rig: Rig) -> None:
    with rig.machine(rig.devices(1).set(0, "inforom_corrupted", 1)) as machine:
        assert machine.read(0, processes=False)[0].values[CORRUPTED] == 1


def test_a_hung_validation_is_not_started_a_second_time(rig: Rig) -> None:
    clock = ManualClock()
    scenario = rig.devices(1).set(0, "inforom_corrupted", 1)
    scenario.fault(VALIDATION, "stall,first:1")
    with rig.machine(scenario, clock=clock) as machine:
        (device,) = machine.identify(0)
        before = validations(rig)
        given = threading.Event()
        request = Request(numbers=lambda _: given.set())
        thread = threading.Thread(target=machine.backend.read, args=(device, request))
        thread.start()
        try:
            assert given.wait(60)
            while validations(rig) == before and thread.is_alive():
                time.sleep(0.001)
            clock.advance(PACE_S)
            beside = machine.backend.read(device, Request(processes=False))[0]
            assert beside.absent[CORRUPTED] is Absence.NOT_COLLECTED
        finally:
            scenario.heal(VALIDATION).write()
            thread.join(60)
        assert machine.read(0, processes=False)[0].values[CORRUPTED] == 1


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
