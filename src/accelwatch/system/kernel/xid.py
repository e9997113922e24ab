"""What each Xid means and touches. Facts: NVIDIA's Xid catalogue (docs.nvidia.com/deploy/xid-errors).

NVML's events and the kernel log have the same codes; both use the category from here. It follows the
action NVIDIA demands: a code that needs a reset or reboot is in a category that makes a device's health
degraded, one that says "restart the application" or "ignore" is not.
"""

import re

from accelwatch.schema.event import Category

_APP = Category.APPLICATION
_CONTAINED = Category.MEMORY_CONTAINED
_MEMORY = Category.MEMORY_FATAL
_BUS = Category.BUS
_LINK = Category.LINK
_LINK_FATAL = Category.LINK_FATAL
_POWER = Category.POWER
_FIRMWARE = Category.FIRMWARE
_HANG = Category.HANG
_OTHER = Category.OTHER

XIDS: dict[int, tuple[Category, str]] = {
    8: (_APP, "GPU stopped processing"),
    11: (_APP, "invalid or corrupted push buffer stream"),
    13: (_APP, "graphics engine exception"),
    25: (_APP, "invalid or illegal push buffer stream"),
    31: (_APP, "GPU memory page fault"),
    32: (_APP, "invalid or corrupted push buffer stream"),
    37: (_OTHER, "driver firmware error"),
    38: (_OTHER, "driver firmware watchdog"),
    43: (_APP, "GPU stopped processing a channel"),
    44: (_OTHER, "graphics engine fault during context switch"),
    45: (_APP, "pre-emptive clean-up after another error"),
    46: (_HANG, "GPU stopped processing"),
    48: (_MEMORY, "double-bit ECC error"),
    54: (_POWER, "auxiliary power is not connected"),
    60: (_APP, "video processor exception"),
    62: (_FIRMWARE, "internal micro-controller halt"),
    63: (_CONTAINED, "memory row remapped or page retired"),
    64: (_MEMORY, "memory row remap or page retirement failed"),
    66: (_OTHER, "illegal access by the driver"),
    67: (_OTHER, "illegal access by the driver"),
    68: (_APP, "video decoder exception"),
    69: (_APP, "graphics engine class error"),
    74: (_LINK_FATAL, "NVLink error"),
    78: (_OTHER, "vGPU start error"),
    79: (_BUS, "GPU has fallen off the bus"),
    80: (_APP, "corrupted data sent to the GPU"),
    92: (_CONTAINED, "high single-bit ECC error rate"),
    93: (_OTHER, "infoROM wear limit exceeded"),
    94: (_CONTAINED, "contained memory error"),
    95: (_MEMORY, "uncontained memory error"),
    106: (_OTHER, "SMBPBI test message"),
    107: (_OTHER, "SMBPBI test message"),
    109: (_HANG, "context switch timeout"),
    110: (_FIRMWARE, "security fault"),
    119: (_FIRMWARE, "GSP RPC timeout"),
    120: (_FIRMWARE, "GSP error"),
    121: (_LINK, "chip-to-chip link error"),
    136: (_LINK_FATAL, "link training failed"),
    137: (_LINK, "NVLink privilege error"),
    140: (_MEMORY, "unrecovered ECC error"),
    141: (_OTHER, "CUDA fast path error"),
    142: (_OTHER, "video encoder error"),
    143: (_FIRMWARE, "GPU initialisation error"),
    144: (_LINK, "NVLink SAW error"),
    145: (_LINK, "NVLink RLW error"),
    146: (_LINK, "NVLink TLW error"),
    147: (_LINK, "NVLink TREX error"),
    148: (_LINK, "NVLink NVLPW error"),
    149: (_LINK, "NVLink NETIR error"),
    150: (_LINK, "NVLink MSE error"),
    151: (_FIRMWARE, "key rotation error"),
    152: (_OTHER, "DLA SMMU error"),
    153: (_OTHER, "DLA timeout"),
    154: (_OTHER, "GPU recovery action changed"),
    155: (_LINK_FATAL, "NVLink software-defined error"),
    156: (_MEMORY, "resource retirement"),
    157: (_CONTAINED, "resource retirement failed"),
    158: (_HANG, "GPU fatal timeout"),
    159: (_OTHER, "CHI non-data error"),
    160: (_CONTAINED, "memory channel retirement"),
    161: (_CONTAINED, "memory channel retirement failed"),
    162: (_POWER, "power smoothing engaged again"),
    163: (_POWER, "power smoothing disengaged"),
    164: (_POWER, "power smoothing circuit near its end of life"),
    165: (_POWER, "power smoothing circuit at its end of life"),
    166: (_LINK_FATAL, "confidential traffic before link set-up"),
    167: (_BUS, "PCIe fatal timeout"),
    168: (_MEMORY, "reduced GPU memory capacity"),
    169: (_FIRMWARE, "internal micro-controller halt"),
    170: (_LINK, "interrupt in confidential-computing mode"),
    171: (_MEMORY, "uncorrectable DRAM error"),
    172: (_MEMORY, "uncorrectable SRAM error"),
    173: (_LINK_FATAL, "chip-to-chip link failure"),
    185: (_OTHER, "sparing event"),
}

_ENGINES = (
    (frozenset((39, 40, 41, 70, 71, 72, 75, 76, 77, 85, *range(126, 136))), "copy engine"),
    (frozenset((83, 84, 88, 89, 96, 97, 98)), "video decoder"),
    (frozenset((82, *range(99, 106))), "JPEG engine"),
    (frozenset((86, 139)), "optical flow engine"),
)


def describe(number: int) -> tuple[Category, str]:
    """(category, meaning) of an Xid; a code that NVIDIA does not document is `other`."""
    if number in XIDS:
        return XIDS[number]
    for numbers, engine in _ENGINES:
        if number in numbers:
            return _APP, f"{engine} exception"
    return _OTHER, "code not documented"


_MAX_DIGITS = 5


def category_of(code: str, category: str) -> Category:
    """The category of an event: what its source says, else NVIDIA's own of an Xid."""
    if category in frozenset(Category) - {_OTHER}:
        return Category(category)
    number = code.removeprefix("xid_")
    plain = number.isascii() and number.isdecimal() and len(number) <= _MAX_DIGITS
    return describe(int(number))[0] if number != code and plain else _OTHER


_FATAL_PATTERN = re.compile(r"\b(non-?)?fatal\b", re.IGNORECASE)
# Codes whose message carries its own severity word (Blackwell NVLink).
NVLINK5 = frozenset(range(144, 151))


def category_in(code: str, text: str) -> Category:
    """The category of an event of which a line is all that is left.

    A code whose text says whether it is fatal counts as fatal where the text is lost.
    """
    category = category_of(code, "")
    number = code.removeprefix("xid_")
    if number == code or not number.isdecimal() or int(number) not in NVLINK5:
        return (
            _LINK_FATAL if code.startswith("sxid_") and "fatal" in _severities(text) else category
        )
    return _LINK if _severities(text) == {"nonfatal"} else _LINK_FATAL


def _severities(text: str) -> set[str]:
    return {match[0].lower().replace("-", "") for match in _FATAL_PATTERN.finditer(text)}
