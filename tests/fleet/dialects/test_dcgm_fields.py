"""Fields of DCGM that no default list has and operators add to their own."""

import pytest

from accelwatch.fleet.dialects import read_devices

NOW = 1_700_000_100.0
GENERATIONS = ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO")

# By field, under names that both generations have: what the exporter writes, and what that is.
_IN_BOTH = {
    "DEV_PCIE_LINK_GEN": (5, "pcie_link_generation.current", 5),
    "DEV_PCIE_LINK_WIDTH": (8, "pcie_link_width_lanes.current", 8),
    "DEV_PCIE_MAX_LINK_GEN": (5, "pcie_link_generation.max", 5),
    "DEV_PCIE_MAX_LINK_WIDTH": (16, "pcie_link_width_lanes.max", 16),
    "DEV_BAR1_TOTAL": (131072, "memory_pool_size_bytes.bar1", 128 << 30),
    "DEV_BAR1_USED": (3, "memory_pool_used_bytes.bar1", 3 << 20),
    "DEV_MAX_SM_CLOCK": (1980, "clock_limit_hertz.sm.max", 1_980_000_000),
    "DEV_MAX_MEM_CLOCK": (2619, "clock_limit_hertz.memory.max", 2_619_000_000),
    "DEV_MAX_VIDEO_CLOCK": (1545, "clock_limit_hertz.video.max", 1_545_000_000),
    "DEV_PERSISTENCE_MODE": (1, "persistence_enabled", 1),
    "DEV_GPU_PERSISTENCE_MODE": (1, "persistence_enabled", 1),
    "DEV_MIG_MODE": (1, "partitioning_enabled", 1),
    "DEV_ECC_PENDING": (0, "ecc_enabled_pending", 0),
    "DEV_ECC_SBE_VOL_L2": (7, "ecc_location_errors_total.corrected.l2_cache", 7),
    "DEV_ECC_DBE_VOL_DEV": (2, "ecc_location_errors_total.uncorrected.dram", 2),
    "DEV_ECC_DBE_VOL_SRM": (1, "ecc_location_errors_total.uncorrected.sram", 1),
    "DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS": (
        2.5e9,
        "throttle_seconds_total.thermal_hardware",
        2.5,
    ),
    "DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS": (
        1e9,
        "throttle_seconds_total.power_brake",
        1,
    ),
}
_OLD = {
    "PROF_PIPE_INT_ACTIVE": (0.125, "pipe_active_ratio.integer", 0.125),
    "PROF_PIPE_TENSOR_HMMA_ACTIVE": (0.25, "pipe_active_ratio.tensor_hmma", 0.25),
    "PROF_PIPE_TENSOR_IMMA_ACTIVE": (0.25, "pipe_active_ratio.tensor_imma", 0.25),
    "PROF_PIPE_TENSOR_DFMA_ACTIVE": (0.25, "pipe_active_ratio.tensor_dfma", 0.25),
    "DEV_GPU_MAX_OP_TEMP": (85, "temperature_limit_celsius.gpu.max_operating", 85),
    "DEV_MEM_MAX_OP_TEMP": (95, "temperature_limit_celsius.memory.max_operating", 95),
    "DEV_POWER_USAGE_INSTANT": (412.5, "power_watts", 412.5),
    "DEV_NVLINK_COUNT_TX_BYTES": (9, "interconnect_bytes_total.nvlink.transmit", 9),
    "DEV_NVLINK_COUNT_RX_BYTES": (8, "interconnect_bytes_total.nvlink.receive", 8),
}
_NEW = {
    "DEV_GPU_MAX_OP_TEMP_CELSIUS": (85, "temperature_limit_celsius.gpu.max_operating", 85),
    "DEV_MEMORY_MAX_OP_TEMP_CELSIUS": (95, "temperature_limit_celsius.memory.max_operating", 95),
    "DEV_BOARD_POWER_RAW_WATTS": (412.5, "power_watts", 412.5),
}
CASES = [
    *((load, field, *case) for load in GENERATIONS for field, case in _IN_BOTH.items()),
    *((GENERATIONS[0], field, *case) for field, case in _OLD.items()),
    *((GENERATIONS[1], field, *case) for field, case in _NEW.items()),
]


@pytest.mark.parametrize(("load", "field", "written", "quantity", "value"), CASES)
def test_field(load: str, field: str, written: float, quantity: str, value: float) -> None:
    labels = '{gpu="0",UUID="GPU-1"}'
    text = f"{load}{labels} 0\nDCGM_FI_{field}{labels} {written}\n"
    (view,) = read_devices(text, NOW).devices
    assert view.reading.values[tuple(quantity.split("."))] == value


def test_the_averaged_power_counts_before_that_of_an_instant() -> None:
    labels = '{gpu="0",UUID="GPU-1"}'
    text = f"DCGM_FI_DEV_POWER_USAGE_INSTANT{labels} 500\nDCGM_FI_DEV_POWER_USAGE{labels} 400\n"
    (view,) = read_devices(text, NOW).devices
    assert view.reading.values[("power_watts",)] == 400


@pytest.mark.parametrize("name", ["DCGM_FI_DEV_SERIAL", "DCGM_FI_DEV_BOARD_SERIAL"])
def test_fields_that_are_labels_say_who_the_gpu_is(name: str) -> None:
    labels = (
        f'gpu="0",UUID="GPU-1",{name}="0320118000001",DCGM_FI_DEV_VBIOS_VERSION="96.00.99.00.01"'
    )
    (view,) = read_devices(f"DCGM_FI_DEV_GPU_UTIL{{{labels}}} 1\n", NOW).devices
    assert (view.device.serial, view.device.vbios_version) == ("0320118000001", "96.00.99.00.01")
