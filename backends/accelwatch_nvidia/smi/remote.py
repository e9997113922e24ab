"""GPUs of another machine by what `nvidia-smi -q -x` printed there; this machine is not read."""

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element  # only the type; parsing is in smi.document

from accelwatch.backend.kit.remote import CommandOutput, Outputs, Remote, RemoteCommand, RemoteRow
from accelwatch.base.errors import AccelwatchError, DeviceLost, DeviceTimeout, ReadError
from accelwatch.schema.device import Device, normal_pci_bus_id
from accelwatch_nvidia import identity, returns
from accelwatch_nvidia.smi import elements
from accelwatch_nvidia.smi import identity as smi_identity
from accelwatch_nvidia.smi import mapping as smi_mapping
from accelwatch_nvidia.smi import text as smi_text
from accelwatch_nvidia.smi.document import parse

# Every clock that could be set: most of the document, and nothing is read from it.
_MENU = re.compile(rb"<supported_clocks>.*?</supported_clocks>", re.DOTALL)
_QUERY, _EACH = "query", "each"


class SmiReader:
    """Knows the GPUs that it has seen: one that is lost does not say its uuid any more."""

    def __init__(self) -> None:
        self._identified: dict[str, Device] = {}

    def read(self, outputs: Outputs) -> Sequence[RemoteRow]:
        """The GPUs and their MIG instances. Raises ReadError, BackendUnavailable."""
        answer = outputs[_QUERY]
        document = parse(_MENU.sub(b"", answer.output), answer.status)
        broken = smi_text.stack_failure(_text(answer), answer.status)
        if not document.gpus and broken is not None:
            raise broken
        rows = self._read_each(outputs)
        if not rows:
            for index, gpu in enumerate(document.gpus):
                rows += self._rows(index, gpu, document.driver_version)
        if not rows and not self._identified:
            raise _failure(answer)
        listed = {device.pci_bus_id for device, _ in rows}
        unlisted = [device for bus, device in self._identified.items() if bus not in listed]
        rows += [(device, _unlisted_error(device, answer, rows)) for device in unlisted]
        return [*rows, *self._named(answer, rows)]

    def _named(self, answer: CommandOutput, rows: Sequence[RemoteRow]) -> list[RemoteRow]:
        """GPUs that nvidia-smi names and could not open, of those that are in no row."""
        listed = {device.pci_bus_id for device, _ in rows}
        total = sum(device.parent_id is None for device, _ in rows)
        named = {
            failure.pci_bus_id: failure
            for failure in smi_text.gpu_failures(_text(answer))
            if failure.has_address
        }
        missing = [failure for failure in named.values() if failure.pci_bus_id not in listed]
        devices = [
            _provisional(at, failure.pci_bus_id) for at, failure in enumerate(missing, total)
        ]
        return [
            (device, returns.failure(failure.code, device.name, "nvidia-smi"))
            for device, failure in zip(devices, missing, strict=True)
        ]

    def _read_each(self, outputs: Outputs) -> list[RemoteRow]:
        """What each GPU says when it is queried alone, since one of them spoils the answer for all."""
        rows: list[RemoteRow] = []
        alone = {key: answer for key, answer in outputs.items() if key.startswith(f"{_EACH}/")}
        for index, (key, answer) in enumerate(alone.items()):
            bus = normal_pci_bus_id(key.removeprefix(f"{_EACH}/"))
            document = parse(_MENU.sub(b"", answer.output), answer.status)
            for gpu in document.gpus:
                rows += self._rows(index, gpu, document.driver_version)
            if not document.gpus:
                device = self._identified.get(bus) or _provisional(index, bus)
                rows.append((device, _alone(device, answer)))
        return rows

    def _rows(self, index: int, gpu: Element, driver: str | None) -> list[RemoteRow]:
        bus = elements.bus_of(gpu)
        provisional = self._identified.get(bus or "") or _provisional(index, bus)
        try:
            device = smi_identity.complete_device(provisional, gpu, driver)
            if bus is not None:
                self._identified[bus] = device
            rows: list[RemoteRow] = [(device, smi_mapping.read(device, gpu, frozenset()))]
        except ReadError as error:
            return [(provisional, error)]
        for partition, element in smi_identity.partitions(device, gpu, {}):
            rows.append(
                (partition, smi_mapping.read_partition(partition, element, gpu, frozenset()))
            )
        return rows


def _provisional(index: int, bus: str | None) -> Device:
    return Device(
        id=identity.device_id(None, bus, index),
        vendor="nvidia",
        backend=identity.BACKEND,
        index=index,
        name=f"nvidia{index}",
        pci_bus_id=bus,
    )


def _alone(device: Device, answer: CommandOutput) -> ReadError:
    """Why a GPU that was queried alone has not answered."""
    if answer.late:
        return DeviceTimeout(f"{device.name}: nvidia-smi did not end in time", code="timeout")
    failed = smi_text.gpu_failure(_text(answer))
    if failed is not None:
        return returns.failure(failed.code, device.name, "nvidia-smi")
    if answer.status in (returns.GPU_IS_LOST, returns.NOT_FOUND):
        return returns.failure(answer.status, device.name, "nvidia-smi")
    return ReadError(f"{device.name}: nvidia-smi: status {answer.status}", code="nvidia_smi")


def _unlisted_error(device: Device, answer: CommandOutput, rows: Sequence[RemoteRow]) -> ReadError:
    """Why a GPU that was seen before is in no answer."""
    if answer.late:
        return DeviceTimeout(f"{device.name}: nvidia-smi did not end in time", code="timeout")
    for failed in smi_text.gpu_failures(_text(answer)):
        if failed.pci_bus_id == device.pci_bus_id:
            return returns.failure(failed.code, device.name, "nvidia-smi")
    if rows or "No devices were found" in _text(answer):
        return DeviceLost(f"{device.name}: nvidia-smi does not list it any more", code="not_listed")
    return ReadError(f"{device.name}: {_failure(answer)}", code="nvidia_smi")


def _text(answer: CommandOutput) -> str:
    return answer.output.decode("utf-8", "replace") + answer.errors


def _failure(answer: CommandOutput) -> AccelwatchError:
    """Why there is no GPU in the answer."""
    if answer.late:
        return DeviceTimeout("nvidia-smi did not end in time", code="timeout")
    text = _text(answer)
    if failed := smi_text.gpu_failure(text):
        return returns.failure(failed.code, f"GPU {failed.pci_bus_id}", "nvidia-smi")
    if "No devices were found" in text:
        return DeviceLost("nvidia-smi lists no GPU", code="not_listed")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "nothing")
    return ReadError(
        f"nvidia-smi ended with status {answer.status} and no document: {first[:200]}",
        code="nvidia_smi",
    )


REMOTE = Remote(
    commands=(
        RemoteCommand(key=_QUERY, programs=("nvidia-smi",), arguments=("-q", "-x")),
        RemoteCommand(
            key=_EACH,
            programs=("nvidia-smi",),
            arguments=("-q", "-x", "-i"),
            if_fails=_QUERY,
            each_in="/proc/driver/nvidia/gpus",
        ),
    ),
    reader=SmiReader,
    pci_vendors=("10de",),
)
