"""NPUs of Rebellions: found on the PCI bus, read through `rbln-smi -j`, one run for all of them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch import sysfs
from accelwatch.backend import Check, Context, Opened, Probe, Request, Support, Visibility
from accelwatch.errors import (
    AccelwatchError,
    BackendUnavailable,
    DeviceLost,
    DevicePermission,
    DeviceSuspended,
    DeviceTimeout,
    ReadError,
)
from accelwatch.polled import PACE_S, Answer, Polled
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch.vendor_program import find_program, output_of
from accelwatch_rebellions import mapping
from accelwatch_rebellions.document import Document, Npu, parse
from accelwatch_rebellions.table import parse_table

VENDOR_ID = 0x1EFF
_ACCELERATOR = 0x12
"""PCI base class of processing accelerators."""
_PROGRAMS = ("rbln-smi", "rbln-stat")
"""The second is the name before the first, kept by the vendor as an alias."""
_TIMEOUT_S = 5.0
_FIRST_WAIT_S = 3.0
"""Less than a backend is given to open (5 s)."""
_REMEDY = "install the Rebellions driver package, which brings rbln-smi"


class RebellionsBackend:
    """Options: `rbln_smi` (path of the command), `pace_s` (seconds between two runs)."""

    name = "rebellions"
    vendor = mapping.VENDOR
    serial = False
    visibility = Visibility(variable="RBLN_DEVICES")
    support = Support(
        vendor="Rebellions",
        source="`rbln-smi -j` (`rbln-stat -j` of older drivers)",
        tested_with="the vendor's recorded identity of an ATOM card; composed documents of "
        "ATOM and REBEL machines, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._program: Path | None = None
        self._only_table = False
        """Whether the command has no JSON."""
        self._polled: Polled[Document] | None = None

    def probe(self) -> Probe:
        """Look for the vendor on the PCI bus and for its class."""
        root = self._context.root
        there = bool(self._functions())
        folder = root / "sys/class/rebellions"
        checks = (
            Check(subject="PCI 1eff, class 12", ok=there),
            Check(subject=str(folder), ok=folder.is_dir(), remedy="load the driver: rebellions"),
            Check(subject="rbln-smi", ok=self._find() is not None, remedy=_REMEDY),
        )
        return Probe(present=there or folder.is_dir(), checks=checks)

    def open(self) -> Opened:
        """Find the command and begin to ask it. Raises BackendUnavailable."""
        self._program = self._find()
        if self._program is None:
            raise BackendUnavailable(
                "rbln-smi was not found in the folders of commands",
                reason="command_not_found",
                remedy=_REMEDY,
            )
        self._polled = Polled(self._ask, self._context.clock, pace_s=self._pace_s())
        try:
            version = self._answer(_FIRST_WAIT_S).document.driver_version
        except AccelwatchError:
            # Its devices are on the PCI bus all the same, and say why they are not read.
            version = None
        return Opened(source=mapping.SOURCE, versions={"driver": version} if version else {})

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        places = self._functions()
        try:
            listed = self._answer(_FIRST_WAIT_S).document.npus
        except AccelwatchError as error:
            if not places:
                raise BackendUnavailable(str(error), reason="command_failed") from error
            listed = ()
        numbers = {npu.pci_bus_id: npu.number for npu in listed}
        hidden = [npu for npu in listed if npu.pci_bus_id not in places]
        return [
            *(_provisional(bus, numbers.get(bus, at)) for at, bus in enumerate(places)),
            *(_provisional(npu.pci_bus_id, npu.number) for npu in hidden),
        ]

    def identify(self, device: Device) -> Sequence[Device]:
        """The NPU by its uuid; it has no partitions. Raises ReadError."""
        answer = self._of(device)
        numa = sysfs.numa_node(self._context.root, device.pci_bus_id or "")
        known = msgspec.structs.replace(device, numa_node=numa)
        npu = _npu_of(answer.document, device)
        return [mapping.identified(known, npu, answer.document.driver_version)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest document says. Raises ReadError."""
        answer = self._of(device)
        npu = _npu_of(answer.document, device)
        numbers = msgspec.structs.replace(
            mapping.read(device.id, npu), age_s=answer.age_s, pace_s=answer.pace_s
        )
        if not request.processes:
            absent = {**numbers.absent, ("processes",): Absence.NOT_COLLECTED}
            return [msgspec.structs.replace(numbers, absent=absent)]
        request.numbers([numbers])
        entries = [entry for entry in answer.document.contexts if entry.number == npu.number]
        return [mapping.with_processes(numbers, entries, self._context.root)]

    def close(self) -> None:
        """Ask no more."""
        if self._polled is not None:
            self._polled.close()

    def _ask(self) -> Document:
        """The document; of a command that does not know `-j`, what its table has of it."""
        assert self._program is not None
        if not self._only_table:
            try:
                return parse(output_of(self._program, "-j", timeout_s=_TIMEOUT_S))
            except DeviceTimeout:
                raise
            except ReadError as error:
                document = self._table_or(error)
            self._only_table = True
            return document
        return parse_table(output_of(self._program, timeout_s=_TIMEOUT_S))

    def _table_or(self, error: ReadError) -> Document:
        """What the table says. Raises the first error when that is not to be had either."""
        assert self._program is not None
        try:
            return parse_table(output_of(self._program, timeout_s=_TIMEOUT_S))
        except ReadError:
            raise error from None

    def _answer(self, wait_s: float) -> Answer[Document]:
        if self._polled is None:
            raise BackendUnavailable("rbln-smi was not begun", reason="not_open")
        return self._polled.answer(wait_s)

    def _of(self, device: Device) -> Answer[Document]:
        """The newest answer, for a device that is awake. Raises ReadError."""
        if self._context.leaves_asleep(device.pci_bus_id):
            raise DeviceSuspended(f"{device.name} sleeps and was left asleep")
        try:
            return self._answer(_TIMEOUT_S)
        except BackendUnavailable as error:
            raise DevicePermission(str(error)) from error

    def _find(self) -> Path | None:
        named = self._context.options.get("rbln_smi")
        if isinstance(named, str):
            path = Path(named)
            return path if path.is_file() else None
        return find_program(self._context.root, _PROGRAMS, ("opt/rebellions/bin",))

    def _pace_s(self) -> float:
        told = self._context.options.get("pace_s", PACE_S)
        if isinstance(told, bool) or not isinstance(told, int | float) or not 0.1 <= told <= 3600:
            raise BackendUnavailable(
                f"pace_s: {told!r} is no number of seconds from 0.1 to 3600",
                reason="option",
                remedy="mend backends.rebellions.pace_s in the configuration",
            )
        return float(told)

    def _functions(self) -> list[str]:
        """PCI ids of accelerators of the vendor, in the order of the bus."""
        functions = sysfs.pci_functions(self._context.root, VENDOR_ID)
        return [bus for bus, _, code in functions if code >> 16 == _ACCELERATOR]


def _provisional(bus: str | None, number: int) -> Device:
    """What is known without a document: the place on the bus."""
    return Device(
        id=f"{mapping.VENDOR}:{bus or number}",
        vendor=mapping.VENDOR,
        backend=mapping.VENDOR,
        index=number,
        name=f"rbln{number}",
        kind=DeviceKind.NPU,
        pci_bus_id=bus,
    )


def _npu_of(document: Document, device: Device) -> Npu:
    """The NPU at the device's place. Raises DeviceLost when it is not listed."""
    for npu in document.npus:
        if npu.pci_bus_id == device.pci_bus_id if device.pci_bus_id else npu.number == device.index:
            return npu
    raise DeviceLost(
        f"{device.name}: rbln-smi does not list the NPU at {device.pci_bus_id}", code="not_listed"
    )
