"""What a table of an exporter consists of. Adding a metric is adding a row."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.metrics import Series

# Multiply by the first, divide by the second: a division by 100 is exact where a product is not.
Scale = tuple[int, int]

UNSCALED: Scale = (1, 1)
PERCENT: Scale = (1, 100)
MILLI: Scale = (1, 1000)
MICRO: Scale = (1, 1_000_000)
NANO: Scale = (1, 1_000_000_000)
MEGA: Scale = (1_000_000, 1)
KIB: Scale = (1 << 10, 1)
MIB: Scale = (1 << 20, 1)
GIB: Scale = (1 << 30, 1)


class Combine(StrEnum):
    """What becomes of several samples of one row for one of our series."""

    FIRST = "first"
    SUM = "sum"
    MEAN = "mean"
    MAX = "max"
    # 1 where the rows of a group that must be there are not 0 and its optional ones are.
    ALONE = "alone"
    # How many there are.
    COUNT = "count"


class FamilyMapping(msgspec.Struct, frozen=True, kw_only=True):
    """One foreign family and what it is with us.

    `target` is a series path (`clock_hertz.sm`); `{label}` in it stands for the value of a foreign
    label, translated by `value_names`, in which None leaves the sample out. Rows for the same target
    are tried in the order of the table: the first with a value counts.
    """

    name: str
    target: str
    scale: Scale = UNSCALED
    # Values that a label must have; an empty string allows its absence.
    where: Mapping[str, tuple[str, ...]] = {}
    # By label, then by value; a value that is not listed stays as it is, in lower case.
    value_names: Mapping[str, Mapping[str, str | None]] = {}
    # Value to word: the word becomes the last label and the number 1; None means no information.
    states: Mapping[float, str | None] = {}
    # A label over whose values is combined, `*` for all; without it a device's first sample counts.
    over: str = ""
    combine: Combine = Combine.FIRST
    # Whether any number but 0 is 1.
    flag: bool = False
    # Of a flag: more numbers that are 0.
    unset: tuple[float, ...] = ()
    # The number that is 1, any other being 0.
    equals: float | None = None
    # Of a mask: the bits any of which makes it 1.
    bits: int = 0
    # Of a mask: the bits any of which makes it 0 all the same.
    unless: int = 0
    # By label a pattern of values that leave the sample out.
    without: Mapping[str, str] = {}
    # Whether values of labels keep their case; an empty one leaves the sample out all the same.
    verbatim: bool = False
    # Rows of one group are added up, if each but the optional ones has a value; one of a negative scale
    # is subtracted.
    group: str = ""
    optional: bool = False
    # Whether its sum is divided by how many cores a device has (`Cores`).
    per_core: bool = False
    low: float | None = None
    # Bounds of the raw number, where those of the quantity do not distinguish two meanings.
    high: float | None = None


def mapped(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    """The row of a family that needs no more than its series and unit, as most."""
    return FamilyMapping(name=name, target=target, scale=scale)


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """Names of the labels that say which device a sample is about, best first."""

    uuid: tuple[str, ...] = ()
    pci: tuple[str, ...] = ()
    serial: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    name: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    driver: tuple[str, ...] = ()
    vbios: tuple[str, ...] = ()
    firmware: tuple[str, ...] = ()
    architecture: tuple[str, ...] = ()
    # Name of the one device that all samples are about.
    only: str = ""
    kind: tuple[str, ...] = ()
    # Labels that only an NPU's samples have.
    npu: tuple[str, ...] = ()
    # What the exporter reads the device with.
    library: tuple[str, ...] = ()
    # Says whether the memory is the device's own.
    memory: tuple[str, ...] = ()
    # Patterns of uuids that name an address within the node; a group `pci` in one is the PCI address, a
    # group `index` the number of the device.
    positional: tuple[str, ...] = ()
    # What an exporter writes instead of a uuid where the device has none.
    no_uuid: str = ""
    # A tile: samples of the whole device are preferred, else the tiles are combined.
    tile: str = ""
    namespace: tuple[str, ...] = ("namespace", "exported_namespace")
    pod: tuple[str, ...] = ("pod", "exported_pod")
    container: tuple[str, ...] = ("container", "exported_container")
    pod_uid: tuple[str, ...] = ("pod_uid",)
    job: tuple[str, ...] = ()
    job_user: tuple[str, ...] = ()
    job_queue: tuple[str, ...] = ()


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A foreign family whose number is a part of what a device is."""

    field: Literal["numa_node", "partition_mode"]
    # By number, where the part is a word; a number that is not listed says nothing.
    names: Mapping[float, str] = {}


# NVML_DEVICE_MIG_DISABLE and NVML_DEVICE_MIG_ENABLE (nvml.h).
MIG_MODE = Fact(field="partition_mode", names={0: "disabled", 1: "enabled"})


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """Labels that name a part of a device, and what the vendor calls such a part."""

    # Names a partition when it is not empty.
    label: str
    # Label of a part of the partition, of which each is a row of its own then.
    within: str = ""
    technology: str = "mig"
    name: str = "gi{}"
    suffix: str = "/ci{}"
    profile: tuple[str, ...] = ()
    uuid: tuple[str, ...] = ()


class ProcessRow(msgspec.Struct, frozen=True, kw_only=True):
    """One foreign family that gives a number of each process."""

    name: str
    # Of `Process`.
    field: str
    scale: Scale = UNSCALED
    low: float = 0.0
    # Bounds of the raw number; a number outside is dropped.
    high: float = 2.0**53


class Processes(msgspec.Struct, frozen=True, kw_only=True):
    """Families about processes. A process uses a device that other families report, or none of ours."""

    rows: tuple[ProcessRow, ...] = ()
    # Family read for its labels alone.
    info: str = ""
    # Families that show that processes are collected, even when there is none.
    shown_by: tuple[str, ...] = ()
    # Labels with the uuid of the device, where its other ids are not to be believed: a process whose
    # uuid is empty or unknown uses no device then. Without them the labels of the dialect identify it.
    uuid: tuple[str, ...] = ()
    pid: str = "pid"
    command: str = ""
    user: str = ""

    def families(self) -> tuple[str, ...]:
        """The names of the families."""
        names = (*(row.name for row in self.rows), self.info)
        return tuple(dict.fromkeys(name for name in names if name))


class Cores(msgspec.Struct, frozen=True, kw_only=True):
    """A label that counts cores through all devices of a node, whose devices a page does not name."""

    # It becomes the number within the device.
    label: str
    # The label that names a device, as other families have it.
    device: str
    # A family one of whose labels has the number of cores of a device.
    info: str
    per_device: str
    # The dialect of a page without that family: a row is a core.
    otherwise: "Dialect"


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """One exporter: how to know it, how it names devices, and its rows."""

    name: str
    # Empty when the model's name must show it.
    vendor: str
    # Families of which one is enough; one that ends in `*` is the beginning of a name.
    fingerprints: tuple[str, ...]
    # Families by which it is known while it reports no device.
    alive: tuple[str, ...] = ()
    # Labels that a family of the fingerprint must carry, with their values.
    required: Mapping[str, str] = {}
    # Whether an operator may have put a prefix before every name.
    any_prefix: bool = False
    labels: Labels
    rows: tuple[FamilyMapping, ...] = ()
    # What it reports of the host itself.
    host: tuple[FamilyMapping, ...] = ()
    # By family: a label of the host's rows, and the label that has the word for its value.
    host_names: Mapping[str, tuple[str, str]] = {}
    # Families read for their labels alone.
    identity: tuple[str, ...] = ()
    # By family.
    facts: Mapping[str, Fact] = {}
    # Whether several dialects have the same families, `where` saying whose a sample is: a page without
    # a sample of its own is none of its, and it counts no sample of another as left out.
    shares_families: bool = False
    # Values a label must have for a sample to be read; an empty string allows its absence.
    where: Mapping[str, tuple[str, ...]] = {}
    processes: Processes | None = None
    # Empty when labels or the vendor show it.
    kind: str = ""
    # Labels of the claim by which a pod holds a device, where the exporter may list only devices with
    # one: its pages are checked for that (`claims`).
    claim: tuple[str, ...] = ()
    # Where it names cores and not their devices.
    cores: Cores | None = None
    # The first that fits a sample names its partition.
    partitions: tuple[Partition, ...] = ()
    # Patterns of the exporter's names of models, and what our own agent says; the first that fits.
    models: tuple[tuple[str, str], ...] = ()
    # Beginning of a device's name, before its index, when no label gives the name.
    device_name: str = ""
    # Numbers that stand for "no value".
    blanks: Mapping[float, Absence] = {}
    # A failed read is reported as 0.
    zero_may_be_failure: bool = False
    # Families whose number, when it is not 0, goes into a note: a text with `{}` for it.
    remarks: Mapping[str, str] = {}
    # What each chip behind one PCI function repeats of its card, and the series that is the board's.
    card_wide: Mapping[Series, Series] = {}
    # Family that is 0 when the exporter's own last collection failed, its numbers being old.
    success: str = ""
    # By family the number by which it reports a failed collection because of a lost device.
    lost: Mapping[str, float] = {}
    # Beginning of a text that replaces the model's name of a device that is lost.
    broken: str = ""


# DCGM's blank integers begin here (dcgm_fields.h); nothing that is measured is as great.
INT64_BLANK = 9.2233720368547757e18
UINT32_BLANK = 4294967295.0
INT32_BLANK = 2147483647.0
