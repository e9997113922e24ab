"""Masks and codes of exporters: bits of DCGM's reasons are flags, codes of Ascend are put in words."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.config.model import RuleSettings
from accelwatch.expr.vocabulary.pattern import MAX_SUBJECT
from accelwatch.fleet.dialects import read_devices
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import DeviceView
from support.fleet.two_nodes import TwoNodes

_DCGM = 'gpu="0",UUID="GPU-5ca1ab1e-0000-4000-8000-000000000000",device="nvidia0"'
_NPU = 'id="0",vdie_id="5CA1AB1E-00000001-00000002-00000003-00000004",pcie_bus_info="0000:01:00.0"'


def dcgm(family: str, mask: int) -> DeviceView:
    page = f"DCGM_FI_DEV_GPU_TEMP{{{_DCGM}}} 50\n{family}{{{_DCGM}}} {mask}\n"
    (view,) = read_devices(page, 1e9).devices
    return view


def ascend(family: str, value: int) -> DeviceView:
    page = f"npu_chip_info_temperature{{{_NPU}}} 50\nnpu_chip_info_{family}{{{_NPU}}} {value}\n"
    (view,) = read_devices(page, 1e9).devices
    return view


@pytest.mark.parametrize(
    "family", ["DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"]
)
@pytest.mark.parametrize(
    ("mask", "reasons"),
    [
        (0x0, set()),
        (0x1, set()),
        (0x4, {"power"}),
        (0x2, {"clock_setting"}),
        (0x100, {"clock_setting"}),
        (0x8, {"other"}),
        (0x48, {"thermal_hardware"}),
        (0x88, {"power_brake"}),
        (0x24, {"power", "thermal_software"}),
        (0x10, {"sync_boost"}),
    ],
)
def test_each_reason_is_a_flag(family: str, mask: int, reasons: set[str]) -> None:
    values = dcgm(family, mask).reading.values
    flags = {series[1]: value for series, value in values.items() if series[0] == "throttle_active"}
    assert {name for name, value in flags.items() if value} == reasons
    assert len(flags) == 7


@pytest.mark.parametrize("name", ["INFOROM_CONFIG_VALID", "INFOROM_VALID"])
@pytest.mark.parametrize(
    ("valid", "corrupted", "health"), [(1, 0, Health.OK), (0, 1, Health.DEGRADED)]
)
def test_an_inforom_that_is_not_valid_is_corrupted(
    name: str, valid: int, corrupted: int, health: Health
) -> None:
    view = dcgm(f"DCGM_FI_DEV_{name}", valid)
    assert view.reading.values["inforom_corrupted",] == corrupted
    assert view.health is health


@pytest.mark.parametrize("blank", [2, 2**63 - 16])
def test_an_inforom_that_was_not_validated_is_not_known(blank: int) -> None:
    values = dcgm("DCGM_FI_DEV_INFOROM_CONFIG_VALID", blank).reading.values
    assert ("inforom_corrupted",) not in values


def test_the_network_of_an_ascend_npu() -> None:
    assert ascend("network_status", 0).reading.values["fabric_state_info", "unhealthy"] == 1
    values = ascend("network_status", 1).reading.values
    assert not [series for series in values if series[0] == "fabric_state_info"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (2162169857, ("npu-exporter reports error code 80E01801",)),
        (0, ()),
        (4294967295, ()),
        (-1, ()),
    ],
)
def test_the_error_code_of_an_ascend_npu(code: int, expected: tuple[str, ...]) -> None:
    notes = ascend("error_code", code).reading.notes
    assert tuple(note for note in notes if "error code" in note) == expected


def test_the_error_codes_of_an_unhealthy_npu_stand_in_its_health() -> None:
    codes = {"error_code": 2162169857, "error_code_1": 2161737737}
    page = "".join(
        f"npu_chip_info_{family}{{{_NPU}}} {value}\n"
        for family, value in {"health_status": 0, **codes}.items()
    )
    (view,) = read_devices(page, 1e9).devices
    assert view.health_reasons == (
        "the exporter reports failed (error codes 80E01801 and 80D98009)",
    )


@pytest.mark.parametrize(
    ("many", "codes"),
    [
        (1, "npu-exporter reports error code 80E01801"),
        (3, "error codes 80E01801, 80E01802 and 80E01803"),
        (4, "error codes 80E01801, 80E01802, 80E01803 and 80E01804"),
        (5, "error codes 80E01801, 80E01802, 80E01803, 80E01804 and 1 more"),
        (16, "error codes 80E01801, 80E01802, 80E01803, 80E01804 and 12 more"),
    ],
)
def test_however_many_codes_an_npu_has_a_rule_can_match_them(many: int, codes: str) -> None:
    (view,) = read_devices(_failed_npu(many), 1e9).devices
    (reason,) = view.health_reasons
    assert reason == f"the exporter reports failed ({codes})"
    assert len(reason) <= MAX_SUBJECT
    assert sum("error code" in note for note in view.reading.notes) == many


def test_an_npu_with_sixteen_codes_is_an_incident(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        site = TwoNodes()
        runner = RuleRunner(FleetEvaluator(site.fleet), RuleSettings(packs=("device",)), tmp_path)
        await runner.start()
        (view,) = read_devices(_failed_npu(16), 1e9).devices
        for _ in range(12):
            site.report("a", view)
            await runner.tick()
            site.clock.advance(20.0)
        await runner.stop()
        return [incident.rule for incident in runner.open if incident.entity.device]

    assert asyncio.run(scenario()) == ["device.exporter.failed"]


def _failed_npu(codes: int) -> str:
    numbers = {"": 0x80E01801} | {f"_{at}": 0x80E01801 + at for at in range(1, codes)}
    page = f"npu_chip_info_temperature{{{_NPU}}} 50\nnpu_chip_info_health_status{{{_NPU}}} 0\n"
    return page + "".join(
        f"npu_chip_info_error_code{labels}{{{_NPU}}} {code}\n" for labels, code in numbers.items()
    )


def test_the_word_of_the_vendor_stands_in_the_health_that_an_exporter_reports() -> None:
    labels = 'name="rbln0",uuid="5ca1ab1e-0000-4000-8000-000000000001"'
    page = (
        f'rbln_npu_temperature{{{labels}}} 50\nrbln_npu_device_status{{{labels},state="fault"}} 1\n'
    )
    (view,) = read_devices(page, 1e9).devices
    assert view.health_reasons == ("the exporter reports failed: fault",)


@pytest.mark.parametrize("label", ["modelName", "model_name"])
@pytest.mark.parametrize(
    ("model", "value", "words"),
    [
        ("NVIDIA H100-20C", 0, {"unlicensed"}),
        ("NVIDIA L40S-2Q", 1, {"licensed"}),
        ("NVIDIA A100-1-5CME", 0, {"unlicensed"}),
        ("NVIDIA H100 80GB HBM3", 0, set()),
        ("Tesla V100-SXM2-16GB", 0, set()),
        ("", 0, set()),
    ],
)
def test_only_a_virtual_gpu_is_unlicensed(
    label: str, model: str, value: int, words: set[str]
) -> None:
    labels = f'{_DCGM},{label}="{model}"'
    page = f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} 50\nDCGM_FI_DEV_VGPU_LICENSE_STATUS{{{labels}}} {value}\n"
    (view,) = read_devices(page, 1e9).devices
    reported = {series[1] for series in view.reading.values if series[0] == "vgpu_license_info"}
    assert reported == words
