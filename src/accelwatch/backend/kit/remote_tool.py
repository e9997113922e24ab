"""The devices of another machine where one answer of a vendor's command lists them all.

A device that was listed before and is not any more cannot be read, and is lost when several answers in a
row leave it out; so is one whose entry says so.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from accelwatch.backend.kit.bus_devices import Listed
from accelwatch.backend.kit.remote import Outputs, Remote, RemoteCommand, RemoteRow
from accelwatch.backend.kit.unlisted import Unlisted
from accelwatch.base.errors import DeviceLost, ReadError
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch.system.processes.complete_output import CompletenessCheck, never

D = TypeVar("D")
E = TypeVar("E", bound=Listed)


class ToolReader(Generic[D, E]):
    """A RemoteReader over functions that a backend has for this machine's command too."""

    def __init__(
        self,
        document: Callable[[Outputs], D],
        listed: Callable[[D], Iterable[E]],
        identified: Callable[[Device, E, D], Device],
        read: Callable[[Device, E, D], Reading],
        *,
        provisional: Device,
    ) -> None:
        """`document` and `read` may raise ReadError. `provisional` has backend, vendor and kind.

        Its name is the prefix of the devices' names.
        """
        self._document = document
        self._listed = listed
        self._identified = identified
        self._read = read
        self._provisional = provisional
        # What a device reported last, by address: its uuid stays when the command that prints it
        # fails once.
        self._cached: dict[str | int, Device] = {}
        self._unlisted = Unlisted()

    def read(self, outputs: Outputs) -> Sequence[RemoteRow]:
        """The devices. Raises ReadError."""
        document = self._document(outputs)
        rows: list[RemoteRow] = []
        before = dict(self._cached)
        for entry in self._listed(document):
            key = entry.pci_bus_id or entry.number
            device = self._identified(self._at(entry), entry, document)
            cached = self._cached.get(key)
            if cached is not None and cached.uuid is not None and device.uuid is None:
                # The uuid was read before: now the command that prints it has failed.
                device = cached
            self._cached[key] = device
            before.pop(key, None)
            self._unlisted.forget(key)
            try:
                rows.append((device, self._read(device, entry, document)))
            except ReadError as error:
                rows.append((device, error))
        here = {device.id for device, _ in rows}
        for id_, device in before.items():
            if device.id in here:  # it has moved
                del self._cached[id_]
                continue
            text = f"{device.name}: it is not listed any more"
            lost = self._unlisted.note(id_, document)
            rows.append((device, (DeviceLost if lost else ReadError)(text, code="not_listed")))
        return rows

    def _at(self, entry: E) -> Device:
        """What is known without an answer."""
        return Device(
            id=f"{self._provisional.backend}:{entry.pci_bus_id or entry.number}",
            vendor=self._provisional.vendor,
            backend=self._provisional.backend,
            index=entry.number,
            name=f"{self._provisional.name}{entry.number}",
            kind=self._provisional.kind,
            pci_bus_id=entry.pci_bus_id,
        )


def replay(commands: Iterable[RemoteCommand], outputs: Outputs) -> Callable[..., bytes]:
    """Stands in for runs of the program here: returns what it printed there for the same arguments.

    Code that queries in several runs then reads another machine as it reads this one. May raise
    ReadError.
    """
    keys = {command.arguments: command.key for command in commands}

    def run(*arguments: str, is_complete: CompletenessCheck = never) -> bytes:
        output = outputs.get(keys.get(arguments, ""))
        if output is None:
            raise ReadError(f"not run there: {' '.join(arguments)}", code="command_failed")
        return output.printed(is_complete)

    return run


def remote_tool(
    backend: str,
    *,
    prefix: str,
    vendor_id: int,
    commands: tuple[RemoteCommand, ...],
    document: Callable[[Outputs], D],
    listed: Callable[[D], Iterable[E]],
    identified: Callable[[Device, E, D], Device],
    read: Callable[[Device, E, D], Reading],
    kind: DeviceKind = DeviceKind.NPU,
    vendor: str = "",
) -> Remote:
    """How the devices of a command are read where nothing of ours runs.

    `prefix` begins their names; `vendor` is in their identity where the backend has another name.
    `document` and `read` may raise ReadError.
    """
    common = Device(
        id=backend, vendor=vendor or backend, backend=backend, index=0, name=prefix, kind=kind
    )

    def reader() -> ToolReader[D, E]:
        return ToolReader(document, listed, identified, read, provisional=common)

    return Remote(commands=commands, reader=reader, pci_vendors=(f"{vendor_id:04x}",))
