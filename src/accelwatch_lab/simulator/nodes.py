"""The simulated machines: names, positions, devices and their traits, all from the seed."""

import hashlib
from enum import StrEnum

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.schema.device import Device, DeviceKind
from accelwatch_lab.simulator.models import MODELS, Model, Plan, host, plan
from accelwatch_lab.simulator.signals import Traits

VENDORS = ("mixed", *MODELS)
_MIX = ("nvidia", "nvidia", "amd", "nvidia", "intel", "nvidia", "amd", "nvidia")
# Nodes of a mixed fleet that have NPUs instead of GPUs, where the size includes them.
_NPUS = {11: "rebellions", 13: "furiosa"}
MAX_NODES = 20_000
MAX_DEVICES = 64
_HOUR_S = 3600.0


class Dialect(StrEnum):
    """What a node's /metrics speaks."""

    OWN = "own"
    # dcgm-exporter up to 4.8.
    DCGM = "dcgm"
    # dcgm-exporter from 4.9.
    DCGM_49 = "dcgm-4.9"
    ALL_SMI = "all-smi"


DIALECTS = ("mixed", *(dialect.value for dialect in Dialect))


class Unit(msgspec.Struct, frozen=True):
    """One device (or the host) with what its values come from."""

    device: Device
    model: Model
    plan: Plan
    traits: Traits


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One machine."""

    name: str
    index: int
    vendor: str
    dialect: Dialect
    boot_id: str
    units: tuple[Unit, ...]
    host: Unit


class FleetSize(msgspec.Struct, frozen=True, kw_only=True):
    """What is simulated."""

    nodes: int = 63
    devices: int = 8
    vendor: str = "mixed"
    # Whether a mixed fleet has NPUs among its nodes.
    npus: bool = False
    dialect: str = "own"
    seed: int = 0


def names(count: int) -> tuple[str, ...]:
    """`n001`, `n002`, ... with as many digits as the last one needs."""
    digits = max(3, len(str(count)))
    return tuple(f"n{number:0{digits}d}" for number in range(1, count + 1))


def dealing_order(size: FleetSize) -> list[str]:
    """The nodes in the order in which shares of the fleet are dealt out."""
    return sorted(names(size.nodes), key=lambda name: _digest(size.seed, name, "share"))


def check_size(size: FleetSize) -> None:
    """Raise UsageError for a fleet that cannot be."""
    if not 1 <= size.nodes <= MAX_NODES:
        raise UsageError(f"--nodes must be between 1 and {MAX_NODES}")
    if not 1 <= size.devices <= MAX_DEVICES:
        raise UsageError(f"--devices must be between 1 and {MAX_DEVICES}")
    if size.vendor not in VENDORS:
        raise UsageError(f"no vendor {size.vendor!r}; there are {', '.join(VENDORS)}")
    if size.dialect not in DIALECTS:
        raise UsageError(f"no dialect {size.dialect!r}; there are {', '.join(DIALECTS)}")
    if size.dialect.startswith("dcgm") and size.vendor != "nvidia":
        raise UsageError(f"{size.dialect} covers one vendor only: add --vendor nvidia")


def build(size: FleetSize) -> tuple[Node, ...]:
    """Every node. Raises UsageError for a fleet that cannot be."""
    check_size(size)
    return tuple(_node(size, name, index) for index, name in enumerate(names(size.nodes)))


def _node(size: FleetSize, name: str, index: int) -> Node:
    vendor = _vendor(size, index)
    model = MODELS[vendor]()
    layout = _plan(model)
    digest = _digest(size.seed, name, "boot")
    machine = host()
    return Node(
        name=name,
        index=index,
        vendor=vendor,
        dialect=_dialect(size.dialect, vendor, index),
        boot_id=_uuid(digest),
        units=tuple(
            Unit(_device(size, name, model, at), model, layout, _traits(size, name, at))
            for at in range(size.devices)
        ),
        host=Unit(_host(digest), machine, _plan(machine), _traits(size, name, -1)),
    )


def _vendor(size: FleetSize, index: int) -> str:
    if size.vendor != "mixed":
        return size.vendor
    usual = _MIX[index % len(_MIX)]
    return _NPUS.get(index, usual) if size.npus else usual


_PLANS: dict[str, Plan] = {}


def _plan(model: Model) -> Plan:
    if model.name not in _PLANS:
        _PLANS[model.name] = plan(model)
    return _PLANS[model.name]


def _dialect(dialect: str, vendor: str, index: int) -> Dialect:
    if dialect != "mixed":
        return Dialect(dialect)
    if vendor in _NPUS.values():
        return Dialect.OWN
    spoken = list(Dialect) if vendor == "nvidia" else [Dialect.OWN, Dialect.ALL_SMI]
    return spoken[(index + index // len(_MIX)) % len(spoken)]


def _digest(*components: object) -> str:
    text = "/".join(map(str, components))
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def _uuid(digest: str) -> str:
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))


def _device(size: FleetSize, node: str, model: Model, at: int) -> Device:
    digest = _digest(size.seed, node, at)
    uuid = model.uuid_prefix + _uuid(digest)
    return Device(
        id=f"{model.vendor}:{uuid}",
        vendor=model.vendor,
        backend=model.vendor,
        index=at,
        name=f"{model.device_prefix}{at}",
        kind=model.kind,
        model=model.name,
        architecture=model.architecture or None,
        uuid=uuid,
        serial=str(int(digest[:12], 16) % 10**13).zfill(13),
        part_number=model.part_number or None,
        vbios_version=model.firmware_version,
        driver_version=model.driver_version,
        pci_bus_id=f"{at // 224:04x}:{0x10 + at % 224:02x}:00.0",
        numa_node=0 if at < size.devices // 2 else 1,
    )


def _host(digest: str) -> Device:
    machine = host()
    return Device(
        id=f"host:{digest[:32]}",
        vendor="host",
        backend="host",
        index=0,
        name="host",
        kind=DeviceKind.HOST,
        model=machine.name,
        uuid=digest[:32],
        driver_version=machine.driver_version,
        boot_id=_uuid(digest),
    )


def _traits(size: FleetSize, node: str, at: int) -> Traits:
    number = int(_digest(size.seed, node, at, "traits")[:16], 16)
    age_s = (200 + number // 7 % 2000) * _HOUR_S
    return Traits(
        salt=number % 4096,
        efficiency=round(0.97 + number // 4096 % 61 / 1000, 3),
        warmth=round((number // 300_000 % 101 - 50) / 1000, 3),
        age_s=age_s,
        busy_before_s=round(age_s * (0.3 + number // 50_000_000 % 50 / 100), 1),
    )
