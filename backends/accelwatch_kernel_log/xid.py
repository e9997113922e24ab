"""What each NVIDIA Xid and NVSwitch SXid touches.

Xid: NVIDIA's Xid catalogue (docs.nvidia.com/deploy/xid-errors) by its immediate-action bucket; a code
whose bucket asks for a reset, a restart of the machine or service is in a fatal category, one that is
to be ignored or only watched never is. SXid: Fabric Manager user guide DU-09883, table of errors.
"""

from collections.abc import Mapping

from accelwatch.schema.event import Category

_APPLICATION = (
    8, 11, 13, 25, 31, 32, 39, 40, 41, 43, 45, 60, 68, 69, 70, 71, 72, 75, 76, 77, 80, 82, 83, 84,
    85, 86, 88, 89, *range(96, 106), *range(126, 136), 139,
)  # fmt: skip
_BY_CATEGORY: tuple[tuple[Category, tuple[int, ...]], ...] = (
    (Category.APPLICATION, _APPLICATION),
    (Category.MEMORY_CONTAINED, (63, 92, 94, 157, 160, 161)),
    (Category.MEMORY_FATAL, (48, 64, 95, 140, 156, 168, 171, 172)),
    (Category.BUS, (79, 167)),
    (Category.LINK, (121, 137, 144, 145, 146, 147, 148, 149, 150, 170)),
    (Category.LINK_FATAL, (74, 136, 155, 166, 173)),
    (Category.POWER, (54, 162, 163, 164, 165)),
    (Category.FIRMWARE, (62, 110, 119, 120, 143, 151, 169)),
    (Category.HANG, (46, 109, 158)),
)

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
_SXID_THERMAL = frozenset({10004, 10005})


def _table(rows: tuple[tuple[Category, tuple[int, ...]], ...]) -> Mapping[int, Category]:
    return {xid: category for category, xids in rows for xid in xids}


_XID = _table(_BY_CATEGORY)


def xid_category(xid: int, message: str = "") -> Category:
    """Category of an Xid; codes 144-150 go by the word `Fatal` in the message, as NVIDIA says.

    Code 154 (recovery action changed) is `other`: the action itself is read from the device.
    """
    words = message.partition("(")[0].lower().split()
    if xid in NVLINK5_XIDS and "fatal" in words:
        return Category.LINK_FATAL
    return _XID.get(xid, Category.OTHER)


def sxid_category(sxid: int, fatal: bool) -> Category:
    """Category of an SXid: fatal when the message or the guide says so."""
    if sxid in _SXID_THERMAL:
        return Category.THERMAL
    if fatal or sxid in _SXID_FABRIC or sxid in _SXID_PORT:
        return Category.LINK_FATAL
    return Category.LINK
