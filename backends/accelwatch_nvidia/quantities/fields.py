"""Table of NVML field ids (nvml.h `NVML_FI_DEV_*`): a row a quantity, read by one call for all."""

from collections.abc import Callable

import msgspec

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch_nvidia import mapping
from accelwatch_nvidia.mapping import Outcome

GPU = 0
MODULE = 1
# Scopes of the power fields: NVML_POWER_SCOPE_* (nvml.h).
MEMORY = 2
# Scope of a link field that sums all links (nvml.h).
ALL_LINKS = 0xFFFF_FFFF

RECOVERY_ACTION = 230
RESET_STATUS = 226
DRAIN_AND_RESET_STATUS = 227
C2C_LINK_COUNT = 170
C2C_LINK_STATUS = 171
# NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT: the margin at which the hardware slows down, mostly -2.
SLOWDOWN_MARGIN = 194
BANK_REMAP_PENDING = 307


class Field(msgspec.Struct, frozen=True):
    """One field: its ids, the series it gives and the conversion to base units."""

    field: int
    scope: int
    series: Series
    convert: Callable[[Number], Outcome]
    slow: bool = False
    group: str = ""

    @property
    def pair(self) -> tuple[int, int]:
        """(field id, scope id)."""
        return self.field, self.scope


_MILLI = mapping.divide(1000)
_NANO = mapping.divide(1_000_000_000)
_KIB = mapping.scale(1024)

# Nanoseconds under each policy. 75 is all thermal causes together and stands in where the driver is
# too old for 269; 77 is the board limit.
_THROTTLE = (
    (74, "power"),
    (76, "sync_boost"),
    (77, "other"),
    (78, "low_utilization"),
    (79, "reliability"),
    (269, "thermal_software"),
    (270, "thermal_hardware"),
    (271, "power_brake"),
    (75, "thermal_software"),
)

_PCIE_ERRORS = (
    (94, "replay"),
    (95, "replay_rollover"),
    (173, "correctable"),
    (174, "nak_received"),
    (175, "receiver"),
    (176, "bad_tlp"),
    (177, "nak_sent"),
    (178, "bad_dllp"),
    (179, "nonfatal"),
    (180, "fatal"),
    (181, "unsupported_request"),
    (182, "lcrc"),
    (183, "lane"),
)

_LIMITS = ((190, "enforced"), (192, "requested"), (189, "default"), (187, "min"), (188, "max"))

FIELDS: tuple[Field, ...] = (
    Field(186, GPU, ("power_watts",), mapping.milliwatts),
    Field(185, GPU, ("power_watts",), mapping.milliwatts),
    Field(185, GPU, ("power_average_watts",), mapping.milliwatts, group="components"),
    Field(83, GPU, ("energy_joules_total", "hardware"), _MILLI),
    Field(82, GPU, ("temperature_celsius", "memory"), mapping.celsius),
    *(
        Field(number, GPU, ("throttle_seconds_total", reason), _NANO)
        for number, reason in _THROTTLE
    ),
    Field(197, GPU, ("pcie_bytes_total", "transmit"), mapping.plain),
    Field(198, GPU, ("pcie_bytes_total", "receive"), mapping.plain),
    Field(138, ALL_LINKS, ("interconnect_bytes_total", "nvlink", "transmit"), _KIB),
    Field(139, ALL_LINKS, ("interconnect_bytes_total", "nvlink", "receive"), _KIB),
    Field(186, MODULE, ("power_component_watts", "module"), mapping.milliwatts, group="components"),
    Field(185, MODULE, ("power_component_watts", "module"), mapping.milliwatts, group="components"),
    Field(186, MEMORY, ("power_component_watts", "memory"), mapping.milliwatts, group="components"),
    Field(185, MEMORY, ("power_component_watts", "memory"), mapping.milliwatts, group="components"),
    *(
        Field(
            number,
            MODULE,
            ("power_component_limit_watts", "module", limit),
            mapping.milliwatts,
            slow=True,
            group="components",
        )
        for number, limit in _LIMITS
    ),
    *(
        Field(
            number,
            GPU,
            ("memory_remapped_rows_inactive", cause),
            mapping.plain,
            slow=True,
            group="ecc",
        )
        for number, cause in ((301, "corrected"), (302, "uncorrected"))
    ),
    *(
        Field(number, GPU, ("pcie_errors_total", kind), mapping.plain, slow=True)
        for number, kind in _PCIE_ERRORS
    ),
)

# Error counters of one link, the link in the scope: 161-163 Hopper, 206-221 NVLink 5.
LINK_ERRORS: tuple[tuple[int, str], ...] = (
    (161, "replay"),
    (162, "recovery"),
    (163, "crc"),
    (206, "malformed_packet"),
    (207, "buffer_overrun"),
    (208, "receive"),
    (209, "receive_remote"),
    (210, "receive_general"),
    (211, "link_integrity"),
    (212, "transmit_discard"),
    (214, "recovery_failed"),
    (219, "effective"),
    (221, "symbol"),
)

# Error counters over all links, up to Ampere.
LINK_ERROR_TOTALS: tuple[tuple[int, str], ...] = (
    (38, "crc_flit"),
    (45, "crc_data"),
    (52, "replay"),
    (59, "recovery"),
    (160, "ecc_data"),
)

# Transmit, then receive: (field id, bytes a count), the first that is supported counts.
LINK_BYTES: tuple[tuple[tuple[int, int], ...], ...] = (
    ((138, 1024), (202, 1)),
    ((139, 1024), (204, 1)),
)
