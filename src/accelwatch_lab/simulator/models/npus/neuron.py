"""AWS Neuron: a Trainium of which the driver reports memory and ECC errors only.

Figures are those of the vendor's pages, rounded; nothing here was read from a device.
"""

from functools import cache

from accelwatch.schema.device import DeviceKind
from accelwatch_lab.simulator.models.rows import GIB, Model, fixed, live


# Built for the vendors in use only, and shared by all their nodes.
@cache
def trainium1() -> Model:
    """A Trainium1 as its driver shows it: no load, no power, no temperature, no health."""
    memory = 32 * GIB
    return Model(
        vendor="neuron",
        kind=DeviceKind.NPU,
        name="Trainium1",
        architecture="NCv2",
        device_prefix="neuron",
        uuid_prefix="",
        driver_version="2.26.5.0",
        firmware_version="",
        part_number="",
        fabric="",
        board_watts=0.0,
        memory_bytes=memory,
        rows=(
            live("memory", 0, memory, "memory_used_bytes"),
            live("memory_peak", 0, memory, "window_memory_used_max_bytes"),
            fixed(memory, "memory_size_bytes"),
            fixed(0, "ecc_errors_total", "uncorrected"),
            fixed(0, "memory_repair_pending"),
        ),
    )
