"""What of a device's memory can still be had: one answer for choosing devices and for showing them."""

from accelwatch.schema.reading import Number, Reading


def free_memory(reading: Reading) -> Number | None:
    """Bytes that a new job can get; None when size or use is not known.

    What the driver has reserved for itself is neither used nor free (`nvmlMemory_v2_t.reserved`).
    """
    values = reading.values
    size, used = values.get(("memory_size_bytes",)), values.get(("memory_used_bytes",))
    if size is None or used is None:
        return None
    return max(0, size - used - values.get(("memory_reserved_bytes",), 0))
