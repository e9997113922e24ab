"""Huawei Ascend: a training card.

Figures are those that the vendor's tool prints for a card, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch.schema.device import DeviceKind
from accelwatch_lab.simulator.models.rows import GIB, Model, each, fixed, heat, terse


# Built for the vendors in use only, and shared by all their nodes.
@cache
def ascend_910b() -> Model:
    """An NPU of which the vendor's tool prints counters of ECC, and no traffic."""
    memory, watts = 64 * GIB, 392.0
    severities = ("corrected", "uncorrected")
    rows = (
        *terse(watts, memory),
        *heat("gpu", 34, 36),
        *each(0, "ecc_errors_total", *severities),
        *each(0, "ecc_lifetime_errors", *severities),
        *each(0, "memory_retired_pages", "single_bit", "double_bit"),
        fixed(0, "memory_repair_pending"),
        fixed(1, "reported_status_info", "OK"),
    )
    return Model(
        vendor="ascend",
        kind=DeviceKind.NPU,
        name="Ascend 910B3",
        architecture="ascend910b",
        device_prefix="ascend",
        uuid_prefix="",
        driver_version="25.2.0",
        firmware_version="7.7.0.6.236",
        part_number="",
        fabric="",
        board_watts=watts,
        memory_bytes=memory,
        rows=rows,
    )
