"""Instances of MIG: the table that ppu-smi prints of them, and their uuids as `-L` lists them. Pure."""

import re
from collections.abc import Mapping

import msgspec

from accelwatch.backend.kit.text.quantity import BYTES, COUNT, integer
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Reading

# Index of the PPU, and number of the instance on it.
InstanceKey = tuple[int, int]
MAX_INSTANCES = 1024
_ROW = re.compile(
    r"\|\s*(\d{1,4})\s+(\d{1,4})\s+(\d{1,4})\s+(\d{1,4})\s*"
    r"\|\s*(N/A|[^|/]+?)\s*/\s*(N/A|[^|/]+?)\s*\|\s*(\S+)\s+(\S+)\s*\|.*",
    re.ASCII,
)
_PPU = re.compile(r"PPU (\d{1,4}):.*", re.ASCII)
_LISTED = re.compile(r"\s+MIG \S+, Device (\d{1,4}) \(UUID: ([^()\s]+)\)\s*", re.ASCII)


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """One instance, which a program is given as a device of its own."""

    key: InstanceKey
    gpu_instance: int
    compute_instance: int
    used: str
    # Of the memory, as printed; with the other compute instances of its GPU instance it is one memory.
    size: str
    # ECC errors since the driver was loaded, as printed.
    uncorrected: str

    @property
    def name(self) -> str:
        """Within its PPU."""
        return f"gi{self.gpu_instance}/ci{self.compute_instance}"


def parse_instances(output: bytes) -> tuple[Instance, ...]:
    """The rows of the table of instances; without one there are none."""
    instances: dict[InstanceKey, Instance] = {}
    lines = output.decode("utf-8", "replace").splitlines()
    start = next((at for at, line in enumerate(lines) if "MIG devices:" in line), len(lines))
    for line in lines[start:]:
        if "Processes:" in line:
            break
        match = _ROW.fullmatch(line.strip())
        if match is not None and len(instances) < MAX_INSTANCES:
            ppu, gpu_instance, compute_instance, number = (int(match[at]) for at in range(1, 5))
            instance = Instance(
                key=(ppu, number),
                gpu_instance=gpu_instance,
                compute_instance=compute_instance,
                used=match[5],
                size=match[6],
                uncorrected=match[8],
            )
            instances.setdefault(instance.key, instance)
    return tuple(instances.values())


def parse_uuids(output: bytes) -> dict[InstanceKey, str]:
    """Uuids of the instances of `ppu-smi -L`."""
    uuids: dict[InstanceKey, str] = {}
    ppu: int | None = None
    for line in output.decode("utf-8", "replace").splitlines():
        if (head := _PPU.fullmatch(line)) is not None:
            ppu = int(head[1])
        elif ppu is not None and (match := _LISTED.fullmatch(line)) is not None:
            uuids.setdefault((ppu, int(match[1])), match[2])
    return uuids


def partition(parent: Device, instance: Instance, uuids: Mapping[InstanceKey, str]) -> Device:
    """Identity of an instance of this PPU."""
    uuid = uuids.get(instance.key)
    return msgspec.structs.replace(
        parent,
        id=f"{parent.vendor}:{uuid}" if uuid else f"{parent.id}/{instance.name}",
        index=instance.key[1],
        name=f"{parent.name}-{instance.name.replace('/', '-')}",
        uuid=uuid,
        serial=None,
        parent_id=parent.id,
        partition=instance.name,
        partition_technology="mig",
        partition_mode=None,
        absent={},
    )


def read_instance(device_id: str, instance: Instance) -> Reading:
    """What the table says of an instance, but processes."""
    out = Collected(device_id)
    for key, text in (
        ("memory_size_bytes", instance.size),
        ("memory_used_bytes", instance.used),
    ):
        out.put_or_miss(key, integer(text, BYTES))
    out.put_or_miss("ecc_errors_total", integer(instance.uncorrected, COUNT), "uncorrected")
    return out.reading(sources={"*": "ppu-smi"})
