"""Messages of tt-kmd, the driver of Tenstorrent. Wordings: its source, releases 1.1 to 2.10."""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.patterns.pattern import BDF, Pattern, Verdict, row

# The PCI function, or up to 2.8 in some messages the driver's own number of the chip.
_CHIP = rf"tenstorrent (?:{BDF}|tenstorrent[!/](?P<number>\d{{1,4}})): "
# Releases before 2.8 name no chip in messages about its firmware.
_PREFIX = rf"(?:{_CHIP}|tenstorrent: )"


def _of_chip(code: str, category: Category, regex: str) -> Pattern:
    def decide(groups: dict[str, str]) -> Verdict:
        if number := groups.pop("number", ""):
            groups["subject"] = f"tt{int(number)}"
        return code, category

    return row(code, category, regex, decide=decide)


TENSTORRENT: tuple[Pattern, ...] = (
    _of_chip(
        "tenstorrent_off_the_bus",
        Category.BUS,
        rf"{_CHIP}ARC queue [RW]PTR read returned all-1s",
    ),
    _of_chip(
        "tenstorrent_arc_timeout",
        Category.FIRMWARE,
        rf"{_PREFIX}(?:Timeout waiting for (?:ARC response|space in ARC message queue)"
        r"|Tenstorrent FW message timeout: (?P<message>\w+))",
    ),
    _of_chip(
        "tenstorrent_noc_hung",
        Category.HANG,
        rf"{_CHIP}Couldn't communicate with firmware; NOC is likely hung",
    ),
    _of_chip(
        "tenstorrent_unresponsive",
        Category.HANG,
        rf"{_CHIP}(?:Watchdog is disabled and device|Device) is unresponsive, cannot reset",
    ),
    _of_chip(
        "tenstorrent_init_failed",
        Category.FIRMWARE,
        rf"{_PREFIX}(?:Device initialization failed|ARC initialization failed"
        r"|Timeout waiting for (?:ARC FW initialization to complete|SPI bootrom init done))",
    ),
    _of_chip(
        "tenstorrent_firmware_not_running",
        Category.FIRMWARE,
        rf"{_PREFIX}(?:Skipping message (?P<message>\w+) due to FW not running"
        r"|Timed out waiting for FW telemetry|Failed to send ARC message for (?P<state>\w+) state)",
    ),
    _of_chip(
        "tenstorrent_link_slow",
        Category.LINK,
        rf"{_CHIP}(?:Link retrain incomplete: Gen(?P<current>\d) \(target Gen(?P<target>\d)\)"
        r"|Timeout waiting for link retrain to complete)",
    ),
)
