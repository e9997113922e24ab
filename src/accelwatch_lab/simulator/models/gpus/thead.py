"""T-Head: a data-centre PPU.

Figures are those that the vendor's tool prints for a card, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch_lab.simulator.models.rows import GIB, Model, clocks, each, fixed, heat, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def zw810e() -> Model:
    """A PPU of which the vendor's tool prints what nvidia-smi would, but no traffic between PPUs."""
    memory, watts = 96 * GIB, 400.0
    reasons = ("power", "thermal_hardware", "thermal_software", "power_brake", "sync_boost")
    rows = (
        *terse(watts, memory, health=False),
        *heat("gpu", 24, 50),
        *heat("memory", 28, 52),
        *clocks({"sm": (1700, True), "memory": (1800, False), "video": (1000, False)}),
        *each(watts, "power_limit_watts", "enforced", "requested", "default", "max"),
        *each(0.0, "engine_utilization_ratio", "encoder", "decoder"),
        fixed(95, "temperature_limit_celsius", "gpu", "shutdown"),
        fixed(92, "temperature_limit_celsius", "gpu", "slowdown"),
        *each(5, "pcie_link_generation", "current", "max"),
        *each(16, "pcie_link_width_lanes", "current", "max"),
        fixed(0, "pcie_errors_total", "replay"),
        *each(0, "throttle_active", *reasons, "clock_setting"),
        fixed(1, "ecc_enabled"),
        *each(0, "ecc_errors_total", "corrected", "uncorrected"),
        *each(0, "memory_retired_pages", "single_bit", "double_bit"),
        *each(0, "memory_remapped_rows", "corrected", "uncorrected"),
        fixed(0, "memory_repair_pending"),
        fixed(0, "memory_repair_failed"),
        fixed(1, "recovery_action_info", "none"),
        fixed(0, "reset_required"),
    )
    return Model(
        vendor="thead",
        name="PPU-ZW810E",
        architecture="PPU001",
        device_prefix="ppu",
        uuid_prefix="GPU-",
        driver_version="2.1.1-rbd225",
        firmware_version="1.3.2",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
