"""Which device a sample is about: by uuid, else PCI id, serial number, index or name, in this order.

Groups of families of one exporter carry different labels (DCGM's NVLink group has no `UUID`), so what a
sample with a uuid says of its other ids serves the samples without one.
"""

from collections.abc import Iterable, Sequence

from accelwatch.fleet.dialects.table import Dialect, Labels
from accelwatch.fleet.exposition import Key
from accelwatch.schema.device import Device, DeviceKind, normal_pci_bus_id

_PLACEHOLDERS = frozenset(
    {"", "n/a", "[n/a]", "unknown", "none", "null", "[not supported]", "[unknown error]"}
)
_FACTS = ("model", "driver", "vbios", "firmware", "architecture")
_IDS = ("uuid", "pci", "serial", "index", "name")

_VENDOR_WORDS = (
    ("nvidia", "nvidia"),
    ("tesla", "nvidia"),
    ("geforce", "nvidia"),
    ("mtt", "mthreads"),
    ("amd", "amd"),
    ("instinct", "amd"),
    ("radeon", "amd"),
    ("gaudi", "habana"),
    ("hl-", "habana"),
    ("intel", "intel"),
    ("apple", "apple"),
    ("rbln", "rebellions"),
    ("furiosa", "furiosa"),
    ("rngd", "furiosa"),
    ("tenstorrent", "tenstorrent"),
    ("tpu", "google"),
    ("ascend", "huawei"),
)
"""Beginning or word of a model's name, and the vendor."""


def known(key: Key, labels: Iterable[str]) -> str:
    """Value of the first of the labels that says something, or an empty string."""
    for label in labels:
        value = key.get(label).strip()
        if value.lower() not in _PLACEHOLDERS:
            return value
    return ""


def normal_uuid(text: str) -> str:
    """A uuid for comparison: lower case, without the `GPU-` that some exporters leave out."""
    return text.strip().lower().removeprefix("gpu-")


def vendor_of(model: str) -> str:
    """The vendor that a model's name tells, or `unknown`."""
    words = model.lower()
    for beginning, vendor in _VENDOR_WORDS:
        if words.startswith(beginning) or f" {beginning}" in words:
            return vendor
    return "unknown"


MAX_DEVICES = 1024
"""Devices of one target that are believed, far above any node; a body of inventions costs no more."""


class Roster:
    """The devices of one dialect in one scrape, numbered in the order in which they were met."""

    def __init__(self, dialect: Dialect, keys: Sequence[Key]) -> None:
        self._dialect = dialect
        self.facts: list[dict[str, str]] = []
        self._numbers: dict[tuple[str, str], int | None] = {}
        """By kind of id and id; None when two devices claim it."""
        found = [(key, _ids(dialect.labels, key)) for key in keys]
        found.sort(key=lambda one: not one[1].get("uuid"))
        for key, ids in found:
            if ids:
                self._meet(key, ids)

    def number(self, key: Key) -> int | None:
        """The device a sample is about; None when it names none."""
        return self._lookup(_ids(self._dialect.labels, key))

    def used_by(self, key: Key) -> int | None:
        """The device that the process of a sample uses; None when it uses none that there is."""
        table = self._dialect.processes
        if table is None or not table.uuid:
            return self.number(key)
        return self._numbers.get(("uuid", normal_uuid(known(key, table.uuid))))

    def _lookup(self, ids: dict[str, str]) -> int | None:
        if "uuid" in ids:
            return self._numbers.get(("uuid", ids["uuid"]))
        for kind, one in ids.items():
            number = self._numbers.get((kind, one))
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
        for kind, one in ids.items():
            if self._numbers.setdefault((kind, one), number) != number:
                self._numbers[(kind, one)] = None
        facts = self.facts[number]
        for kind in (*_IDS, *_FACTS):
            if kind not in facts and (value := known(key, getattr(self._dialect.labels, kind))):
                facts[kind] = value

    def devices(self) -> list[Device]:
        """The devices by number."""
        return [self._device(number, facts) for number, facts in enumerate(self.facts)]

    def _device(self, number: int, facts: dict[str, str]) -> Device:
        dialect = self._dialect
        model = facts.get("model")
        vendor = dialect.vendor or vendor_of(model or "")
        if dialect.vendor == "nvidia" and vendor_of(model or "") == "mthreads":
            vendor = "mthreads"
        digits = facts.get("index", "") or _trailing_digits(facts.get("name", ""))
        index = int(digits) if digits.isdecimal() and len(digits) < 7 else number
        name = facts.get("name") or f"{dialect.device_name or vendor}{index}"
        pci = normal_pci_bus_id(facts["pci"]) if "pci" in facts else None
        stable = facts.get("uuid") or facts.get("serial") or pci or name
        return Device(
            id=f"{vendor}:{stable}",
            vendor=vendor,
            backend=dialect.name,
            index=index,
            name=name,
            kind=DeviceKind(dialect.kind),
            model=model,
            architecture=facts.get("architecture"),
            uuid=facts.get("uuid"),
            serial=facts.get("serial"),
            firmware_version=facts.get("firmware"),
            vbios_version=facts.get("vbios"),
            driver_version=facts.get("driver"),
            pci_bus_id=pci,
        )


def _ids(labels: Labels, key: Key) -> dict[str, str]:
    ids: dict[str, str] = {}
    for kind in _IDS:
        if value := known(key, getattr(labels, kind)):
            ids[kind] = value
    if "uuid" in ids:
        ids["uuid"] = normal_uuid(ids["uuid"])
    if "pci" in ids:
        ids["pci"] = normal_pci_bus_id(ids["pci"])
    return ids


def _trailing_digits(name: str) -> str:
    return name[len(name.rstrip("0123456789")) :]
