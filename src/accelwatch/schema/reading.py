"""What was read from a device at one moment, and why the rest was not."""

import math
from collections.abc import Container, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.catalogue.lookup import by_key, host_metrics, reading_metrics
from accelwatch.schema.metrics import Metric, Series, Tier

Number = int | float

# A reading is stale, and a gap in a sum over time is one, after so many intervals without another.
READS_UNTIL_STALE = 3


# Types of a process, each with nvidia-smi's letter for it.
PROCESS_LETTERS: Mapping[str, str] = MappingProxyType({"compute": "C", "graphics": "G", "mps": "M"})


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """One process that holds a context on a device; memory in bytes, times in Unix seconds."""

    device_id: str
    pid: int
    # `same`, or `foreign` when the pid is of another pid namespace and not in our /proc.
    pid_namespace: str = "same"
    # `compute`, `graphics` or `mps`, joined by `+` when several.
    type: str = "compute"
    start_time: float | None = None
    user: str | None = None
    command: str | None = None
    argv: tuple[str, ...] | None = None
    container: str | None = None
    pod: str | None = None
    job: str | None = None
    gpu_memory_bytes: int | None = None
    utilization_ratio: float | None = None
    host_memory_bytes: int | None = None
    cpu_utilization_ratio: float | None = None
    # Reasons for the fields that are None.
    absent: dict[str, Absence] = {}


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One device-to-device link; `remote` is the peer's PCI id or uuid when the driver reports it."""

    fabric: str
    link: str
    remote: str | None = None
    up: bool | None = None


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """Values of one device at one moment, in base units.

    `values` maps a series (catalogue key, label values) to a number. `absent` maps either a whole
    quantity `(key,)` or one series of it to the reason why it has no value.
    """

    device_id: str
    values: Mapping[Series, Number] = {}
    absent: dict[Series, Absence] = {}
    # None: not collected, or not readable; `absent[("processes",)]` then says why.
    processes: tuple[Process, ...] | None = None
    links: tuple[Link, ...] = ()
    # Where a quantity was read, by key (`nvml`, `sysfs`); the backend's main source is under `*`.
    sources: dict[str, str] = {}
    # Facts about this reading for people, such as "12 of 30 processes readable".
    notes: tuple[str, ...] = ()
    # Numbers that were answered and cannot be true (`schema/values/plausible.py`), as text for people;
    # their series are absent as `error`.
    implausible: dict[Series, str] = {}
    # How long ago its source was read, in seconds: one with a pace of its own, such as a slow command,
    # gives the same answer to several reads.
    age_s: float = 0.0
    # Seconds from one answer of such a source to the next; 0: it is read again at each read.
    pace_s: float = 0.0


class Collected:
    """Gathers one reading: a backend puts values and absences in, and gets checked, whole data out."""

    def __init__(self, device_id: str) -> None:
        self.device_id = device_id
        self.values: dict[Series, Number] = {}
        self.absent: dict[Series, Absence] = {}

    def put(self, key: str, value: Number, *labels: str) -> None:
        """Record a value in base units; NaN and infinities become an `error` absence."""
        series = (key, *labels)
        if isinstance(value, float) and not math.isfinite(value):
            self.absent[series] = Absence.ERROR
            return
        self.absent.pop(series, None)
        self.values[series] = value

    def miss(self, key: str, reason: Absence, *labels: str) -> None:
        """Record why a quantity, or one series of it, has no value; a value already there stays."""
        series = (key, *labels)
        if series not in self.values:
            self.absent[series] = reason

    def put_or_miss(self, key: str, value: Number | Absence, *labels: str) -> None:
        """Record a value, a truth as 0 or 1, or the reason why there is none."""
        if isinstance(value, Absence):
            self.miss(key, value, *labels)
        else:
            self.put(key, int(value) if isinstance(value, bool) else value, *labels)

    def record(self, series: Series, value: Number | Absence) -> None:
        """The same for a whole series, as rows of a table have it."""
        self.put_or_miss(series[0], value, *series[1:])

    def reading(
        self,
        *,
        processes: tuple[Process, ...] | None = None,
        links: tuple[Link, ...] = (),
        sources: dict[str, str] | None = None,
        notes: tuple[str, ...] = (),
    ) -> Reading:
        """The finished reading."""
        return Reading(
            device_id=self.device_id,
            values=self.values,
            absent=self.absent,
            processes=processes,
            links=links,
            sources=sources or {},
            notes=notes,
        )


# Processes of one device that a reading lists.
MAX_PROCESSES = 1024
# How the note begins that says that a list is not whole.
CUT = "processes are cut: "


def largest(processes: Iterable[Process]) -> list[Process]:
    """At most MAX_PROCESSES, those with the most memory on the device, by pid."""
    by_memory = sorted(processes, key=lambda process: -(process.gpu_memory_bytes or 0))
    return sorted(by_memory[:MAX_PROCESSES], key=lambda process: process.pid)


def cut_note(listed: int, total: int) -> str:
    """The note on a list that is not whole."""
    return f"{CUT}{listed} of {total}, those with the most memory"


def is_cut(reading: Reading) -> bool:
    """Whether there are more processes than the reading lists."""
    return any(note.startswith(CUT) for note in reading.notes)


def is_collected(metric: Metric, groups: frozenset[str]) -> bool:
    """Whether a row is collected: the standing tiers always, an opt-in row when its group is on."""
    return metric.tier is not Tier.OPT_IN or metric.group in groups


# Groups are a setting, so there are one or two sets in a process.
@lru_cache(maxsize=32)
def unasked(groups: frozenset[str]) -> frozenset[str]:
    """Keys of the opt-in quantities of a device whose group is off."""
    return frozenset(row.key for row in reading_metrics() if not is_collected(row, groups))


def complete(reading: Reading, groups: frozenset[str], *, host: bool = False) -> Reading:
    """Give every quantity that a device, or the host, could have a value or a reason.

    What the backend said nothing about is `unsupported`, or `not_collected` when its opt-in group is
    off. A value whose series is not in the catalogue is left out and said in a note, so that a faulty
    plug-in cannot spoil a view.
    """
    absent = dict(reading.absent)
    foreign = [series for series in reading.values if not in_catalogue(series)]
    values, notes = reading.values, reading.notes
    if foreign:
        values = {series: value for series, value in values.items() if series not in foreign}
        notes = (*notes, foreign_note(foreign))
    if reading.processes is None:
        absent.setdefault(("processes",), Absence.NOT_COLLECTED)
    covered = {series[0] for series in values} | {series[0] for series in absent}
    absent |= reasons_beside(covered, groups, host=host)
    return msgspec.structs.replace(reading, values=values, absent=absent, notes=notes)


def reasons_beside(
    covered: Container[str], groups: frozenset[str], *, host: bool = False
) -> dict[Series, Absence]:
    """Reasons for the quantities that are not `covered`, of a device or of the host."""
    reasons = _reasons(groups, host=host)
    return {series: reason for series, reason in reasons.items() if series[0] not in covered}


# A template for every reading of a process; callers copy it.
@lru_cache(maxsize=32)
def _reasons(groups: frozenset[str], *, host: bool) -> dict[Series, Absence]:
    """For every quantity, if nothing were known."""
    return {
        (row.key,): Absence.UNSUPPORTED if is_collected(row, groups) else Absence.NOT_COLLECTED
        for row in (host_metrics() if host else reading_metrics())
    }


def foreign_note(foreign: Iterable[Series]) -> str:
    """The note on values that were left out, so that a faulty plug-in cannot spoil a view."""
    return f"left out, not in the catalogue: {', '.join(map(repr, foreign))}"


def in_catalogue(series: Series) -> bool:
    """Whether the catalogue has the quantity, with as many labels."""
    row = by_key().get(series[0])
    return row is not None and len(series) == len(row.labels) + 1


def may_be_absent(series: Series) -> bool:
    """Whether a reason can stand for it: a series of the catalogue, or a whole quantity by its key."""
    return len(series) == 1 or in_catalogue(series)


def wholly_absent(device_id: str, reason: Absence) -> Reading:
    """A reading without a single value: `absent` holds the one entry `("*",)`."""
    return Reading(device_id=device_id, absent={("*",): reason})
