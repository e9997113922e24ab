"""NVIDIA: a data-centre GPU.

Figures are those of the vendor's data sheet, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch_lab.simulator.models.rows import (
    MIB,
    Model,
    clocks,
    each,
    fixed,
    heat,
    links,
    live,
    usual,
)


# Built for the vendors in use only, and shared by all their nodes.
@cache
def h100() -> Model:
    """A data-centre GPU with 86 series in the default exposition."""
    memory = 81_559 * MIB
    reasons = ("sync_boost", "thermal_software", "power_brake")
    rows = (
        *usual(700.0, memory),
        *links("nvlink", 18, 180_000_000_000),
        *heat("gpu", 26, 52),
        *heat("memory", 34, 58),
        *clocks({"graphics": (1980, True), "sm": (1980, True), "memory": (2619, False)}),
        *clocks({"video": (1545, False)}),
        live("bandwidth", 0.0, 1.1, "memory_bandwidth_utilization_ratio"),
        live("work", 0.0, 0.94, "compute_active_ratio"),
        live("occupancy", 0.0, 0.9, "compute_occupancy_ratio"),
        live("work", 0.0, 0.46, "matrix_active_ratio"),
        fixed(552 * MIB, "memory_reserved_bytes"),
        *each(0.0, "engine_utilization_ratio", "encoder", "decoder", "jpeg", "optical_flow"),
        live("work_s", 0, 2_100_000_000, "pcie_bytes_total", "receive"),
        live("work_s", 0, 1_200_000_000, "pcie_bytes_total", "transmit"),
        fixed(1, "fabric_state_info", "completed"),
        fixed(92, "temperature_limit_celsius", "gpu", "shutdown"),
        fixed(89, "temperature_limit_celsius", "gpu", "slowdown"),
        fixed(87, "temperature_limit_celsius", "gpu", "max_operating"),
        *each(200.0, "power_limit_watts", "min"),
        *each(700.0, "power_limit_watts", "default"),
        fixed(0, "performance_state"),
        *each(0, "throttle_active", *reasons, "clock_setting"),
        *each(0.0, "throttle_seconds_total", *reasons),
        fixed(1, "ecc_enabled"),
        *each(0, "ecc_lifetime_errors", "corrected", "uncorrected"),
        *each(0, "memory_remapped_rows", "corrected", "uncorrected"),
        fixed(1, "recovery_action_info", "none"),
    )
    return Model(
        vendor="nvidia",
        name="NVIDIA H100 80GB HBM3",
        architecture="hopper",
        device_prefix="nvidia",
        uuid_prefix="GPU-",
        driver_version="590.48.01",
        firmware_version="96.00.99.00.01",
        part_number="699-SIM-H100",
        fabric="nvlink",
        board_watts=700.0,
        memory_bytes=memory,
        rows=rows,
    )
