"""A vendor's command as the source of all its devices: found on the PCI bus, read by one answer for all.

What is on the bus is a device even when the command does not answer or does not list it; what only the
command lists, as in a container that hides the bus, is one too. A device that the command does not list,
and that nobody else can have (`device_nodes`), cannot be read. It is lost when several answers in a row
leave it out (`unlisted`), when the bus has it no more, or when the driver holds the others and not it.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count
from typing import Generic, TypeVar

from accelwatch.backend import Context
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.bus_devices import (
    ACCELERATOR,
    Listed,
    Location,
    accelerators,
    bare_device,
)
from accelwatch.backend.kit.polled import TIMEOUT_S, Polled, PolledDocument, pace_of
from accelwatch.backend.kit.unlisted import Unlisted
from accelwatch.base.errors import (
    AccelwatchError,
    DeviceLost,
    DevicePermission,
    DeviceSuspended,
    ReadError,
)
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.system.kernel import device_nodes

T = TypeVar("T")
E = TypeVar("E", bound=Listed)

# Less than a backend is given to open (5 s).
_FIRST_WAIT_S = 3.0


class VendorTool(Generic[T, E]):
    """Polls the command through `query` and knows which devices there are. `name` is backend and
    vendor.
    """

    def __init__(
        self,
        context: Context,
        query: Callable[[], T],
        listed: Callable[[T], Iterable[E]],
        *,
        name: str,
        command: str,
        prefix: str,
        vendor_id: int,
        classes: Collection[int] = (ACCELERATOR,),
        kind: DeviceKind = DeviceKind.NPU,
        nodes: str = "",
        with_address: Callable[[E, str], E | None] | None = None,
    ) -> None:
        """`listed` in an answer; `prefix` of the names of devices, `classes` of PCI that they have.

        `nodes` of devices are so called below /dev (`rbln[0-9]*`). `with_address` is an entry whose
        address could not be read, with the only address left for it. Raises BackendUnavailable.
        """
        self._context = context
        self._listed, self._with_address = listed, with_address
        self._name, self._command = name, command
        self._prefix, self._vendor_id = prefix, vendor_id
        self._classes, self._kind, self._nodes = classes, kind, nodes
        self._laid_out: tuple[T, Sequence[E]] | None = None
        # PCI addresses at which the command has listed a device that was read.
        self._read_addresses: set[str | None] = set()
        self._was_on_bus: set[str | None] = set()
        # By number: what only the command has listed.
        self._hidden: dict[int, Location] = {}
        self._unlisted = Unlisted()
        self._polled = Polled(query, context.clock, pace_s=pace_of(context.options, name))

    def first(self) -> T | None:
        """The first answer; None when there is none soon: the devices then say why, one by one."""
        try:
            return self._polled.answer(_FIRST_WAIT_S).document
        except AccelwatchError:
            return None

    def discover(self) -> list[Device]:
        """What is on the bus, then what only the command lists. Raises BackendUnavailable."""
        on_bus = accelerators(self._context, self._vendor_id, self._classes)
        self._was_on_bus.update(on_bus)
        document: T | None = None
        try:
            document = self._polled.answer(_FIRST_WAIT_S).document
            listed: Sequence[E] = self._entries(document)
        except AccelwatchError as error:
            if not on_bus:
                raise BackendUnavailable(str(error), reason="command_failed") from error
            listed = []
        numbers = {entry.pci_bus_id: entry.number for entry in listed}
        listed_addresses = self._read_addresses | set(numbers)
        on_bus = [
            bus for bus in on_bus if bus in listed_addresses or not self._is_virtual_function(bus)
        ]
        free = (number for number in count() if number not in numbers.values())
        hidden = [entry for entry in listed if entry.pci_bus_id not in on_bus]
        locations = [
            Location(bus, numbers[bus] if bus in numbers else next(free)) for bus in on_bus
        ]
        return [
            *(self._provisional(location) for location in locations),
            *map(self._provisional, self._still_hidden(hidden, on_bus, document)),
        ]

    def _still_hidden(
        self, hidden: Iterable[E], on_bus: Collection[str], document: T | None
    ) -> list[Location]:
        """What only the command lists, with what it listed a moment ago."""
        here = {entry.number: Location(entry.pci_bus_id, entry.number) for entry in hidden}
        self._hidden = {
            number: location
            for number, location in self._hidden.items()
            if location.pci_bus_id not in on_bus
            and (document is None or not self._unlisted.note(location, document))
        } | here
        for location in here.values():
            self._unlisted.forget(location)
        return [self._hidden[number] for number in sorted(self._hidden)]

    def answer_for(self, device: Device) -> PolledDocument[T]:
        """The newest answer, for a device that is awake. Raises ReadError.

        DevicePermission when the answer is a failure, and the device was never ours.
        """
        if self._context.leaves_asleep(device.pci_bus_id):
            raise DeviceSuspended(f"{device.name} sleeps and was left asleep")
        try:
            return self._polled.answer(TIMEOUT_S)
        except AccelwatchError as error:
            self.must_be_ours(device)
            if isinstance(error, ReadError):
                raise
            raise ReadError(str(error), code="command_failed") from error

    def entry_for(self, device: Device) -> tuple[PolledDocument[T], E]:
        """The newest answer, and its entry at the device's address. Raises ReadError.

        The error is that of `not_listed` when the answer has no such entry.
        """
        answer, bus = self.answer_for(device), device.pci_bus_id
        for entry in self._entries(answer.document):
            if entry.pci_bus_id == bus if bus else entry.number == device.index:
                self._read_addresses.add(bus)
                self.is_listed(device)
                return answer, entry
        self.must_be_ours(device)
        raise self.not_listed(device, answer.document, f"the {self._kind.upper()} at {bus}")

    def is_listed(self, device: Device) -> None:
        """The newest answer lists the device."""
        self._unlisted.forget(device.id)

    def not_listed(self, device: Device, document: T, what: str) -> ReadError:
        """Why a device of ours that a document leaves out is not read: lost only if more says so.

        A table may be cut short: one answer alone is no proof, be it the first or a later one.
        """
        text = f"{device.name}: {self._command} does not list {what}"
        enough = self._unlisted.note(device.id, document)
        bus = device.pci_bus_id
        if enough or self._has_left(bus) or self._is_unbound(bus):
            return DeviceLost(text, code="not_listed")
        return ReadError(f"{text} in this run", code="not_listed")

    def _entries(self, document: T) -> Sequence[E]:
        """The entries of a document, each with its address; computed once a document."""
        if self._laid_out is None or self._laid_out[0] is not document:
            self._laid_out = document, self._fill_addresses(list(self._listed(document)))
        return self._laid_out[1]

    def _fill_addresses(self, listed: list[E]) -> list[E]:
        """One whose address cannot be read is where alone nothing is listed, no second device."""
        bare = [at for at, entry in enumerate(listed) if entry.pci_bus_id is None]
        addresses = {entry.pci_bus_id for entry in listed}
        on_bus = accelerators(self._context, self._vendor_id, self._classes) if bare else []
        free = [
            bus for bus in on_bus if bus not in addresses and not self._is_virtual_function(bus)
        ]
        if len(free) != 1 or self._with_address is None:
            return listed
        addressed = {at: entry for at in bare if (entry := self._with_address(listed[at], free[0]))}
        if len(addressed) != 1:
            return listed
        return [addressed.get(at, entry) for at, entry in enumerate(listed)]

    def must_be_ours(self, device: Device) -> None:
        """Raises DevicePermission for what was never listed and is somebody else's."""
        bus, root = device.pci_bus_id, self._context.root
        if bus is None or bus in self._read_addresses:
            return
        others = accelerators(self._context, self._vendor_id, self._classes)
        if why := device_nodes.why_withheld(root, bus, others, self._nodes):
            raise DevicePermission(
                f"{device.name}: the {self._kind.upper()} at {bus} was not given to us: {why}",
                code="not_given",
            )

    def _has_left(self, bus: str | None) -> bool:
        """Whether a device that was on the bus is there no more: that is word enough."""
        if bus not in self._was_on_bus:
            return False
        return bus not in accelerators(self._context, self._vendor_id, self._classes)

    def _is_unbound(self, bus: str | None) -> bool:
        """Whether the driver holds others of the vendor's devices and not this one."""
        others = accelerators(self._context, self._vendor_id, self._classes)
        return bus is not None and device_nodes.is_unbound(self._context.root, bus, others)

    def _is_virtual_function(self, bus: str) -> bool:
        return device_nodes.is_virtual_function(self._context.root, bus)

    def close(self) -> None:
        """Stop polling."""
        self._polled.close()

    def _provisional(self, location: Listed) -> Device:
        return bare_device(
            self._context.root, location, vendor=self._name, prefix=self._prefix, kind=self._kind
        )
