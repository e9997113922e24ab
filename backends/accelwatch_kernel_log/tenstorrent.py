"""Messages of tt-kmd, the driver of Tenstorrent. Wordings: its source."""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.pattern import BDF, Pattern, row

_CHIP = rf"tenstorrent {BDF}: "

TENSTORRENT: tuple[Pattern, ...] = (
    row(
        "tenstorrent_off_the_bus",
        Category.BUS,
        rf"{_CHIP}ARC queue [RW]PTR read returned all-1s",
    ),
    row(
        "tenstorrent_arc_timeout",
        Category.FIRMWARE,
        rf"{_CHIP}Timeout waiting for (?:ARC response|space in ARC message queue)",
    ),
    row(
        "tenstorrent_noc_hung",
        Category.HANG,
        rf"{_CHIP}Couldn't communicate with firmware; NOC is likely hung",
    ),
    row(
        "tenstorrent_unresponsive",
        Category.HANG,
        rf"{_CHIP}(?:Watchdog is disabled and device|Device) is unresponsive, cannot reset",
    ),
    row("tenstorrent_init_failed", Category.FIRMWARE, rf"{_CHIP}Device initialization failed"),
    row(
        "tenstorrent_firmware_not_running",
        Category.FIRMWARE,
        rf"{_CHIP}(?:Skipping message (?P<message>\w+) due to FW not running"
        r"|Timed out waiting for FW telemetry|Failed to send ARC message for (?P<state>\w+) state)",
    ),
)
