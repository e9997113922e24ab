"""What each NVIDIA Xid and NVSwitch SXid touches, by its code and the words of its message.

SXid: Fabric Manager user guide DU-09883, table of errors.
"""

from accelwatch.schema.event import Category
from accelwatch.xid import describe

NVLINK5_XIDS = frozenset(range(144, 151))
"""Codes whose message carries its own severity word (Blackwell NVLink)."""

_SXID_FABRIC = frozenset({12020, 22003, 22011, *range(23001, 23018), 10003})
_SXID_PORT = frozenset(
    {
        11001, 11009, 11013, 11018, 11019, 11020, 12001, 12002, 12022, 12024, 12025, 12026, 12027,
        12030, 12031, 12032, 14017, 15001, 15006, 15009, 15010, 15012, 15013, 19047, 19048, 19054,
        19056, 19058, 19060, 19061, 19063, 19064, 19066, 19067, 19069, 19070, 20034, 22012,
        24004, 24005, 24006, 24007,
    }
)  # fmt: skip
_SXID_RESET = frozenset({11004, 12028, 19084})
"""Called non-fatal, yet cured by a reset only: of the guest, or of all GPUs and switches."""
_SXID_THERMAL = frozenset({10004, 10005})


def xid_category(xid: int, message: str = "") -> Category:
    """Category of an Xid; codes 144-150 go by the word `Fatal` in the message, as NVIDIA says.

    Code 154 (recovery action changed) is `other`: the action itself is read from the device.
    """
    words = message.partition("(")[0].lower().split()
    if xid in NVLINK5_XIDS and "fatal" in words:
        return Category.LINK_FATAL
    return describe(xid)[0]


def sxid_category(sxid: int, fatal: bool) -> Category:
    """Category of an SXid: fatal when the message says so, or the guide, or its cure is a reset."""
    if sxid in _SXID_THERMAL:
        return Category.THERMAL
    if fatal or sxid in _SXID_FABRIC | _SXID_PORT | _SXID_RESET:
        return Category.LINK_FATAL
    return Category.LINK
