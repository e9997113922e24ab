"""What a rule may read of error events: the kinds of events, and the functions, a row each."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from accelwatch.expr.vocabulary.names import NameTable, Type
from accelwatch.schema.event import SEVERITIES, Category

LONGEST_S = 30 * 86400
# How far back to search by default: what is older is history, not news.
WITHIN_S = 600


class EventUse(StrEnum):
    """The functions over the events that match."""

    HAPPENED = "event"
    LAST = "last"
    SINCE = "since"
    COUNT = "count"


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """One function over events."""

    use: EventUse
    usage: str
    help: str
    result: Type
    # Whether it accepts a duration.
    within: bool


_ROWS = (
    EventRow(
        use=EventUse.HAPPENED,
        usage='event("xid", code in [48, 79], within="10m")',
        result=Type.BOOL,
        within=True,
        help="whether such an event was reported in the last time, ten minutes unless said; with "
        'until="boot", since the node was booted',
    ),
    EventRow(
        use=EventUse.LAST,
        usage='last("boot")',
        result=Type.NUMBER,
        within=False,
        help="when the last such event was, in Unix seconds; missing if there was none",
    ),
    EventRow(
        use=EventUse.SINCE,
        usage='since("xid", code == 79)',
        result=Type.NUMBER,
        within=False,
        help="seconds since the last such event; missing if there was none",
    ),
    EventRow(
        use=EventUse.COUNT,
        usage='count("xid", code == 63, within="24h")',
        result=Type.NUMBER,
        within=True,
        help="how many such events there were",
    ),
)

EVENT_FUNCTIONS: Mapping[str, EventRow] = MappingProxyType({row.use.value: row for row in _ROWS})


class EventKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind: its codes are these words, or begin with one and an underscore."""

    name: str
    codes: tuple[str, ...]
    help: str
    # Whether `code` is the number after the word.
    numbered: bool = False
    # Whether drivers of accelerators report it, of a device.
    of_devices: bool = False


_KINDS = (
    EventKind(
        name="xid",
        codes=("xid",),
        numbered=True,
        of_devices=True,
        help="NVIDIA's Xid; `code` is its number",
    ),
    EventKind(name="sxid", codes=("sxid",), numbered=True, help="the same of an NVSwitch"),
    EventKind(
        name="nvidia",
        codes=("nvidia", "nvgpu"),
        of_devices=True,
        help="other messages of NVIDIA's drivers",
    ),
    EventKind(name="ras", codes=("ras",), of_devices=True, help="memory and fabric errors of AMD"),
    EventKind(
        name="amdgpu",
        codes=("amdgpu", "hygpu"),
        of_devices=True,
        help="other messages of AMD's driver",
    ),
    EventKind(
        name="intel", codes=("xe", "i915"), of_devices=True, help="messages of Intel's drivers"
    ),
    EventKind(
        name="drm", codes=("drm",), of_devices=True, help="devices that any driver has given up"
    ),
    EventKind(
        name="npu",
        codes=("neuron", "habanalabs", "tenstorrent", "amdxdna", "intel_vpu", "qaic"),
        of_devices=True,
        help="messages of NPU drivers",
    ),
    EventKind(
        name="driver",
        codes=("driver",),
        of_devices=True,
        help="devices that a driver does not bring up",
    ),
    EventKind(name="pcie", codes=("pcie",), help="PCIe errors and slots"),
    EventKind(name="network", codes=("mlx5", "netdevice"), help="network adapters"),
    EventKind(name="nfs", codes=("nfs",), help="NFS servers"),
    EventKind(
        name="disk", codes=("disk", "filesystem", "raid", "nvme"), help="disks and file systems"
    ),
    EventKind(name="oom", codes=("oom",), help="processes killed for memory"),
    EventKind(
        name="kernel",
        codes=(
            "kernel",
            "hung_task",
            "soft_lockup",
            "hard_lockup",
            "rcu_stall",
            "machine_check",
            "hardware_error",
            "edac",
            "file_limit",
        ),
        help="the kernel, the processor and main memory",
    ),
    EventKind(name="heat", codes=("cpu_throttled",), help="processors that are too hot"),
    EventKind(name="collector", codes=("collector",), help="our own collector"),
    EventKind(name="device", codes=("device",), help="a device's changes of state"),
    EventKind(name="node", codes=("node",), help="a node's changes of state"),
    EventKind(name="boot", codes=("boot",), help="the node was started"),
    EventKind(
        name="alertmanager",
        codes=("alertmanager",),
        help="alerts that an Alertmanager has pushed to the hub; one that fires is happening now",
    ),
    EventKind(
        name="evidence",
        codes=("evidence",),
        help="what others have pushed to the hub; what has started is happening now",
    ),
    EventKind(name="any", codes=(), help="every event"),
)

EVENT_KINDS: Mapping[str, EventKind] = MappingProxyType({kind.name: kind for kind in _KINDS})

_FIELDS: Mapping[str, Type] = {
    "category": Type.STRING,
    "severity": Type.STRING,
    "source": Type.STRING,
    "subject": Type.STRING,
    "text": Type.STRING,
    "trusted": Type.FLAG,
    "listed": Type.FLAG,
}
_VALUES = {"category": tuple(Category), "severity": SEVERITIES}


def event_names(kind: EventKind) -> NameTable:
    """The names that the predicate of an event of this kind may use."""
    code = Type.NUMBER if kind.numbered else Type.STRING
    return NameTable(identity={"code": code, **_FIELDS}, rows={}, values=_VALUES)
