"""Which device a sample is about: by uuid, else PCI id, serial number, index or name, in this order.

Groups of families of one exporter carry different labels (DCGM's NVLink group has no `UUID`), so what a
sample with a uuid says of its other ids serves the samples without one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from accelwatch.base.absence import Absence
from accelwatch.exposition import Key
from accelwatch.fleet.dialects.base.doubles import (
    by_address,
    double_uuids,
    may_be_double,
    shared_addresses,
)
from accelwatch.fleet.dialects.base.models import kind_by, memory_kind_by, vendor_by, vendor_of
from accelwatch.fleet.dialects.base.table import Dialect
from accelwatch.schema.device import Device, DeviceKind, normal_pci_bus_id, normal_uuid

PLACEHOLDERS = frozenset(
    {"", "n/a", "[n/a]", "unknown", "none", "null", "[not supported]", "[unknown error]"}
)
_FACTS = (
    *("model", "driver", "vbios", "firmware", "architecture"),
    *("kind", "npu", "library", "memory"),
)
_IDS = ("uuid", "pci", "serial", "index", "name")

# Names and values, as a key has them.
KeyLabels = tuple[tuple[str, ...], tuple[str, ...]]


def first_value(key: Key, labels: Iterable[str]) -> str:
    """Value of the first of the labels that says something, or an empty string."""
    for label in labels:
        value = key.get(label).strip()
        if value.lower() not in PLACEHOLDERS:
            return value
    return ""


# Devices of one target that are believed, far above any node; a body of inventions costs no more.
MAX_DEVICES = 1024


class DeviceIndex:
    """The devices of one dialect in one scrape, numbered in the order in which they were met."""

    def __init__(self, dialect: Dialect, keys: Sequence[Key]) -> None:
        self._dialect = dialect
        self.facts: list[dict[str, str]] = []
        # By kind of id and id; None when two devices claim it.
        self._numbers: dict[tuple[str, str], int | None] = {}
        # What labels say of ids: dozens of samples of a device have the same.
        self._ids_by_labels: dict[KeyLabels, dict[str, str]] = {}
        self._doubles: dict[str, int] = {}
        # PCI addresses of several devices.
        self._shared: frozenset[str] = frozenset()
        alike: dict[KeyLabels, Key] = {}
        for key in keys:
            alike.setdefault((key.labels, key.values), key)
        if may_be_double(map(self._ids, alike.values())):
            self._doubles = double_uuids((key, self._ids(key)) for key in keys)
            self._ids_by_labels = {}
        if len(alike) > 1:
            self._shared = shared_addresses((key, self._ids(key)) for key in keys)
        if self._shared:
            self._ids_by_labels = {}
        keyed = [(key, self._ids(key)) for key in alike.values()]
        keyed.sort(key=lambda entry: not entry[1].get("uuid"))
        for key, ids in keyed:
            if ids:
                self._meet(key, ids)
        for pci in self._shared:
            self._set_apart(pci)

    def number(self, key: Key) -> int | None:
        """The device a sample is about; None when it names none."""
        return self._lookup(self._ids(key))

    def used_by(self, key: Key) -> int | None:
        """The device that the process of a sample uses; None when it uses none that there is."""
        table = self._dialect.processes
        if table is None or not table.uuid:
            return self.number(key)
        return self._numbers.get(("uuid", normal_uuid(first_value(key, table.uuid))))

    def _ids(self, key: Key) -> dict[str, str]:
        labels = key.labels, key.values
        ids = self._ids_by_labels.get(labels)
        if ids is None:
            ids = self._ids_by_labels[labels] = self._ids_of(key)
        return ids

    def _ids_of(self, key: Key) -> dict[str, str]:
        labels = self._dialect.labels
        if labels.only:
            return {"name": labels.only}
        ids: dict[str, str] = {}
        for kind in _IDS:
            if value := self._fact(key, kind):
                ids[kind] = value
        if "uuid" in ids:
            pci = address_of(self._dialect, ids["uuid"])
            if pci and "pci" not in ids:
                ids["pci"] = pci
            ids["uuid"] = normal_uuid(ids["uuid"])
        if "pci" in ids:
            ids["pci"] = normal_pci_bus_id(ids["pci"])
            if ids["pci"] in self._shared and "uuid" not in ids:
                del ids["pci"]
        return by_address(ids) if ids.get("uuid") in self._doubles else ids

    def _fact(self, key: Key, kind: str) -> str:
        labels = self._dialect.labels
        value = first_value(key, getattr(labels, kind))
        return "" if kind == "uuid" and value == labels.no_uuid else value

    def doubts(self) -> dict[str, str]:
        """By id, why devices do not go by their uuid, for people."""
        if not self._doubles:
            return {}
        texts = ((device.id, self._doubt(number)) for number, device in enumerate(self.devices()))
        return {device_id: text for device_id, text in texts if text}

    def _doubt(self, number: int) -> str:
        uuid = self.facts[number].get("uuid", "")
        count = self._doubles.get(normal_uuid(uuid), 0)
        return f"duplicate uuid {uuid}: {count} devices report it" if count else ""

    def _lookup(self, ids: dict[str, str]) -> int | None:
        if "uuid" in ids:
            return self._numbers.get(("uuid", ids["uuid"]))
        for kind, text in ids.items():
            number = self._numbers.get((kind, text))
            if number is not None:
                return number
        return None

    def _meet(self, key: Key, ids: dict[str, str]) -> None:
        number = self._lookup(ids)
        if number is None:
            number = len(self.facts)
            if number >= MAX_DEVICES:
                return
            self.facts.append({})
        for kind, text in ids.items():
            if self._numbers.setdefault((kind, text), number) != number:
                self._numbers[(kind, text)] = None
        facts = self.facts[number]
        for kind in (*_IDS, *_FACTS):
            if kind not in facts and (value := self._fact(key, kind)):
                facts[kind] = value
        if "pci" in ids:
            facts.setdefault("pci", ids["pci"])
        broken = self._dialect.broken
        if broken and facts.get("model", "").startswith(broken):
            facts["broken"] = facts.pop("model")

    def _set_apart(self, pci: str) -> None:
        """Leave the address to the first of the devices behind it, as the agent does."""
        behind = [facts for facts in self.facts if normal_pci_bus_id(facts.get("pci", "")) == pci]
        behind.sort(key=lambda facts: (len(facts.get("index", "")), facts.get("index", "")))
        for facts in behind[1:]:
            facts["behind"] = facts.pop("pci")

    def devices(self) -> list[Device]:
        """The devices by number."""
        return [
            device_of(self._dialect, number, facts, doubted=bool(self._doubt(number)))
            for number, facts in enumerate(self.facts)
        ]


def device_of(
    dialect: Dialect, number: int, facts: Mapping[str, str], *, doubted: bool = False
) -> Device:
    """A device by what is reported of it; `doubted` when its uuid does not identify it."""
    model = facts.get("model")
    vendor = dialect.vendor or vendor_by(facts)
    if dialect.vendor == "nvidia" and vendor_of(model or "") == "mthreads":
        vendor = "mthreads"
    uuid = facts.get("uuid")
    number_in_uuid = ""
    if uuid is not None and (location := _location_of(dialect, uuid)) is not None:
        uuid, number_in_uuid = None, location.get("index") or ""
    digits = facts.get("index", "") or number_in_uuid or _trailing_digits(facts.get("name", ""))
    index = int(digits) if digits.isdecimal() and len(digits) < 7 else number
    name = facts.get("name") or f"{dialect.device_name or vendor}{index}"
    pci = normal_pci_bus_id(facts["pci"]) if "pci" in facts else None
    stable = uuid or facts.get("serial") or pci or name
    if "behind" in facts and stable == name:
        stable = f"{normal_pci_bus_id(facts['behind'])}-{index}"
    absent: dict[str, Absence] = {}
    if doubted:
        uuid, stable, absent = None, pci or name, {"uuid": Absence.ERROR}
    return Device(
        id=f"{vendor}:{stable}",
        vendor=vendor,
        backend=dialect.name,
        index=index,
        name=name,
        kind=DeviceKind(dialect.kind) if dialect.kind else kind_by(facts, vendor),
        model=_model(dialect, model),
        architecture=facts.get("architecture"),
        uuid=uuid,
        serial=facts.get("serial"),
        firmware_version=facts.get("firmware"),
        vbios_version=facts.get("vbios"),
        driver_version=facts.get("driver"),
        pci_bus_id=pci,
        memory_kind=memory_kind_by(facts, vendor),
        absent=absent,
    )


def address_of(dialect: Dialect, uuid: str) -> str | None:
    """None for a uuid; of one that only names an address that PCI address, or an empty string."""
    location = _location_of(dialect, uuid)
    return None if location is None else location.get("pci") or ""


def _location_of(dialect: Dialect, uuid: str) -> dict[str, str | None] | None:
    for pattern in _compiled(dialect.labels.positional):
        if match := pattern.fullmatch(uuid):
            return match.groupdict()
    return None


def _model(dialect: Dialect, model: str | None) -> str | None:
    """As our own agent calls it."""
    for pattern, name in dialect.models if model else ():
        if match := re.fullmatch(pattern, model or "", re.I):
            return match.expand(name)
    return model


# A dialect's patterns are constants; `re` has a cache of its own that other patterns may flush.
@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple([re.compile(pattern, re.I) for pattern in patterns])


def _trailing_digits(name: str) -> str:
    return name[len(name.rstrip("0123456789")) :]
