"""Messages of the NVIDIA driver (`NVRM`), its NVSwitch driver and nvidia-peermem."""

import re

from accelwatch.schema.event import Category
from accelwatch.system.kernel.xid import NVLINK5, describe
from accelwatch_kernel_log.patterns.pattern import BDF, Pattern, Verdict, row

_SXID_FABRIC = frozenset({12020, 22003, 22011, *range(23001, 23018), 10003})
_SXID_PORT = frozenset(
    {
        11001, 11009, 11013, 11018, 11019, 11020, 12001, 12002, 12022, 12024, 12025, 12026, 12027,
        12030, 12031, 12032, 14017, 15001, 15006, 15009, 15010, 15012, 15013, 19047, 19048, 19054,
        19056, 19058, 19060, 19061, 19063, 19064, 19066, 19067, 19069, 19070, 20034, 22012,
        24004, 24005, 24006, 24007,
    }
)  # fmt: skip
# Called non-fatal, yet cured by a reset only: of the guest, or of all GPUs and switches.
_SXID_RESET = frozenset({11004, 12028, 19084})
_SXID_THERMAL = frozenset({10004, 10005})
_LOST_FAULT = "nvidia_lost"
# Some messages name the GPU by the driver's own index only.
_INDEX = r"(?:(?P<subject>GPU\d+) )?"
_NVLINK5 = re.compile(
    r"(?P<unit>\w+)\s+(?P<severity>Fatal|Nonfatal|Link fatal)\s+XC\d+ i\d+ Link (?P<link>-?\d+)"
)
_ACTION = re.compile(
    r"GPU recovery action changed from \w+ \([^)]*\) to (?P<value>\w+) \((?P<action>[^)]*)\)"
)
_CAUSE = re.compile(r"caused by previous Xid (?P<cause>\d{1,4})\b")
_LINK = re.compile(r"\blink (?P<link>\d+)")
_LINK_XIDS = frozenset({74, 137})
_GSP = re.compile(r"from (?P<driver_name>GPU\d+) GSP")
_XID = (
    r"(?: GPU-I:(?P<gpu_instance>[0-9a-fA-F]+))?(?: GPU-CI:(?P<compute_instance>[0-9a-fA-F]+))?"
    r"\): (?P<xid>\d{1,4})\b"
    r"(?:, pid=(?:'?(?P<pid>\d+)'?|'?<unknown>'?)"
    r"(?:, name=(?:'?<unknown>'?|(?P<process>[^,\n]*)))?)?(?:, ?(?P<message>.*))?"
)


def xid_category(xid: int, message: str = "") -> Category:
    """Category of an Xid; codes 144-150 go by the word `Fatal` in the message, as NVIDIA says.

    Code 154 (recovery action changed) is `other`: the action itself is read from the device.
    """
    tokens = message.partition("(")[0].lower().split()
    if xid in NVLINK5 and "fatal" in tokens:
        return Category.LINK_FATAL
    return describe(xid)[0]


def sxid_category(sxid: int, fatal: bool) -> Category:
    """Category of an SXid: fatal when the message says so, or the guide, or its cure is a reset.

    Source: Fabric Manager user guide DU-09883, table of errors.
    """
    if sxid in _SXID_THERMAL:
        return Category.THERMAL
    if fatal or sxid in _SXID_FABRIC | _SXID_PORT | _SXID_RESET:
        return Category.LINK_FATAL
    return Category.LINK


def _details(xid: int, message: str) -> dict[str, str]:
    """Parts of the message of those codes whose message says more than the code."""
    if xid in NVLINK5:
        match = _NVLINK5.match(message)
    elif xid == 154:
        match = _ACTION.match(message)
    elif xid in _LINK_XIDS:
        match = _LINK.search(message)
    else:
        match = _GSP.search(message) if xid == 119 else None
    return {key: value for key, value in match.groupdict().items() if value} if match else {}


def _xid(groups: dict[str, str]) -> Verdict:
    xid = int(groups["xid"])
    message = groups.get("message", "")
    groups.update(_details(xid, message))
    if cause := _CAUSE.search(message):
        groups["follows"] = f"xid_{int(cause['cause'])}"
    if xid == 79:
        groups["fault"] = _LOST_FAULT
    elif xid == 154:
        groups["fault"] = f"xid_154 {groups.get('action', '')}"
    return f"xid_{xid}", xid_category(xid, message)


def _sxid(groups: dict[str, str]) -> Verdict:
    sxid = int(groups["sxid"])
    return f"sxid_{sxid}", sxid_category(sxid, groups["severity"] == "Fatal")


NVIDIA: tuple[Pattern, ...] = (
    row("xid", Category.OTHER, rf"NVRM: Xid ?\((?:PCI:)?{BDF}{_XID}", decide=_xid),
    row(
        "xid",
        Category.OTHER,
        rf"NVRM: Xid ?\((?:PCI:)?[0-9a-fA-F][0-9a-fA-F:]{{0,20}}{_XID}",
        decide=_xid,
    ),
    row(
        "sxid",
        Category.LINK,
        rf"nvidia-nvswitch(?P<switch>\d+): SXid \((?:PCI:)?{BDF}\): (?P<sxid>\d{{1,6}}), "
        r"(?P<severity>Fatal|Non-fatal)(?:, Link (?P<link>\d+))?[, ]*(?P<message>.*)",
        decide=_sxid,
    ),
    row(
        "nvidia_fallen_off_bus",
        Category.BUS,
        rf"NVRM: GPU (?:at (?:PCI:)?)?{BDF}:? (?:GPU )?has fallen off the bus",
        fault=_LOST_FAULT,
    ),
    row(
        "nvidia_fallen_off_bus",
        Category.BUS,
        rf"NVRM: The NVIDIA GPU {BDF}(?:[^\n]*\n){{0,3}}?[^\n]*fallen off the bus",
        fault=_LOST_FAULT,
    ),
    row(
        "nvidia_fallen_off_bus",
        Category.BUS,
        r"NVRM: (?:installed in this system has )?fallen off the bus and is not responding",
        fault=_LOST_FAULT,
    ),
    row(
        "nvidia_init_failed",
        Category.FIRMWARE,
        rf"NVRM: (?:GPU {BDF}: )?(?:RmInitAdapter failed! \((?P<status>[^)]*)\)"
        r"|rm_init_adapter failed(?: for device bearing minor number (?P<minor>\d+))?)",
    ),
    row(
        "nvidia_gsp_heartbeat",
        Category.FIRMWARE,
        rf"NVRM: {_INDEX}_kgspIsHeartbeatTimedOut: Heartbeat timed out",
    ),
    row(
        "nvidia_gsp_rpc_failing",
        Category.FIRMWARE,
        rf"NVRM: Rate limiting GSP RPC error prints for GPU at (?:PCI:)?{BDF}",
    ),
    row(
        "nvidia_nvlink_rx_detect",
        Category.LINK_FATAL,
        rf"NVRM: {_INDEX}knvlink\w+: .*postRxDetLinkMask failed",
    ),
    row(
        "nvidia_peermem_invalid_context",
        Category.APPLICATION,
        r"nvidia[-_]peermem \S+ ERROR detected invalid context",
    ),
)
