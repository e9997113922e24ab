"""The contract of a backend: how one driver stack becomes devices and readings.

A backend is found by the entry point `accelwatch.backends`. It sees this module, the schema and the
small readers (`sysfs`, `proc`, `command`, `drm_fdinfo`), never another backend and never a view.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from accelwatch.base.clock import Clock, SystemClock
from accelwatch.schema.device import Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel.sysfs import is_left_asleep


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked for: a library, a device node, a permission."""

    # What was looked for: a path, a library name, a permission.
    subject: str
    ok: bool
    # What was found: a path, a version, an error text.
    found: str = ""
    # What to do, when it is not ok and something can be done.
    remedy: str = ""


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What a look around found, without loading a vendor library or waking a device."""

    # Whether hardware or a driver of this kind is in the machine, so that opening makes sense.
    present: bool
    checks: tuple[Check, ...] = ()


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """What an opened backend reads through."""

    # `nvml`, `nvidia-smi`, `sysfs`, `sysfs+amdsmi`, `replay`.
    source: str
    # Component to version, such as driver, library, cuda.
    versions: Mapping[str, str] = {}


# Of `Option.names`: what has no slash is a name that is looked up elsewhere, such as on PATH.
NAME = r"[^/]+"


class Option(msgspec.Struct, frozen=True):
    """A key that a backend reads from its own section of the configuration."""

    name: str
    # Whether it is of a file: a relative path starts at the folder of the configuration's file.
    is_path: bool = False
    # Pattern of what is no path all the same.
    names: str = ""
    # Whether a configuration is refused as long as nothing is there, nor fits it as a pattern.
    must_exist: bool = False


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend gets from its surroundings; tests replace all of it."""

    # Prefix of /sys, /proc and /dev.
    root: Path = Path("/")
    clock: Clock = msgspec.field(default_factory=SystemClock)
    environ: Mapping[str, str] = {}
    # Where positions and counters persist; None: nowhere.
    state_dir: Path | None = None
    # This backend's own section of the configuration.
    options: Mapping[str, object] = {}
    wake_suspended: bool = False
    # True for a single reading: no background threads, no sampling over time.
    one_shot: bool = False

    def leaves_asleep(self, pci_bus_id: str | None) -> bool:
        """Whether a device sleeps and must be left alone; the check does not wake it."""
        return is_left_asleep(self.root, pci_bus_id, wake=self.wake_suspended)


def _ignore_numbers(_: Sequence[Reading]) -> None:
    """Numbers that nobody wants before the rest."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What one read should bring."""

    # Opt-in groups that are on. What costs nothing may be given all the same: it is left out later.
    groups: frozenset[str] = frozenset()
    processes: bool = True
    argv: bool = False
    # Whether to read again what hardly changes (limits, ECC totals, links); else it may be reused.
    slow: bool = True
    # To be called with readings that lack nothing but processes, before these are looked for.
    #
    # If the processes exceed the device's deadline, these readings count. The device may
    # then be read again, without processes, on another thread while the search goes on.
    numbers: Callable[[Sequence[Reading]], None] = _ignore_numbers


_PCI_ADDRESS = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"


class Visibility(msgspec.Struct, frozen=True, kw_only=True):
    """How a vendor's runtime learns which devices a process sees.

    Raises ValueError for what is no name of a variable.
    """

    # The environment variable, such as `CUDA_VISIBLE_DEVICES`: letters, digits and `_`.
    variable: str
    # Pattern of a whole entry by uuid; None where the runtime accepts the vendor's indices only.
    #
    # Any other text from a driver could name further devices, or be run by a shell.
    uuid_pattern: str | None = None
    # Further variables that the runtime heeds, each before `variable`.
    also: tuple[str, ...] = ()
    # How a device is named where the runtime accepts no uuid: `npu:{index}`, `{pci_bus_id}`.
    entry: str = "{index}"

    def __post_init__(self) -> None:
        for name in (self.variable, *self.also):
            if not (name.isascii() and name.isidentifier()):
                raise ValueError(f"{name!r} is not a valid environment variable name")
        if re.fullmatch(r"[A-Za-z0-9:._-]*\{(?:index|pci_bus_id)\}", self.entry, re.ASCII) is None:
            raise ValueError(f"{self.entry!r} ends neither with {{index}} nor with {{pci_bus_id}}")

    def entry_of(self, device: Device) -> str | None:
        """The device as the variable names it; None where it has nothing that may stand there."""
        if self.uuid_pattern is not None:
            identity, pattern = device.uuid or "", self.uuid_pattern
        elif self.entry.endswith("{index}"):
            return self.entry.replace("{index}", str(device.index))
        else:
            identity, pattern = device.pci_bus_id or "", _PCI_ADDRESS
        if re.fullmatch(pattern, identity, re.ASCII) is None:
            return None
        return (
            identity
            if self.uuid_pattern is not None
            else self.entry.replace("{pci_bus_id}", identity)
        )


class Support(msgspec.Struct, frozen=True, kw_only=True):
    """What the README says of a backend; it is read without building the backend."""

    # As people write it: `NVIDIA`.
    vendor: str
    # What it reads through.
    source: str
    # What the tests read: recorded output, composed machines, a real device.
    tested_with: str


@runtime_checkable
class Supported(Protocol):
    """Optional declaration of a backend, on its class: a row of the README's table."""

    support: Support


class Backend(Protocol):
    """One driver stack. Every method may block; the caller holds deadlines and threads.

    Built as `factory(context)`; building does nothing but keep the context.
    """

    name: str
    vendor: str
    # Whether the driver allows only one call at a time, over all its devices.
    serial: bool

    def probe(self) -> Probe:
        """Look around under the root: cheap, no vendor library, no device opened."""
        ...

    def open(self) -> Opened:
        """Load what is needed. Raises BackendUnavailable with a reason and a remedy."""
        ...

    def discover(self) -> Sequence[Device]:
        """All whole devices now, with what is known of them without a call that a device could hang.

        The identity may be provisional (an index and a name); `identify` completes it. A device that is
        there but broken, denied or asleep is in the list. Raises BackendUnavailable when the stack
        itself has gone.
        """
        ...

    def identify(self, device: Device) -> Sequence[Device]:
        """The device with its full identity, then its partitions; called on the device's own worker.

        Raises ReadError when the device cannot even be identified.
        """
        ...

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """Readings of an identified whole device: its own first, then those of its partitions.

        Raises ReadError (DeviceLost, DevicePermission, DeviceSuspended, ...) when the device as a whole
        cannot be read; one missing quantity is an absence, not an error.
        """
        ...

    def close(self) -> None:
        """Give everything back; never raises."""
        ...


@runtime_checkable
class Confining(Protocol):
    """Optional declaration of a backend, on its class: how a job is given just some of its devices.

    It is read without building the backend, in a process that loads no driver.
    """

    vendor: str
    visibility: Visibility


@runtime_checkable
class Configurable(Protocol):
    """Optional declaration of a backend, on its class: the keys of `collect.options` that are its own.

    Other keys are configuration errors, and relative paths start at its folder. The options of a
    backend without it are not checked. It is read without building the backend.
    """

    options: tuple[Option, ...]


@runtime_checkable
class Elsewhere(Protocol):
    """Optional mark of a backend whose devices are not in this machine, such as recorded ones.

    Their PCI ids mean nothing here, so that nobody looks them up in this machine's /sys.
    """

    elsewhere: bool


@runtime_checkable
class ReadableAsleep(Protocol):
    """Optional ability of a backend: some of its devices answer without being woken.

    All others are not identified or read while they sleep; the sampler sees to it.
    """

    def readable_asleep(self, device: Device) -> bool:
        """Whether identifying and reading the device leaves it asleep."""
        ...


@runtime_checkable
class EventSource(Protocol):
    """Optional ability of a backend: faults that the driver or the kernel reports by itself."""

    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        """Block up to `timeout_s` seconds for events; an empty result means none came."""
        ...


# Every optional part of a backend; a name that is nearly one of theirs is reported as an error.
OPTIONAL: tuple[type, ...] = (
    Supported,
    Confining,
    Configurable,
    Elsewhere,
    ReadableAsleep,
    EventSource,
)
