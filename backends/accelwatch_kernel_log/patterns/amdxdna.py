"""Messages of amdxdna, the driver of AMD's NPUs. Wordings: its source, and what users have reported."""

from accelwatch.schema.event import Category
from accelwatch_kernel_log.patterns.pattern import BDF, Pattern, row

_NPU = rf"amdxdna {BDF}: "
# The function that says it comes first in most releases.
_PREFIX = rf"{_NPU}(?:\[drm\] \*ERROR\* )?(?:\w+: )?"

AMDXDNA: tuple[Pattern, ...] = (
    row("amdxdna_firmware_dead", Category.FIRMWARE, rf"{_PREFIX}firmware is not alive"),
    row(
        "amdxdna_firmware_incompatible",
        Category.FIRMWARE,
        rf"{_PREFIX}Incompatible firmware protocol(?: major (?P<major>\d+) minor (?P<minor>\d+))?",
    ),
    row(
        "amdxdna_init_failed",
        Category.FIRMWARE,
        rf"{_PREFIX}(?:Hardware init failed, ret|probe with driver amdxdna failed with error) "
        r"(?P<error>-?\d+)",
    ),
    row(
        "amdxdna_smu_failed",
        Category.FIRMWARE,
        rf"{_PREFIX}smu cmd (?P<command>\d+) (?:failed|timed out)",
    ),
    row("amdxdna_firmware_timeout", Category.FIRMWARE, rf"{_PREFIX}Wait for completion timeout"),
    row(
        "amdxdna_hang",
        Category.HANG,
        rf"{_PREFIX}(?:Device isn't making progress|TDR timeout detected)",
    ),
    row(
        "amdxdna_resume_failed",
        Category.FIRMWARE,
        rf"{_PREFIX}(?:Resume failed(?:, ret|:)|reset failed:) (?P<error>-?\d+)",
    ),
    # A command may be refused for what a program asks: that alone is no fault of the device.
    row(
        "amdxdna_command_failed",
        Category.OTHER,
        rf"{_PREFIX}command opcode (?P<opcode>0x[0-9a-f]+) failed, status (?P<status>0x[0-9a-f]+)",
    ),
    row(
        "amdxdna_page_fault",
        Category.APPLICATION,
        rf"{_NPU}AMD-Vi: Event logged \[IO_PAGE_FAULT domain=(?P<domain>\w+) "
        r"address=(?P<address>0x[0-9a-f]+)",
    ),
)
