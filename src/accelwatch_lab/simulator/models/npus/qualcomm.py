"""Qualcomm: an inference card.

Figures are those of the vendor's data sheet, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch.schema.device import DeviceKind
from accelwatch_lab.simulator.models.rows import GIB, Model, clocks, fixed, heat, live


# Built for the vendors in use only, and shared by all their nodes.
@cache
def ai_100() -> Model:
    """A card of which the vendor's tool prints memory, power and heat, but not how busy it is."""
    memory, watts = 32 * GIB, 75.0
    rows = (
        live("power", 0.0, watts, "power_watts"),
        live("power_peak", 0.0, watts, "window_power_max_watts"),
        live("full_power_s", 0.0, watts, "energy_joules_total", "integrated"),
        live("memory", 0, memory, "memory_used_bytes"),
        live("memory_peak", 0, memory, "window_memory_used_max_bytes"),
        fixed(memory, "memory_size_bytes"),
        fixed(watts, "power_limit_watts", "enforced"),
        *heat("gpu", 36, 42),
        *clocks({"npu": (1450, True), "memory": (2133, False)}, limits=False),
        fixed(1, "reported_status_info", "ready"),
        fixed(1, "reported_health_info", "ok"),
    )
    return Model(
        vendor="qualcomm",
        kind=DeviceKind.NPU,
        name="Cloud AI 100",
        architecture="",
        device_prefix="qaic",
        uuid_prefix="0x",
        driver_version="1.19.8",
        firmware_version="1.19.8",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
