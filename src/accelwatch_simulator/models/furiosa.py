"""FuriosaAI: an inference card.

Figures are those of the vendor's data sheet, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch.schema.device import DeviceKind
from accelwatch_simulator.models.parts import GIB, Model, fixed, heat, live


@cache
def rngd() -> Model:
    """A card of which the vendor's tool says little: no ECC, no throttling, no energy."""
    memory, watts = 48 * GIB, 180.0
    rows = (
        live("busy", 0.0, 1.0, "utilization_ratio"),
        live("busy_s", 0.0, 1.0, "busy_seconds_total"),
        live("busy_peak", 0.0, 1.0, "window_utilization_max_ratio"),
        live("power", 0.0, watts, "power_watts"),
        live("full_power_s", 0.0, watts, "energy_joules_total", "integrated"),
        live("power_peak", 0.0, watts, "window_power_max_watts"),
        live("memory", 0, memory, "memory_used_bytes"),
        live("memory_peak", 0, memory, "window_memory_used_max_bytes"),
        fixed(memory, "memory_size_bytes"),
        fixed(watts, "power_limit_watts", "enforced"),
        fixed(1_000_000_000, "clock_hertz", "npu"),
        *heat("gpu", 30, 45),
        fixed(1, "reported_health_info", "ok"),
        fixed(1, "reported_status_info", "alive"),
    )
    return Model(
        vendor="furiosa",
        kind=DeviceKind.NPU,
        name="FuriosaAI RNGD",
        architecture="rngd",
        device_prefix="npu",
        uuid_prefix="",
        driver_version="2026.3.0",
        firmware_version="2026.3.0",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
