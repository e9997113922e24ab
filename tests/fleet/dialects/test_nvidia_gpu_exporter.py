"""What nvidia_gpu_exporter says of a GPU's condition, over composed scrapes."""

import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import read_devices
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import DeviceView

NOW = 1_700_000_100.0
UUID = "5ca1ab1e-0001-4000-8000-000000000000"


def scraped(**families: float) -> DeviceView:
    """The one device of a scrape; families without their prefix."""
    lines = [
        f'nvidia_smi_gpu_info{{uuid="{UUID}",index="0",name="NVIDIA H100"}} 1',
        f'nvidia_smi_utilization_gpu_ratio{{uuid="{UUID}"}} 0.5',
        *(f'nvidia_smi_{name}{{uuid="{UUID}"}} {value}' for name, value in families.items()),
    ]
    (view,) = read_devices("\n".join(lines) + "\n", NOW).devices
    return view


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (1, "gpu_reset"),
        (2, "node_reboot"),
        (3, "drain_p2p"),
        (4, "drain_and_reset"),
        (6, "bus_reset"),
        (7, "system_reboot"),
        (8, "8"),
    ],
)
def test_every_wish_but_none_is_a_wish(number: int, word: str) -> None:
    view = scraped(gpu_recovery_action=number)
    assert view.reading.values["recovery_action_info", word] == 1
    assert view.reading.values["reset_required",] == 1
    assert view.health is Health.FAILED


def test_a_domain_that_is_to_be_recovered_is_no_fault_of_a_device() -> None:
    view = scraped(gpu_recovery_action=5)
    assert view.reading.values["recovery_action_info", "recover_imex_domain"] == 1
    assert view.reading.values["reset_required",] == 0
    assert view.health is Health.OK


def test_no_wish() -> None:
    view = scraped(gpu_recovery_action=0)
    assert view.reading.values["recovery_action_info", "none"] == 1
    assert view.reading.values["reset_required",] == 0
    assert view.health is Health.OK


@pytest.mark.parametrize("number", [-1, 4294967295])
def test_a_number_that_is_no_action_is_an_error(number: int) -> None:
    view = scraped(gpu_recovery_action=number)
    assert view.reading.absent["reset_required",] is Absence.ERROR
    assert view.reading.absent["recovery_action_info",] is Absence.ERROR


def test_sram_beyond_its_limit_is_part_of_health() -> None:
    name = "ecc_errors_uncorrected_aggregate_sram_threshold_exceeded"
    assert scraped(**{name: 0}).health is Health.OK
    view = scraped(**{name: 1})
    assert view.reading.values["sram_error_threshold_exceeded",] == 1
    assert view.health is Health.FAILED


@pytest.mark.parametrize("family", ["event", "throttle"])
@pytest.mark.parametrize(
    ("slowdown", "thermal", "brake", "other"),
    [(0, 0, 0, 0), (1, 0, 0, 1), (1, 1, 0, 0), (1, 0, 1, 0)],
)
def test_a_hardware_slowdown_without_a_cause_is_another_reason(
    family: str, slowdown: int, thermal: int, brake: int, other: int
) -> None:
    prefix = f"clocks_{family}_reasons_hw"
    view = scraped(
        **{
            f"{prefix}_power_brake_slowdown": brake,
            f"{prefix}_slowdown": slowdown,
            f"{prefix}_thermal_slowdown": thermal,
        }
    )
    values = view.reading.values
    assert values["throttle_active", "other"] == other
    assert values["throttle_active", "thermal_hardware"] == thermal
    assert values["throttle_active", "power_brake"] == brake


def test_a_hardware_slowdown_of_which_nothing_else_is_reported() -> None:
    values = scraped(clocks_event_reasons_hw_slowdown=1).reading.values
    assert values["throttle_active", "other"] == 1
    broken = scraped(clocks_event_reasons_hw_slowdown=7).reading
    assert broken.absent["throttle_active", "other"] is Absence.ERROR


def test_modes_margin_and_module() -> None:
    values = scraped(
        mig_mode_current=1,
        mig_mode_pending=0,
        ecc_mode_current=1,
        ecc_mode_pending=0,
        persistence_mode=1,
        temperature_gpu_tlimit=26,
        fabric_state=3,
        fabric_clique_id=1234567,
        platform_module_id=7,
        remapped_rows_histogram_low=2,
        remapped_rows_correctable_inactive=1,
        module_enforced_power_limit_watts=2500,
        module_power_draw_average_watts=467.5,
    ).reading.values
    assert values["partitioning_enabled",] == 1
    assert values["partitioning_enabled_pending",] == 0
    assert values["ecc_enabled_pending",] == 0
    assert values["persistence_enabled",] == 1
    assert values["temperature_margin_celsius",] == 26
    assert ("temperature_headroom_celsius",) not in values
    assert values["fabric_clique_info", "1234567"] == 1
    assert values["platform_module_info", "7"] == 1
    assert values["memory_row_remap_banks", "low"] == 2
    assert values["memory_remapped_rows_inactive", "corrected"] == 1
    assert values["power_component_limit_watts", "module", "enforced"] == 2500
    assert values["power_component_watts", "module"] == 467.5
