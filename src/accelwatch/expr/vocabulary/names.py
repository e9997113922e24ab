"""Which names an expression may use, and of what type each is.

Identity fields are listed here; quantities come from the catalogue, so a new row is a new name.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache

import msgspec

from accelwatch.base.names.nearest import nearest
from accelwatch.expr.vocabulary.kleene import Key
from accelwatch.schema.catalogue.lookup import catalogue
from accelwatch.schema.device import DeviceKind, DeviceState, MemoryKind
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import FLAG, Kind, Metric, Scope


class Type(StrEnum):
    """The types of the language; the words appear in error messages."""

    NUMBER = "a number"
    # A quantity that is 0 or 1: usable as a number and as a condition.
    FLAG = "a flag"
    BOOL = "a condition"
    STRING = "text"
    LIST = "a list"


# Fields of a device that are no quantities; `device` is the Prometheus label's word for `name`.
IDENTITY: Mapping[str, Type] = {
    "id": Type.STRING,
    "index": Type.NUMBER,
    "vendor": Type.STRING,
    "name": Type.STRING,
    "device": Type.STRING,
    "kind": Type.STRING,
    "model": Type.STRING,
    "architecture": Type.STRING,
    "uuid": Type.STRING,
    "serial": Type.STRING,
    "part_number": Type.STRING,
    "firmware_version": Type.STRING,
    "vbios_version": Type.STRING,
    "pci_bus_id": Type.STRING,
    "numa_node": Type.NUMBER,
    "memory_kind": Type.STRING,
    "parent_id": Type.STRING,
    "partition": Type.STRING,
    "partition_technology": Type.STRING,
    "partition_profile": Type.STRING,
    "partition_mode": Type.STRING,
    "state": Type.STRING,
    "health": Type.STRING,
    "sample_age_s": Type.NUMBER,
    "driver_version": Type.STRING,
    "boot_id": Type.STRING,
    "backend": Type.STRING,
    "host": Type.STRING,
}

# Fields that have one of a few values: comparing one with another word is a mistake.
FIELD_VALUES: Mapping[str, tuple[str, ...]] = {
    "state": tuple(DeviceState),
    "health": tuple(Health),
    "kind": tuple(DeviceKind),
    "memory_kind": tuple(MemoryKind),
}

# Gauges that are 0 or 1 and answer a question; rows of kind `state` are flags too.
FLAGS = frozenset(
    {
        "clocks_idle",
        "compute_repair_pending",
        "device_up",
        "device_suspended",
        "ecc_enabled",
        "ecc_enabled_pending",
        "inforom_corrupted",
        "link_up",
        "memory_repair_failed",
        "memory_repair_pending",
        "memory_unrepairable",
        "partitioning_enabled",
        "partitioning_enabled_pending",
        "pcie_link_downgraded",
        "persistence_enabled",
        "reset_required",
        "sram_error_threshold_exceeded",
        "throttle_active",
    }
)

# A row with one of these labels describes a process or partition, not the device itself.
SUBDEVICE_LABELS = frozenset({"pid", "partition"})

# Families whose one label says in which state the device is: a flag for each of the states, of which
# only that of now is there.
STATE_FAMILIES = frozenset(
    {
        "recovery_action_info",
        "fabric_state_info",
        "reported_health_info",
        "reported_status_info",
        "vgpu_license_info",
    }
)

# A value for a label in an error message's example; other labels are shown as <label>.
EXAMPLE_LABELS: Mapping[str, str] = {
    "reason": "power",
    "direction": "rx",
    "engine": "encoder",
    "sensor": "gpu",
    "limit": "max",
    "fabric": "nvlink",
}


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """What a name stands for: keys to look up, the first that is present wins, and their type."""

    keys: tuple[Key, ...]
    type: Type


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Why a name stands for nothing, and what to write instead."""

    message: str
    hint: str = ""


class NameTable(msgspec.Struct, frozen=True, kw_only=True):
    """The names of one kind of thing: identity fields with their types, and catalogue rows by key."""

    identity: Mapping[str, Type]
    rows: Mapping[str, Metric]
    # The values that an identity field, or the label of a state row, can have.
    values: Mapping[str, tuple[str, ...]] = {}
    # Keys of the catalogue that exist but describe something other than this thing.
    elsewhere: frozenset[str] = frozenset()
    # Whether `labels.rack` is the label `rack` of the node.
    labelled: bool = False
    # Names of several words that are no series, such as `detector.alert`.
    dotted: Mapping[str, Type] = {}

    @property
    def bare_names(self) -> list[str]:
        """Every bare name, identity fields first."""
        return list(dict.fromkeys((*self.identity, *self.rows)))

    def resolve(self, name: str, labels: tuple[str, ...]) -> Resolved | Fault:
        """What `name.label.label` stands for."""
        if name in self.identity and not labels:
            return Resolved(keys=(name,), type=self.identity[name])
        if name == "labels" and self.labelled:
            return _label(labels)
        written = ".".join((name, *labels))
        if written in self.dotted:
            return Resolved(keys=(written,), type=self.dotted[written])
        siblings = [other for other in self.dotted if other.startswith(f"{name}.")]
        if siblings:
            hint = did_you_mean(written, siblings) if labels else ""
            hint = hint or f"write for example {siblings[0]}"
            return Fault(message=f"unknown name {written}", hint=hint)
        row = self.rows.get(name)
        if row is not None:
            wrong = (
                self.invalid_value(name, labels[0]) if row.kind is Kind.STATE and labels else None
            )
            return wrong or _series(row, labels)
        if name in self.identity:
            return Fault(message=f"{name} has no labels", hint=f"write {name}")
        if name in self.elsewhere:
            return Fault(message=f"{name} does not describe a device, so it cannot be used here")
        return Fault(message=f"unknown name {name}", hint=did_you_mean(name, self.bare_names))

    def invalid_value(self, name: str, value: str) -> Fault | None:
        """A fault if `value` is no value that the field `name` can have."""
        values = self.values.get(name, ())
        if not values or value in values:
            return None
        hint = did_you_mean(value, values) or f"it is one of {', '.join(values)}"
        return Fault(message=f"{name} is never {value!r}", hint=hint)


def _label(labels: tuple[str, ...]) -> Resolved | Fault:
    if len(labels) == 1:
        return Resolved(keys=(f"labels.{labels[0]}",), type=Type.STRING)
    return Fault(message="labels needs the name of one label", hint="write for example labels.rack")


def _series(row: Metric, labels: tuple[str, ...]) -> Resolved | Fault:
    flag = row.bounds == FLAG or row.kind is Kind.STATE or row.key in STATE_FAMILIES
    kind = Type.FLAG if flag else Type.NUMBER
    if len(labels) == len(row.labels):
        return Resolved(keys=((row.key, *labels),), type=kind)
    if not labels and row.primary:
        return Resolved(keys=tuple((row.key, *values) for values in row.primary), type=kind)
    if not row.labels:
        return Fault(message=f"{row.key} has no labels", hint=f"write {row.key}")
    plural = "labels" if len(row.labels) > 1 else "label"
    return Fault(
        message=f"{row.key} needs {len(row.labels)} {plural} ({', '.join(row.labels)})",
        hint=f"write for example {_example(row)}",
    )


def _example(row: Metric) -> str:
    if row.primary:
        values = row.primary[0]
    else:
        values = tuple(EXAMPLE_LABELS.get(label, f"<{label}>") for label in row.labels)
    return row.key + "".join(f".{v}" if v.isidentifier() else f'["{v}"]' for v in values)


def did_you_mean(text: str, candidates: Iterable[str]) -> str:
    """A sentence that names the known word most like `text`, or an empty string."""
    import difflib  # for mistakes only

    options = list(candidates)
    folded = text[:64].lower()
    match = nearest(folded, options) or next((w for w in options if folded in w.split("_")), "")
    if not match:
        close = difflib.get_close_matches(folded, [w.lower() for w in options], n=1, cutoff=0.6)
        match = next((w for w in options if close and w.lower() == close[0]), "")
    return f"did you mean {match}?" if match else ""


def name_table(rows: Iterable[Metric]) -> NameTable:
    """The names of a device, given the rows of a catalogue."""
    usable: dict[str, Metric] = {}
    elsewhere: set[str] = set()
    for row in rows:
        if _describes_device(row):
            usable[row.key] = row
        else:
            elsewhere.add(row.key)
    return NameTable(
        identity=IDENTITY, rows=usable, values=FIELD_VALUES, elsewhere=frozenset(elsewhere)
    )


def _describes_device(row: Metric) -> bool:
    return (
        row.scope is Scope.DEVICE
        and (row.kind not in (Kind.INFO, Kind.HISTOGRAM) or row.key in STATE_FAMILIES)
        and SUBDEVICE_LABELS.isdisjoint(row.labels)
    )


# The catalogue is constant, so the result is never invalid.
@cache
def device_names() -> NameTable:
    """The names of a device, from the catalogue."""
    return name_table(catalogue())
