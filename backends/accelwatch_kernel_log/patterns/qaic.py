"""Messages of qaic, the driver of Qualcomm Cloud AI cards. Wordings: drivers/accel/qaic."""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.patterns.pattern import BDF, Pattern, Verdict, row

_CARD = rf"qaic {BDF}: "
# Of one message: what the driver calls the source, and the category of an error that costs data or the
# device, and of one that does not.
_SOURCES = {
    "SoC Memory": ("soc_memory", Category.MEMORY_FATAL, Category.MEMORY_CONTAINED),
    "DDR": ("ddr", Category.MEMORY_FATAL, Category.MEMORY_CONTAINED),
    "NSP Memory": ("nsp_memory", Category.MEMORY_FATAL, Category.MEMORY_CONTAINED),
    "PCIE": ("pcie", Category.BUS, Category.LINK),
    "System Bus source 1": ("system_bus", Category.BUS, Category.OTHER),
    "System Bus source 2": ("system_bus", Category.BUS, Category.OTHER),
    "Temperature Sensors": ("temperature", Category.THERMAL, Category.THERMAL),
}


def _ras(groups: dict[str, str]) -> Verdict:
    """The driver resets the card after an uncorrectable error, unless that is non-fatal."""
    name, fatal, contained = _SOURCES[groups["block"]]
    is_fatal = groups["severity"] == "Uncorrectable"
    return f"qaic_ras_{name}", fatal if is_fatal else contained


QAIC: tuple[Pattern, ...] = (
    row(
        "qaic_ras",
        Category.OTHER,
        rf"{_CARD}RAS event\.\nClass:(?P<class>\w+)\n"
        r"Description:(?P<severity>Correctable|Uncorrectable(?: Non-Fatal)?) error from "
        rf"(?P<block>{'|'.join(_SOURCES)})\n",
        decide=_ras,
    ),
    row("qaic_fatal_error", Category.FIRMWARE, rf"{_CARD}Fatal error received from device"),
    row(
        "qaic_firmware_incompatible",
        Category.FIRMWARE,
        rf"{_CARD}(?:\w+: )?Control protocol version \((?P<version>[\d.-]+)\) not supported",
    ),
    row(
        "qaic_start_failed",
        Category.FIRMWARE,
        rf"{_CARD}mhi_(?:register_controller|prepare_for_power_up|async_power_up) failed"
        r"(?: after reset)? (?P<error>-\d+)",
    ),
)
