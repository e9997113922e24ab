"""What backends share whose devices a vendor's command lists (`vendor_tool`).

A vendor's part is the description of its command and driver (`Command`), how to query the command, and
how to read a device from an answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import msgspec

from accelwatch.backend import Check, Context, Opened, Option, Probe, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.bus_devices import ACCELERATOR, Listed, accelerators, bare_devices
from accelwatch.backend.kit.listed_process import with_processes, without_processes
from accelwatch.backend.kit.polled import TIMEOUT_S, PolledDocument
from accelwatch.backend.kit.remote import RemoteCommand
from accelwatch.backend.kit.vendor_program import chosen_program, output_of
from accelwatch.backend.kit.vendor_tool import VendorTool
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Process, Reading
from accelwatch.system.kernel import sysfs
from accelwatch.system.processes.complete_output import CompletenessCheck, never

# What the command answers.
T = TypeVar("T")
# The entry of one device in an answer.
E = TypeVar("E", bound=Listed)
_VERSION_CHARS = 64


class Command(NamedTuple):
    """A vendor's command, its driver, and the devices that it lists."""

    # Of the program: the first that is found is used.
    names: tuple[str, ...]
    # Of the configuration; it names the file.
    option: str
    # What to do where there is none.
    remedy: str
    # On the PCI bus.
    vendor_id: int
    # Of the names of devices.
    prefix: str
    # A path that is there as long as the driver is loaded, from the root.
    driver: str
    # What is to be loaded where it is not.
    module: str
    # Where the vendor's packages put the program, from the root.
    folders: tuple[str, ...] = ()
    # PCI base classes of the devices; the vendor may have functions of others.
    classes: tuple[int, ...] = (ACCELERATOR,)
    kind: DeviceKind = DeviceKind.NPU
    # How nodes of devices are called below /dev (`rbln[0-9]*`).
    nodes: str = ""

    @property
    def options(self) -> tuple[Option, ...]:
        """What the backend of such a command reads from the configuration, for its own `options`."""
        return (Option(self.option, is_path=True), Option("pace_s"))

    def remote(self, key: str, *arguments: str, if_fails: str = "") -> RemoteCommand:
        """A run of it on another machine, as `RemoteCommand` has it."""
        return RemoteCommand(
            key=key,
            programs=self.names,
            arguments=arguments,
            folders=tuple(f"/{folder}" for folder in self.folders),
            if_fails=if_fails,
        )


class ToolBackend(Generic[T, E]):
    """A backend without what is the vendor's own: `identify`, `read` and what raises here."""

    name: str
    command: ClassVar[Command]

    def __init__(self, context: Context) -> None:
        self._context = context
        # The command, once it is found.
        self._program = Path()
        self._tool: VendorTool[T, E] | None = None

    def make_query(self) -> Callable[[], T]:
        """A query that lists all devices through the program; each call may raise ReadError."""
        raise NotImplementedError

    def listed(self, answer: T) -> Iterable[E]:
        """The devices in an answer."""
        raise NotImplementedError

    def with_address(self, entry: E, bus: str) -> E | None:
        """An entry whose address could not be read, at this one; None when it has none of its own."""
        addressed: E = msgspec.structs.replace(cast(Any, entry), pci_bus_id=bus)
        return addressed

    def reported_version(self, _answer: T, /) -> str | None:
        """Of the driver, as an answer has it."""
        return None

    def driver_version(self, answer: T | None) -> str | None:
        """As an answer has it, else by the kernel's module."""
        reported = None if answer is None else self.reported_version(answer)
        return reported or self.module_version()

    def versions(self, answer: T | None) -> Mapping[str, str]:
        """What a report of the backend says, by name."""
        version = self.driver_version(answer)
        return {"driver": version} if version else {}

    def probe(self) -> Probe:
        """Look for the vendor's devices on the PCI bus, for its driver and its command."""
        there, driver = bool(self.on_bus()), self._context.root / self.command.driver
        checks = (
            self.bus_check(there=there),
            Check(
                subject=str(driver),
                ok=driver.exists(),
                remedy=f"load the driver: {self.command.module}",
            ),
            self.command_check(),
        )
        return Probe(present=there or driver.exists(), checks=checks)

    def bus_check(self, *, there: bool) -> Check:
        """Whether the devices are on the bus."""
        classes = " or ".join(f"{code:02x}" for code in sorted(self.command.classes))
        return Check(subject=f"PCI {self.command.vendor_id:04x}, class {classes}", ok=there)

    def command_check(self) -> Check:
        """Whether the command is there."""
        command = self.command
        is_present = self.find() is not None
        return Check(subject=command.names[0], ok=is_present, remedy=command.remedy)

    def open(self) -> Opened:
        """Find the command and start to poll it. Raises BackendUnavailable."""
        program = self.find()
        if program is None:
            raise self.not_found().with_devices(self._there())
        self._program = program
        return self.start(self.make_query(), source=self.command.names[0])

    def _there(self) -> list[Device]:
        """The devices on the bus but for those that somebody else was given."""
        command = self.command
        return bare_devices(
            self._context.root,
            self.on_bus(),
            vendor=self.name,
            prefix=command.prefix,
            kind=command.kind,
            nodes=command.nodes,
        )

    def start(self, query: Callable[[], T], *, source: str) -> Opened:
        """Start to poll; wait briefly for the first answer. Raises BackendUnavailable."""
        command = self.command
        try:
            self._tool = VendorTool(
                self._context,
                query,
                self.listed,
                name=self.name,
                command=source,
                prefix=command.prefix,
                vendor_id=command.vendor_id,
                classes=command.classes,
                kind=command.kind,
                nodes=command.nodes,
                with_address=self.with_address,
            )
        except BackendUnavailable as refusal:
            raise refusal.with_devices(self._there()) from None
        return Opened(source=source, versions=dict(self.versions(self._tool.first())))

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        return self.tool.discover()

    def close(self) -> None:
        """Stop polling."""
        if self._tool is not None:
            self._tool.close()

    @property
    def tool(self) -> VendorTool[T, E]:
        """The poller of the command; there once the backend is open."""
        assert self._tool is not None
        return self._tool

    def run(self, *arguments: str, is_complete: CompletenessCheck = never) -> bytes:
        """What the command prints with these arguments. Raises ReadError."""
        return output_of(
            self._program,
            *arguments,
            timeout_s=TIMEOUT_S,
            environ=self.environ(),
            is_complete=is_complete,
        )

    def environ(self) -> Mapping[str, str] | None:
        """What a run gets beside the environment."""
        return None

    def find(self) -> Path | None:
        """The command's file: that which the configuration names, else where packages put it."""
        command = self.command
        named = self._context.options.get(command.option)
        return chosen_program(self._context.root, named, command.names, command.folders)

    def on_bus(self) -> list[str]:
        """PCI ids of the devices, in the order of the bus."""
        return accelerators(self._context, self.command.vendor_id, self.command.classes)

    def module_version(self) -> str | None:
        """Of the driver, as its kernel module says."""
        file = self._context.root / "sys/module" / self.command.module / "version"
        version = sysfs.read_text(file)
        return None if isinstance(version, Absence) else version[:_VERSION_CHARS] or None

    def node(self, name: str) -> str | None:
        """A device's node of this name; None where there is none."""
        return f"/dev/{name}" if (self._context.root / "dev" / name).exists() else None

    def readings(
        self,
        request: Request,
        answer: PolledDocument[T],
        numbers: Reading,
        processes: Callable[[], Sequence[Process]] | Absence,
    ) -> list[Reading]:
        """One device's numbers with their age and, on request, the listed processes.

        `processes` that are unknown come as the reason why.
        """
        numbers = msgspec.structs.replace(numbers, age_s=answer.age_s, pace_s=answer.pace_s)
        if not request.processes:
            return [without_processes(numbers, Absence.NOT_COLLECTED)]
        if isinstance(processes, Absence):
            return [without_processes(numbers, processes)]
        request.numbers([numbers])
        return [with_processes(self._context.root, numbers, processes())]

    def not_found(self) -> BackendUnavailable:
        """The error for a command that is not installed."""
        command = self.command
        named = self._context.options.get(command.option)
        if isinstance(named, str):
            return BackendUnavailable(
                f"{command.option}: {named!r} is not a file",
                reason="command_not_found",
                remedy=f"fix collect.options.{self.name}.{command.option} in the configuration",
            )
        own = ", ".join(f"/{folder}" for folder in command.folders)
        searched = f"found neither in {own} nor" if own else "not found"
        return BackendUnavailable(
            f"{command.names[0]} was {searched} in the folders of commands",
            reason="command_not_found",
            remedy=command.remedy,
        )
