"""What nvidia-smi's relatives list: GPUs with their fields, and the processes on them. Pure."""

import re
from collections.abc import Iterable

import msgspec

from accelwatch.backend.kit.smi.blocks import Fields, find_field, first_value, meaningful_text
from accelwatch.backend.kit.smi.processes import Job
from accelwatch.base.errors import DeviceLost

MAX_GPUS = 1024
_LOST = re.compile(r"(?:[gp]pu|device) is lost", re.IGNORECASE)
_STUCK = re.compile(r"(?:[gp]pu|device) requires reset", re.IGNORECASE)
# Keys that a GPU in need of a reset does not answer, whatever else it still does.
_TELLING = frozenset(
    {
        *("gpu", "ppu", "gpu_util", "used", "temp"),
        *("gpu_temp", "gpu current temp", "ppu current temp"),
    }
)


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU as listed."""

    # The vendor's index.
    number: int
    pci_bus_id: str | None
    fields: Fields

    def value_of(self, *suffixes: tuple[str, ...]) -> object:
        """The first field that says something, of those whose paths end so; None without any."""
        return first_value(self.fields, suffixes)

    def text(self, *suffixes: tuple[str, ...]) -> str | None:
        """A text of it; None when it is empty, missing or says that there is none."""
        return meaningful_text(self.value_of(*suffixes))

    def must_answer(self, name: str) -> None:
        """Raise DeviceLost where a field says that the GPU is lost, or cannot go on without a reset."""
        for path, value in self.fields.items():
            text = value.strip("[] ") if isinstance(value, str) else ""
            if _LOST.fullmatch(text):
                raise DeviceLost(f"{name}: its command says {text!r}", code="gpu_is_lost")
            if _STUCK.fullmatch(text) and path[-1] in _TELLING:
                raise DeviceLost(f"{name}: its command says {text!r}", code="reset_required")

    def completed(self, other: "Gpu | None") -> "Gpu":
        """With fields of another account of it that it lacks, be it under a longer path."""
        more = {} if other is None else other.fields
        new = {path: value for path, value in more.items() if find_field(self.fields, path) is None}
        return msgspec.structs.replace(
            self,
            pci_bus_id=self.pci_bus_id or (other and other.pci_bus_id),
            fields={**self.fields, **new},
        )


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """All that was listed."""

    driver_version: str | None = None
    gpus: tuple[Gpu, ...] = ()
    # None when the program does not list processes.
    jobs: tuple[Job, ...] | None = None

    def completed(self, other: "Listing") -> "Listing":
        """With what another account has and this one lacks."""
        more = {gpu.number: gpu for gpu in other.gpus}
        return Listing(
            driver_version=self.driver_version or other.driver_version,
            gpus=tuple(gpu.completed(more.get(gpu.number)) for gpu in self.gpus),
            jobs=other.jobs if self.jobs is None else self.jobs,
        )


def distinct(gpus: Iterable[Gpu]) -> tuple[Gpu, ...]:
    """The first of each index."""
    by_number: dict[int, Gpu] = {}
    for gpu in gpus:
        by_number.setdefault(gpu.number, gpu)
    return tuple(by_number.values())
