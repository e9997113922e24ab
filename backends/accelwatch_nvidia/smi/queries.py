"""Runs of `nvidia-smi -q -x`: one for all GPUs, and one a GPU when that fails."""

import threading
from xml.etree.ElementTree import Element  # only the type; parsing is in smi.document

from accelwatch.backend import Context
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.errors import (
    DeviceLost,
    DevicePermission,
    DeviceSuspended,
    DeviceTimeout,
    ReadError,
)
from accelwatch.base.failure_line import failure_line
from accelwatch.schema.device import Device
from accelwatch.system.processes import command
from accelwatch.system.processes.command import CommandResult
from accelwatch_nvidia import presence, returns
from accelwatch_nvidia.smi import elements
from accelwatch_nvidia.smi import text as smi_text
from accelwatch_nvidia.smi.document import SmiDocument, parse

# A run lasts 0.05-0.5 s, several seconds when the driver must first be initialised.
TIMEOUT_S = 10.0
# Readings of one tick share one run; a slow run serves twice its own duration.
_FRESH_S = 0.4


class SmiQueries:
    """The program, and the document that the readers of one tick share."""

    def __init__(self, context: Context, instead_of: BackendUnavailable | None) -> None:
        """`instead_of` is why the library cannot be used."""
        self._context = context
        self._instead_of = instead_of
        self._program = ""
        self._timeout_s = TIMEOUT_S
        # One run of the command at a time; readers of the other devices wait and share its
        # document.
        self._lock = threading.Lock()
        self._document: SmiDocument | None = None
        self._read_at = 0.0
        self._runs_per_gpu = False
        # Seconds for which one run serves all readers.
        self.fresh_s = _FRESH_S

    def find_program(self) -> None:
        """Find nvidia-smi, by the options. Raises BackendUnavailable."""
        import shutil  # half a MiB, where the library is not used

        options, environ = self._context.options, self._context.environ
        self._timeout_s = _seconds(options.get("nvidia_smi_timeout_s", TIMEOUT_S))
        named = str(options.get("nvidia_smi", "nvidia-smi"))
        self._program = shutil.which(named, path=environ.get("PATH")) or ""
        if not self._program:
            raise BackendUnavailable(
                f"{named} is not on PATH",
                reason="command_not_found",
                remedy="install the user-space part of the driver",
            )

    def run(self, *arguments: str) -> CommandResult:
        """Run nvidia-smi with these arguments."""
        return command.run([self._program, *arguments], timeout_s=self._timeout_s)

    def query_all(self) -> SmiDocument:
        """The document of all GPUs, of this tick. Raises BackendUnavailable when nvidia-smi cannot work.

        Once one GPU spoils it or one sleeps, the GPUs are queried one by one.
        """
        with self._lock:
            now = self._context.clock.monotonic()
            if self._document is not None and now - self._read_at < self.fresh_s:
                return self._document
            result = self.run("-q", "-x")
            document = parse(result.output, result.status)
            if not document.gpus:
                text = (result.output + result.errors).decode("utf-8", "replace")
                if unavailable := smi_text.stack_failure(text, result.status):
                    raise unavailable
            self._runs_per_gpu = not document.complete or not result.ok
            self._document, self._read_at = document, self._context.clock.monotonic()
            self.fresh_s = max(_FRESH_S, 2 * (self._read_at - now))
            return document

    def query_gpu(self, device: Device) -> Element:
        """The device's `gpu` element. Raises ReadError."""
        bus = device.pci_bus_id
        if bus is None:
            raise ReadError(f"{device.name}: its PCI id is not known", code="no_pci_id")
        root = self._context.root
        if self._context.leaves_asleep(bus):
            self._runs_per_gpu = True
            raise DeviceSuspended(f"{device.name}: asleep, left asleep", code="suspended")
        if not self._runs_per_gpu and not self.any_asleep():
            gpu = _in(self.query_all(), bus)
            if gpu is not None:
                return gpu
        if why := presence.refusal(root, device.device_nodes):
            raise DevicePermission(f"{device.name}: {why}", code="permission")
        result = self.run("-q", "-x", "-i", bus)
        gpu = _in(parse(result.output, result.status), bus)
        if gpu is None:
            failure = _failure(device, result)
            if self._instead_of is not None and type(failure) is ReadError:
                # Of two sources that failed, the library knows more than the command.
                remedy = f"; {self._instead_of.remedy}" if self._instead_of.remedy else ""
                raise ReadError(f"{failure}; {self._instead_of}{remedy}", code=failure.code)
            raise failure
        return gpu

    def any_asleep(self) -> bool:
        """Whether a GPU is left asleep, which a run for all would wake."""
        gpus = presence.present_gpus(self._context.root)
        return any(self._context.leaves_asleep(gpu.pci_bus_id) for gpu in gpus)

    def single_address(self, device: Device) -> str | None:
        """The device's PCI id where the GPUs are queried one by one; None where one run serves all."""
        return device.pci_bus_id if self._runs_per_gpu or self.any_asleep() else None

    @property
    def driver_version(self) -> str | None:
        """As of the latest document of all GPUs."""
        return self._document.driver_version if self._document else None

    def forget(self) -> None:
        """Keep no document."""
        self._document = None


def _seconds(option: object) -> float:
    try:
        return float(str(option))
    except ValueError as error:
        raise BackendUnavailable(
            f"nvidia_smi_timeout_s: {option!r} is not a valid number of seconds", reason="option"
        ) from error


def _in(document: SmiDocument, bus: str) -> Element | None:
    return next((gpu for gpu in document.gpus if elements.bus_of(gpu) == bus), None)


def _failure(device: Device, result: CommandResult) -> ReadError:
    """Why a run for one GPU brought no element."""
    if result.failure == "timeout":
        return DeviceTimeout(f"{device.name}: nvidia-smi did not end", code="timeout")
    if result.failure == "permission":
        return DevicePermission(f"{device.name}: nvidia-smi may not be run", code="permission")
    text = (result.output + result.errors).decode("utf-8", "replace")
    if failed := smi_text.gpu_failure(text):
        return returns.failure(failed.code, device.name, "nvidia-smi")
    if result.status == returns.GPU_IS_LOST:
        return returns.failure(returns.GPU_IS_LOST, device.name, "nvidia-smi")
    if result.status == returns.NOT_FOUND or "No devices were found" in text:
        return DeviceLost(f"{device.name}: nvidia-smi does not list it", code="not_listed")
    status = result.failure or f"status {result.status}"
    line = failure_line(text)
    what = f"{line} ({status})" if line and not line.startswith("<") else status
    return ReadError(f"{device.name}: nvidia-smi: {what}", code="nvidia_smi")
