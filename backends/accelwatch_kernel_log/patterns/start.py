"""A driver that does not bring a device up, in the words of the driver core: the same for every vendor.

Wordings: drivers/base/dd.c, call_driver_probe() and, before Linux 6.1, really_probe().
"""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.patterns.pattern import BDF, Pattern, Verdict, row

PROBE_FAILED = "driver_probe_failed"
# Of accelerators: others report a network adapter that does not come up.
_DRIVERS = (
    r"amdgpu|amdxdna|bi_driver|cambricon[\w-]*|devdrv[\w-]*|furiosa[\w-]*|habanalabs|hycu|hydcu|hygpu"
    r"|i915|intel_vpu|iluvatar[\w-]*|metax|mtgpu|neuron|nouveau|nvidia|nvgpu|ppu|qaic|radeon"
    r"|rebellions|rocket|tenstorrent|xe"
)
# EPROBE_DEFER (include/linux/errno.h): it is tried again.
_LATER = "-517"


def _failed(groups: dict[str, str]) -> Verdict | None:
    return None if groups["error"] == _LATER else (PROBE_FAILED, Category.FIRMWARE)


START: tuple[Pattern, ...] = (
    row(
        PROBE_FAILED,
        Category.FIRMWARE,
        rf"(?:{_DRIVERS}) {BDF}: probe with driver (?P<driver>[\w-]+) failed with error "
        r"(?P<error>-?\d+)",
        decide=_failed,
    ),
    row(
        PROBE_FAILED,
        Category.FIRMWARE,
        rf"(?P<driver>{_DRIVERS}): probe of {BDF} failed with error (?P<error>-?\d+)",
        decide=_failed,
    ),
)
