"""Where a GPU stands, how it is set up, and how far it is from its limits: by NVML and by nvidia-smi."""

import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Reading
from accelwatch.schema.series import series_of

from .conftest import Rig
from .test_smi_variants import changed

CLUSTER = "0a0b0c0d-0001-4002-8003-00000000000e"


def holds(reading: Reading, **expected: float | Absence) -> None:
    """Values by path, with `__` for a dot; an Absence for a quantity that is not there."""
    for path, value in expected.items():
        series = series_of(path.replace("__", "."))
        if isinstance(value, Absence):
            assert not [one for one in reading.values if one[0] == series[0]], path
            assert reading.absent[series[:1]] is value, path
        else:
            assert reading.values[series] == value, path


def through_nvml(rig: Rig, **quantities: str | float) -> Reading:
    scenario = rig.devices(1)
    for key, value in quantities.items():
        scenario.set(0, key.replace("__", "."), value)
    with rig.machine(scenario) as machine:
        return machine.read(0, "ecc", "components")[0]


def through_smi(element: str, *changes: tuple[str, str]) -> Reading:
    return changed(("<fan_speed>", f"{element}<fan_speed>"), *changes)


def test_headroom_ends_at_the_hardware_slowdown(rig: Rig) -> None:
    reading = through_nvml(rig, temperature_margin_c=26, temperature_slowdown_tlimit_c=-3)
    holds(reading, temperature_margin_celsius=26, temperature_headroom_celsius=29)
    beyond = through_nvml(rig, temperature_margin_c=-1)
    holds(beyond, temperature_margin_celsius=-1, temperature_headroom_celsius=1)
    reading = changed(("_threshold>-2 C<", "_threshold>-3 C<"))
    holds(reading, temperature_margin_celsius=26, temperature_headroom_celsius=29)


def test_no_headroom_without_margin_or_without_threshold(rig: Rig) -> None:
    reading = through_nvml(rig, temperature_slowdown_tlimit_c="none")
    holds(reading, temperature_margin_celsius=26, temperature_headroom_celsius=Absence.UNSUPPORTED)
    reading = through_nvml(rig, temperature_margin_c="error:999")
    holds(
        reading,
        temperature_margin_celsius=Absence.ERROR,
        temperature_headroom_celsius=Absence.ERROR,
    )
    reading = changed(("_threshold>-2 C<", "_threshold>N/A<"))
    holds(reading, temperature_margin_celsius=26, temperature_headroom_celsius=Absence.UNSUPPORTED)


def test_modes_now_and_after_a_reset(rig: Rig) -> None:
    reading = through_nvml(rig, persistence_mode=0, ecc_mode_pending=0, mig_mode_pending=1)
    expected = {
        "persistence_enabled": 0,
        "ecc_enabled": 1,
        "ecc_enabled_pending": 0,
        "partitioning_enabled": 0,
        "partitioning_enabled_pending": 1,
    }
    holds(reading, **expected)
    reading = through_smi(
        "<persistence_mode>Disabled</persistence_mode>",
        ("<pending_ecc>Enabled", "<pending_ecc>Disabled"),
        ("<pending_mig>Disabled", "<pending_mig>Enabled"),
    )
    holds(reading, **expected)


def test_remapped_rows_in_detail(rig: Rig) -> None:
    expected = {
        "memory_row_remap_banks__max": 2550,
        "memory_row_remap_banks__high": 6,
        "memory_row_remap_banks__partial": 3,
        "memory_row_remap_banks__low": 1,
        "memory_row_remap_banks__none": 0,
        "memory_remapped_rows_inactive__corrected": 2,
        "memory_remapped_rows_inactive__uncorrected": 5,
    }
    reading = through_nvml(
        rig, row_remapper_histogram="2550,6,3,1,0", field__301="u32:2", field__302="u32:5"
    )
    holds(reading, **expected)
    banks = "".join(
        f"<row_remapper_histogram_{name}>{number} bank(s)</row_remapper_histogram_{name}>"
        for name, number in zip(
            ("max", "high", "partial", "low", "none"), (2550, 6, 3, 1, 0), strict=True
        )
    )
    reading = through_smi(
        "<remapped_rows><remapped_row_corr_inactive>2</remapped_row_corr_inactive>"
        "<remapped_row_unc_inactive>5</remapped_row_unc_inactive>"
        f"<row_remapper_histogram>{banks}</row_remapper_histogram></remapped_rows>"
    )
    holds(reading, **expected)


def test_a_bank_that_waits_for_its_remap_waits_for_a_reset(rig: Rig) -> None:
    holds(through_nvml(rig, field__307="u32:0"), memory_repair_pending=0)
    holds(through_nvml(rig, field__307="u32:1"), memory_repair_pending=1)


def test_limits_of_the_module(rig: Rig) -> None:
    fields = {190: 2_400_000, 192: 2_450_000, 189: 2_500_000, 187: 500_000, 188: 2_600_000}
    reading = through_nvml(
        rig, **{f"field__{number}__1": f"u32:{limit}" for number, limit in fields.items()}
    )
    expected = {
        "power_component_limit_watts__module__enforced": 2400,
        "power_component_limit_watts__module__requested": 2450,
        "power_component_limit_watts__module__default": 2500,
        "power_component_limit_watts__module__min": 500,
        "power_component_limit_watts__module__max": 2600,
        "power_limit_watts__enforced": 700,
    }
    holds(reading, **expected)
    limits = "".join(
        f"<{name}_power_limit>{watts}.00 W</{name}_power_limit>"
        for name, watts in zip(
            ("current", "requested", "default", "min", "max"),
            (2400, 2450, 2500, 500, 2600),
            strict=True,
        )
    )
    reading = through_smi(f"<module_power_readings>{limits}</module_power_readings>")
    holds(reading, **expected)


def printed_platform(serial: str, slot: str, tray: str, clique: str, cluster: str) -> str:
    return (
        f"<platformInfo><chassis_serial_number>{serial}</chassis_serial_number>"
        f"<slot_number>{slot}</slot_number><tray_index>{tray}</tray_index>"
        "<host_id>1</host_id><module_id>3</module_id></platformInfo>"
        f"<fabric><state>Completed</state><status>Success</status><cliqueId>{clique}</cliqueId>"
        f"<clusterUuid>{cluster}</clusterUuid></fabric>"
    )


def test_a_gpu_in_a_rack_says_where_it_stands(rig: Rig) -> None:
    reading = through_nvml(
        rig,
        platform_chassis_serial="1820000000001",
        platform_slot=214,
        platform_tray=4,
        platform_host=1,
        module_id=3,
        fabric_clique_id=32766,
        fabric_cluster_uuid=CLUSTER,
    )
    printed = through_smi(printed_platform("1820000000001", "214", "4", "32766", CLUSTER))
    for found in (reading, printed):
        assert found.values["platform_info", "1820000000001", "214", "4", "1"] == 1
        assert found.values["platform_module_info", "3"] == 1
        assert found.values["fabric_clique_info", "32766"] == 1
        assert found.values["fabric_cluster_info", CLUSTER] == 1


@pytest.mark.parametrize(("slot", "tray"), [("N/A", "N/A"), ("0", "0")])
def test_without_a_chassis_there_is_no_slot_in_it(rig: Rig, slot: str, tray: str) -> None:
    nobody = "00000000-0000-0000-0000-000000000000"
    reading = through_nvml(rig, platform_chassis_serial="", module_id=3)
    printed = through_smi(printed_platform("", slot, tray, "0", nobody))
    for found in (reading, printed):
        holds(found, platform_info=Absence.UNSUPPORTED, fabric_cluster_info=Absence.UNSUPPORTED)
        assert found.values["platform_module_info", "3"] == 1
        assert found.values["fabric_clique_info", "0"] == 1


def test_a_gpu_that_has_not_registered_has_no_clique(rig: Rig) -> None:
    reading = through_nvml(rig, fabric_state=2, fabric_cluster_uuid=CLUSTER)
    holds(reading, fabric_clique_info=Absence.UNSUPPORTED, fabric_cluster_info=Absence.UNSUPPORTED)
    failed = through_nvml(rig, fabric_status=999, fabric_cluster_uuid=CLUSTER)
    holds(failed, fabric_clique_info=Absence.UNSUPPORTED, fabric_cluster_info=Absence.UNSUPPORTED)


def test_errors_of_a_mig_instance(rig: Rig) -> None:
    scenario = rig.scenario("a100x8-mig")
    scenario.set(0, "mig.1.ecc_volatile_uncorrected.sram", 4)
    series = ("ecc_location_errors_total", "uncorrected", "sram")
    with rig.machine(scenario) as machine:
        _, first, second, *_ = machine.read(0, "ecc")
        assert second.values[series] == 4
        assert first.absent["ecc_location_errors_total",] is Absence.UNSUPPORTED
        assert series not in machine.read(0)[2].values
