"""The plain number files of an amdgpu device: one row per file.

Source: Linux Documentation/gpu/amdgpu/thermal.rst and driver-misc.rst.
"""

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_amd.sysfs.tree import Tree


class NumberFile(msgspec.Struct, frozen=True):
    """One file that holds one number: `value = number * scale`, believed up to `highest`."""

    file: str
    key: str
    labels: tuple[str, ...] = ()
    scale: float = 1
    highest: int = 1 << 62


_PERCENT = 0.01

ROWS: tuple[NumberFile, ...] = (
    NumberFile("gpu_busy_percent", "utilization_ratio", (), _PERCENT, 100),
    NumberFile("mem_busy_percent", "memory_controller_utilization_ratio", (), _PERCENT, 100),
    NumberFile("vcn_busy_percent", "engine_utilization_ratio", ("vcn",), _PERCENT, 100),
    NumberFile("mem_info_vram_total", "memory_size_bytes"),
    NumberFile("mem_info_vram_used", "memory_used_bytes"),
    NumberFile("mem_info_vis_vram_total", "memory_pool_size_bytes", ("visible",)),
    NumberFile("mem_info_vis_vram_used", "memory_pool_used_bytes", ("visible",)),
    NumberFile("mem_info_gtt_total", "memory_pool_size_bytes", ("gtt",)),
    NumberFile("mem_info_gtt_used", "memory_pool_used_bytes", ("gtt",)),
)


def read_attributes(device: Tree, out: Collected) -> None:
    """Record every row's value, or the reason why it has none.

    A file that amdgpu does not offer says nothing: the quantity may have another source.
    """
    for row in ROWS:
        number = device.integer(row.file)
        if isinstance(number, int):
            if not 0 <= number <= row.highest:
                number = Absence.ERROR
            else:
                out.put(row.key, number if row.scale == 1 else number * row.scale, *row.labels)
        if isinstance(number, Absence) and number is not Absence.UNSUPPORTED:
            out.miss(row.key, number, *row.labels)
    _refuse_overfull(out)


def _refuse_overfull(out: Collected) -> None:
    """More memory in use than there is cannot be true, and which of the two is wrong is unknown."""
    for size, used in (
        (("memory_size_bytes",), ("memory_used_bytes",)),
        (("memory_pool_size_bytes", "visible"), ("memory_pool_used_bytes", "visible")),
        (("memory_pool_size_bytes", "gtt"), ("memory_pool_used_bytes", "gtt")),
    ):
        if out.values.get(used, 0) > out.values.get(size, out.values.get(used, 0)):
            del out.values[used]
            out.absent[used] = Absence.ERROR
    if out.values.get(("memory_size_bytes",)) == 0:
        del out.values[("memory_size_bytes",)]
        out.absent[("memory_size_bytes",)] = Absence.ERROR
