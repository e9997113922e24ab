"""Every dialect over a composed scrape: what a person reads in it, our schema must say."""

from typing import Any

import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import read_devices
from accelwatch.fleet.dialects.registry import DIALECTS
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.series import series_of
from accelwatch.schema.snapshot import DeviceView
from support.fleet.composed_pages import NOW, find, foreign, holds
from support.machines.samples import FIXTURES

MIB = 1 << 20


def test_dcgm_in_vendor_units() -> None:
    read = foreign("dcgm_legacy")
    assert read.dialects == ("dcgm-exporter",)
    view = find(read, "nvidia0")
    holds(
        view,
        utilization_ratio=0.29,
        memory_used_bytes=61000 * MIB,
        memory_size_bytes=81559 * MIB,
        temperature_celsius__gpu=61,
        temperature_celsius__memory=Absence.UNSUPPORTED,
        power_watts=642.125,
        energy_joules_total__hardware=123456.789,
        clock_hertz__sm=1_980_000_000,
        matrix_active_ratio=0.351,
        memory_bandwidth_utilization_ratio=Absence.ERROR,
        throttle_seconds_total__power=2.5,
        interconnect_errors_total__nvlink__replay=5,
    )
    assert view.device.pci_bus_id == "0000:8d:00.0"
    assert view.device.driver_version == "570.10"
    assert view.device.model == "NVIDIA H100 80GB HBM3"
    assert (view.owners[0].namespace, view.owners[0].pod) == ("ml", "run-0")
    assert [(one.code, one.total) for one in view.event_counts] == [("xid_94", 2)]
    assert view.health is Health.DEGRADED
    assert "Xid 94" in view.reading.notes[0]
    assert find(read, "nvidia1").reading.notes == ()
    assert dict(read.rejected) == {"blank": 2, "not_finite": 1, "repeated": 1}


def test_mig_rows_are_partitions_and_the_heat_is_the_devices() -> None:
    read = foreign("dcgm_legacy")
    whole, part = find(read, "nvidia1"), find(read, "nvidia1/gi7")
    holds(whole, temperature_celsius__gpu=33, clock_hertz__sm=345_000_000)
    assert ("memory_used_bytes",) not in whole.reading.values
    holds(part, memory_used_bytes=12 * MIB)
    assert part.device.parent_id == whole.device.id
    assert part.device.partition_profile == "1g.10gb"
    assert part.owners[0].pod == 'my "quoted" pod'


def test_dcgm_in_base_units() -> None:
    read = foreign("dcgm_base_units")
    assert read.dialects == ("dcgm-exporter-4.9",)
    holds(
        read.devices[0],
        utilization_ratio=0.965,
        memory_size_bytes=85520809984,
        power_watts=655.5,
        energy_joules_total__hardware=4.5e6,
        fan_speed_ratio__0=1.12,
        clock_hertz__sm=1.98e9,
        interconnect_bytes_total__nvlink__transmit=1500,
    )
    assert read.rejected["implausible"] == 1


@pytest.mark.parametrize(
    ("summary", "manager", "state", "health"),
    [
        (1, 3, "completed", Health.OK),
        (0, 1, "not_started", Health.OK),
        (2, 3, "unhealthy", Health.DEGRADED),
        (3, 3, "limited_capacity", Health.DEGRADED),
        (2, 4, "failed", Health.FAILED),
        (1, 6, None, Health.OK),
        (0, -1, None, Health.OK),
    ],
)
@pytest.mark.parametrize("load", ["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO"])
def test_dcgm_fabric(
    load: str, summary: int, manager: int, state: str | None, health: Health
) -> None:
    labels = '{gpu="0",UUID="GPU-1"}'
    text = (
        f"{load}{labels} 0\nDCGM_FI_DEV_FABRIC_HEALTH_SUMMARY{labels} {summary}\n"
        f"DCGM_FI_DEV_FABRIC_MANAGER_STATUS{labels} {manager}\n"
    )
    (view,) = read_devices(text, NOW).devices
    reported = [series[1] for series in view.reading.values if series[0] == "fabric_state_info"]
    assert (reported, view.health) == ([] if state is None else [state], health)


# By quantity: DCGM's field, as it was called up to 4.5, and since.
_OLD_AND_NEW = {
    "memory_row_remap_banks.none": ("BANKS_REMAP_ROWS_AVAIL_NONE", "BANK_REMAP_AVAIL_NONE"),
    "ecc_enabled": ("ECC_CURRENT", "ECC_MODE"),
    "sram_error_threshold_exceeded": ("THRESHOLD_SRM", "SRAM_EXCEEDED"),
    "memory_unrepairable": ("MEMORY_UNREPAIRABLE_FLAG", "MEMORY_UNREPAIRABLE"),
    "reset_required": ("GET_GPU_RECOVERY_ACTION", "GPU_RECOVERY_ACTION"),
    "recovery_action_info.gpu_reset": ("GET_GPU_RECOVERY_ACTION", "GPU_RECOVERY_ACTION"),
    "ecc_errors_total.uncorrected": ("ECC_DBE_VOL_TOTAL", "ECC_DBE_VOL_TOTAL"),
    "temperature_limit_celsius.gpu.slowdown": ("SLOWDOWN_TEMP", "GPU_TEMP_SLOWDOWN_CELSIUS"),
    "temperature_limit_celsius.gpu.shutdown": ("SHUTDOWN_TEMP", "GPU_TEMP_SHUTDOWN_CELSIUS"),
    "temperature_margin_celsius": ("GPU_TEMP_LIMIT", "GPU_TEMP_MARGIN_CELSIUS"),
    "power_limit_watts.max": ("POWER_MGMT_LIMIT_MAX", "BOARD_POWER_LIMIT_MAX_WATTS"),
}


@pytest.mark.parametrize(("quantity", "names"), _OLD_AND_NEW.items(), ids=_OLD_AND_NEW.keys())
@pytest.mark.parametrize("load", ["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO"])
def test_dcgm_fields_that_got_other_names(load: str, quantity: str, names: tuple[str, str]) -> None:
    name = names[load.endswith("RATIO")]
    labels = '{gpu="0",UUID="GPU-1"}'
    text = f"{load}{labels} 0\nDCGM_FI_DEV_{name}{labels} 1\n"
    (view,) = read_devices(text, NOW).devices
    assert view.reading.values[tuple(quantity.split("."))] == 1


@pytest.mark.parametrize(
    ("name", "reported"), [("POWER_VIOLATION", 2e9), ("GPU_POWER_THROTTLE_SECONDS_TOTAL", 2.0)]
)
def test_dcgm_throttling_beside_base_units(name: str, reported: float) -> None:
    labels = '{gpu="0",UUID="GPU-1"}'
    text = f"DCGM_FI_DEV_GPU_UTIL_RATIO{labels} 0\nDCGM_FI_DEV_{name}{labels} {reported}\n"
    (view,) = read_devices(text, NOW).devices
    holds(view, throttle_seconds_total__power=2.0)


@pytest.mark.parametrize(("reported", "ratio"), [(0.5, 0.5), (1, 1.0), (0, 0.0), (97, 0.97)])
def test_dcgm_load_that_is_a_ratio_by_name_only(reported: float, ratio: float) -> None:
    (view,) = read_devices(
        f'DCGM_FI_DEV_GPU_UTIL_RATIO{{gpu="0",UUID="U"}} {reported}\n', NOW
    ).devices
    holds(view, utilization_ratio=ratio)


def test_a_tpu_that_no_container_holds() -> None:
    labels = 'accelerator_id="7-0",make="cloud-tpu",model="tpu7x",tpu_topology="2x2x2"'
    held = f'{labels},namespace="ml",pod="train-0",container="main"'
    text = (
        f"tensorcore_utilization_node{{{labels}}} 88\nmemory_total_node{{{labels}}} 2e+11\n"
        f"memory_used_node{{{labels}}} 0\nduty_cycle{{{held}}} 75\n"
    )
    (view,) = read_devices(text, NOW).devices
    holds(view, matrix_active_ratio=0.88, memory_size_bytes=2e11, utilization_ratio=0.75)
    assert view.reading.values["memory_used_bytes",] == 0
    assert [owner.pod for owner in view.owners] == ["train-0"]


@pytest.mark.parametrize("partition", ["", "0", "NA", "N/A"])
def test_an_amd_device_that_is_not_partitioned(partition: str) -> None:
    labels = f'gpu_id="1",serial_number="SN1",gpu_partition_id="{partition}"'
    (view,) = read_devices(f"gpu_gfx_activity{{{labels}}} 50\n", NOW).devices
    holds(view, utilization_ratio=0.5)


def test_partitions_that_report_the_uuid_of_their_amd_device_make_it_no_double() -> None:
    text = "".join(
        f'gpu_gfx_activity{{gpu_id="{at}",gpu_uuid="u{at // 4}",serial_number="S{at // 4}",'
        f'gpu_partition_id="{at % 4}"}} {at}\n'
        for at in range(8)
    )
    first, second = read_devices(text, NOW).devices
    holds(first, utilization_ratio=0.0)
    holds(second, utilization_ratio=0.04)
    assert [(view.device.uuid, view.health_reasons) for view in (first, second)] == [
        ("u0", ()),
        ("u1", ()),
    ]


@pytest.mark.parametrize(("count", "believed"), [(1048559, True), (1048560, False)])
def test_counts_of_a_sleeping_amd_block_are_not_believed(count: int, believed: bool) -> None:
    labels = 'gpu_id="1",serial_number="SN1"'
    (view,) = read_devices(
        f"gpu_gfx_activity{{{labels}}} 50\ngpu_ecc_uncorrect_umc{{{labels}}} {count}\n"
        f"gpu_ecc_correct_umc{{{labels}}} {count}\n",
        NOW,
    ).devices
    reported = view.reading.values.get(("ecc_location_errors_total", "uncorrected", "umc"))
    assert reported == (count if believed else None)
    assert view.reading.values["ecc_location_errors_total", "corrected", "umc"] == count


def test_a_block_of_amd_is_called_as_the_driver_calls_it() -> None:
    labels = 'gpu_id="1",serial_number="SN1"'
    page = f"gpu_gfx_activity{{{labels}}} 50\ngpu_ecc_uncorrect_bif{{{labels}}} 3\n"
    (view,) = read_devices(page, NOW).devices
    assert view.reading.values["ecc_location_errors_total", "uncorrected", "pcie_bif"] == 3


@pytest.mark.parametrize(
    ("violation", "reason"),
    [
        ("processor_hot_residency", "power_brake"),
        ("ppt_residency", "power"),
        ("socket_thermal_residency", "thermal_software"),
        ("vr_thermal_residency", "thermal_hardware"),
        ("hbm_thermal_residency", "memory_thermal"),
        ("low_utilization", "low_utilization"),
    ],
)
def test_what_holds_an_amd_device_back(violation: str, reason: str) -> None:
    name = f"gpu_violation_{violation}_percentage"
    text = f'gpu_gfx_activity{{gpu_id="0"}} 50\n{name}{{gpu_id="0"}} '
    values = [
        view.reading.values.get(("throttle_active", reason))
        for reported in (0, 12, 100, 2**64 - 1, 65535)
        for view in read_devices(f"{text}{reported}\n", NOW).devices
    ]
    assert values == [0, 1, 1, None, None]


def test_amd() -> None:
    read = foreign("amd_mi300x")
    assert read.dialects == ("amd-device-metrics-exporter",)
    (view,) = read.devices
    holds(
        view,
        utilization_ratio=0.85,
        memory_size_bytes=196592 * MIB,
        memory_used_bytes=1024 * MIB,
        power_watts=Absence.ERROR,
        temperature_celsius__junction=51,
        temperature_celsius__hbm3=44,
        energy_joules_total__hardware=2.5,
        clock_hertz__graphics=2_050_000_000,
        clock_hertz__memory=900_000_000,
        interconnect_bytes_total__xgmi__receive=30 * 1024,
        ecc_errors_total__uncorrected=1,
        ecc_location_errors_total__uncorrected__umc=1,
        throttle_active__power=1,
    )
    assert (view.device.serial, view.device.index) == ("692000000001", 0)
    (owner,) = view.owners
    assert (owner.kind, owner.job_id, owner.user, owner.queue) == ("job", "4711", "anna", "mi300")
    assert view.health is Health.FAILED
    assert read.rejected["partition"] == 1


def test_xpum_prefers_the_card_and_combines_tiles() -> None:
    (view,) = foreign("xpum").devices
    holds(
        view,
        power_watts=300.5,
        utilization_ratio=pytest.approx(0.3),
        memory_used_bytes=1500,
        temperature_celsius__gpu=47,
        temperature_celsius__memory=50,
        clock_hertz__graphics=1_600_000_000,
    )
    assert view.device.pci_bus_id == "0000:4d:00.0"


def test_errors_of_an_intel_device_by_location() -> None:
    text = "".join(
        f'xpum_{location}_errors_total{{uuid="a",type="{kind}"}} {count}\n'
        for location, kind, count in (
            ("cache", "correctable", 3),
            ("cache", "uncorrectable", 1),
            ("non_compute", "correctable", 4),
        )
    )
    (view,) = read_devices(f'xpum_power_watts{{uuid="a"}} 300\n{text}', NOW).devices
    holds(
        view,
        ecc_location_errors_total__corrected__cache=3,
        ecc_location_errors_total__uncorrected__cache=1,
        ecc_location_errors_total__corrected__non_compute=4,
    )


def test_xpumd_counts_no_statistic_twice() -> None:
    (view,) = foreign("xpumd").devices
    holds(
        view,
        utilization_ratio=0.75,
        engine_utilization_ratio__decoder=0.1,
        memory_size_bytes=25769803776,
        temperature_celsius__gpu=55,
        clock_hertz__graphics=2_000_000_000,
        power_watts=150,
        ecc_errors_total__uncorrected=3,
    )
    assert view.health is Health.DEGRADED


def test_all_smi_mixes_percent_and_fractions() -> None:
    read = foreign("all_smi")
    first, second = read.devices
    holds(first, utilization_ratio=0.425, memory_controller_utilization_ratio=0.25)
    holds(first, clock_hertz__graphics=1_700_000_000, memory_used_bytes=1 << 30)
    assert [view.device.vendor for view in read.devices] == ["amd", "nvidia"]
    (process,) = second.reading.processes or ()
    assert (process.pid, process.command, process.user) == (77, "python3", "anna")
    assert process.gpu_memory_bytes == 4096


def test_gaudi_zeros_are_not_believed() -> None:
    first, second = foreign("gaudi").devices
    holds(first, utilization_ratio=0.64, power_watts=321.5, temperature_celsius__gpu=44)
    holds(first, memory_repair_pending=1)
    assert first.health is Health.DEGRADED
    holds(second, power_watts=Absence.ERROR, temperature_celsius__gpu=Absence.ERROR)
    holds(first, temperature_limit_celsius__gpu__slowdown=98, pcie_link_width_lanes__current=16)
    holds(second, temperature_limit_celsius__gpu__slowdown=Absence.ERROR)
    holds(second, pcie_link_width_lanes__current=Absence.ERROR)
    assert "utilization_ratio" in second.reading.notes[0]
    assert first.device.kind == "npu"


def test_links_of_a_gaudi_that_are_up_are_counted() -> None:
    (first, _) = foreign("gaudi").devices
    holds(first, interconnect_links__ethernet__up=2, link_up__ethernet__2=0)


def test_zeros_of_an_exporter_that_writes_none_for_a_failure_are_believed() -> None:
    labels = 'gpu="0",UUID="GPU-1",device="nvidia0"'
    (view,) = read_devices(
        f"DCGM_FI_DEV_POWER_USAGE{{{labels}}} 0\nDCGM_FI_DEV_GPU_TEMP{{{labels}}} 0\n", NOW
    ).devices
    holds(view, power_watts=0, temperature_celsius__gpu=0)


def test_ascend_sentinels_and_timestamps() -> None:
    read = foreign("ascend")
    (view,) = read.devices
    holds(
        view,
        utilization_ratio=0.55,
        memory_size_bytes=1 << 36,
        memory_used_bytes=3400 * MIB,
        temperature_celsius__gpu=Absence.ERROR,
        voltage_volts__core=Absence.UNSUPPORTED,
        power_watts=93.5,
        clock_hertz__npu=1_650_000_000,
    )
    assert view.health is Health.FAILED
    assert view.device.pci_bus_id == "0000:c1:00.0"
    assert [one.gpu_memory_bytes for one in view.reading.processes or ()] == [512 * MIB]
    assert dict(read.rejected) == {"unknown": 1, "blank": 2}


def test_rebellions_in_both_namings_and_with_an_old_daemon() -> None:
    first, second = foreign("rebellions").devices
    holds(first, temperature_celsius__gpu=41, memory_size_bytes=16 << 30, power_watts=38.5)
    holds(first, memory_used_bytes=1 << 30)
    holds(second, temperature_celsius__gpu=39, memory_size_bytes=16 << 30)
    assert second.reading.values[("power_watts",)] == pytest.approx(18.4)
    assert [first.health, second.health] == [Health.OK, Health.FAILED]
    assert first.device.name == "rbln0"


_RBLN = 'card="RBLN-CR13",name="rbln0",uuid="r-0"'


def rebellions(state: str, inactive: int = 0, speed: float = 32) -> DeviceView:
    """A card as the exporter reports it from 0.3.0 on: a series for each state."""
    lines = [
        f"rbln_npu_health{{{_RBLN}}} {inactive}",
        f"rbln_npu_pcie_link_speed_gts{{{_RBLN}}} {speed}",
        f"rbln_npu_pcie_link_width{{{_RBLN}}} 16",
        *(
            f'rbln_npu_device_status{{{_RBLN},state="{word}"}} {int(word == state)}'
            for word in ("busy", "fault", "finish", "init", "not_found", "ready")
        ),
    ]
    (view,) = read_devices("\n".join([*lines, ""]).encode(), NOW).devices
    return view


@pytest.mark.parametrize(
    ("state", "health"),
    [
        ("ready", Health.OK),
        ("busy", Health.OK),
        ("finish", Health.OK),
        ("init", Health.DEGRADED),
        ("fault", Health.FAILED),
        ("not_found", Health.FAILED),
    ],
)
def test_rebellions_state_is_shown_and_judged(state: str, health: Health) -> None:
    view = rebellions(state)
    assert view.health is health
    reported = [series for series in view.reading.values if series[0] == "reported_status_info"]
    assert reported == [("reported_status_info", state)]


def test_rebellions_health_counts_where_the_state_says_nothing() -> None:
    assert rebellions("ready", inactive=1).health is Health.FAILED


@pytest.mark.parametrize(
    ("speed", "generation"), [(2.5, 1), (5, 2), (8, 3), (16, 4), (32, 5), (64, 6), (12, None)]
)
def test_rebellions_link(speed: float, generation: int | None) -> None:
    values = rebellions("ready", speed=speed).reading.values
    assert values.get(("pcie_link_generation", "current")) == generation
    assert values["pcie_link_width_lanes", "current"] == 16


def test_furiosa_partitions_repeat_the_device() -> None:
    read = foreign("furiosa")
    first, second = read.devices
    holds(first, utilization_ratio=0.8, core_utilization_ratio__1=0.7, power_watts=51.5)
    holds(first, temperature_celsius__gpu=39, temperature_celsius__board=35)
    assert (first.state, second.state) == (DeviceState.OK, DeviceState.LOST)
    assert read.rejected["repeated"] == 1


def test_what_a_page_still_reports_of_a_lost_device_is_not_of_now() -> None:
    first, second = foreign("furiosa").devices
    assert first.reading.values[("power_watts",)] == 51.5
    assert second.reading.values == {}
    assert second.reading.absent == {("*",): Absence.LOST}


def test_several_dialects_in_one_scrape() -> None:
    read = foreign("others")
    assert set(read.dialects) == {
        "neuron-monitor",
        "gke-tpu",
        "tt-metrics-exporter",
        "node_exporter",
        "red-hat",
    }
    holds(find(read, "neuroncore0"), utilization_ratio=0.25, memory_used_bytes=1024)
    holds(find(read, "tpu0"), utilization_ratio=0.125, memory_size_bytes=16 << 30)
    tenstorrent = find(read, "tt0")
    holds(tenstorrent, temperature_celsius__gpu=43.5, clock_hertz__npu=500_000_000)
    assert tenstorrent.health is Health.FAILED
    assert tenstorrent.device.serial == "0100014411704001"
    card = find(read, "card1")
    holds(card, utilization_ratio=0.04, memory_size_bytes=8573157376)
    assert card.device.index == 1
    red = find(read, "gpu0")
    holds(red, utilization_ratio=Absence.ERROR, clock_hertz__sm=2_520_000_000)
    assert red.device.vendor == "nvidia"


@pytest.mark.parametrize("dialect", DIALECTS[1:], ids=lambda one: one.name)
def test_every_row_aims_at_the_catalogue(dialect: Any) -> None:
    for row in dialect.rows:
        series = series_of(row.target)
        metric = by_key()[series[0]]
        states = 1 if row.states else 0
        assert len(series) == len(metric.labels) + 1 - states, row.name
        assert row.scale[0] > 0
        assert row.scale[1] > 0


@pytest.mark.parametrize("dialect", DIALECTS[1:], ids=lambda one: one.name)
def test_rows_that_are_added_up_have_one_scale(dialect: Any) -> None:
    scales: dict[str, set[Any]] = {}
    for row in dialect.rows:
        if row.group:
            scales.setdefault(row.group, set()).add(row.scale)
    assert all(len(some) == 1 for some in scales.values())


def test_names_of_dialects_are_unique() -> None:
    names = [dialect.name for dialect in DIALECTS]
    assert len(set(names)) == len(names)


def test_the_clock_of_a_card_is_the_mean_of_its_tiles() -> None:
    text = (FIXTURES / "fleet" / "dialects" / "xpum.prom").read_text()
    lines = text.splitlines(keepends=True)
    (card,) = [line for line in lines if 'type="actual"' in line]
    tiles = [
        card.replace("} 1600", f',sub_dev="{number}"}} {mhz}')
        for number, mhz in enumerate((1600, 1200))
    ]
    (view,) = read_devices(text.replace(card, "".join(tiles)), NOW).devices
    holds(view, clock_hertz__graphics=1_400_000_000)
