"""GPUs of another machine by what `nvidia-smi -q -x` printed there; this machine is not looked at."""

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element  # only the type; parsing is in smi_document

from accelwatch.backend_kit.remote import CommandOutput, Outputs, Remote, RemoteCommand, RemoteRow
from accelwatch.base.errors import AccelwatchError, DeviceLost, DeviceTimeout, ReadError
from accelwatch.schema.device import Device, normal_pci_bus_id
from accelwatch_nvidia import identity, returns, smi_mapping, smi_text
from accelwatch_nvidia.smi_document import parse

_MENU = re.compile(rb"<supported_clocks>.*?</supported_clocks>", re.DOTALL)
"""Every clock that could be set: most of the document, and nothing is read from it."""
_QUERY, _EACH = "query", "each"


class SmiReader:
    """Knows the GPUs that it has seen: one that is lost does not say its uuid any more."""

    def __init__(self) -> None:
        self._known: dict[str, Device] = {}

    def read(self, outputs: Outputs) -> Sequence[RemoteRow]:
        """The GPUs and their MIG instances. Raises ReadError, BackendUnavailable."""
        told = outputs[_QUERY]
        document = parse(_MENU.sub(b"", told.output), told.status)
        broken = smi_text.stack_failure(_text(told), told.status)
        if not document.gpus and broken is not None:
            raise broken
        rows = self._one_by_one(outputs)
        if not rows:
            for index, gpu in enumerate(document.gpus):
                rows += self._rows(index, gpu, document.driver_version)
        if not rows and not self._known:
            raise _failure(told)
        listed = {device.pci_bus_id for device, _ in rows}
        gone = [device for bus, device in self._known.items() if bus not in listed]
        rows += [(device, _gone(device, told, rows)) for device in gone]
        return [*rows, *self._named(told, rows)]

    def _named(self, told: CommandOutput, rows: Sequence[RemoteRow]) -> list[RemoteRow]:
        """GPUs that nvidia-smi names and could not open, of those that are in no row."""
        listed = {device.pci_bus_id for device, _ in rows}
        whole = sum(device.parent_id is None for device, _ in rows)
        named = {one.pci_bus_id: one for one in smi_text.gpu_failures(_text(told)) if one.is_placed}
        missing = [one for one in named.values() if one.pci_bus_id not in listed]
        devices = [_provisional(at, one.pci_bus_id) for at, one in enumerate(missing, whole)]
        return [
            (device, returns.failure(one.code, device.name, "nvidia-smi"))
            for device, one in zip(devices, missing, strict=True)
        ]

    def _one_by_one(self, outputs: Outputs) -> list[RemoteRow]:
        """What each GPU says when it is asked alone, since one of them spoils the answer for all."""
        rows: list[RemoteRow] = []
        alone = {key: told for key, told in outputs.items() if key.startswith(f"{_EACH}/")}
        for index, (key, told) in enumerate(alone.items()):
            bus = normal_pci_bus_id(key.removeprefix(f"{_EACH}/"))
            document = parse(_MENU.sub(b"", told.output), told.status)
            for gpu in document.gpus:
                rows += self._rows(index, gpu, document.driver_version)
            if not document.gpus:
                device = self._known.get(bus) or _provisional(index, bus)
                rows.append((device, _alone(device, told)))
        return rows

    def _rows(self, index: int, gpu: Element, driver: str | None) -> list[RemoteRow]:
        bus = smi_mapping.bus_of(gpu)
        provisional = self._known.get(bus or "") or _provisional(index, bus)
        try:
            device = smi_mapping.complete_device(provisional, gpu, driver)
            if bus is not None:
                self._known[bus] = device
            rows: list[RemoteRow] = [(device, smi_mapping.read(device, gpu, frozenset()))]
        except ReadError as error:
            return [(provisional, error)]
        for part, element in smi_mapping.partitions(device, gpu, {}):
            rows.append((part, smi_mapping.read_partition(part, element, gpu, frozenset())))
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


def _alone(device: Device, told: CommandOutput) -> ReadError:
    """Why a GPU that was asked alone has not answered."""
    if told.late:
        return DeviceTimeout(f"{device.name}: nvidia-smi did not end in time", code="timeout")
    failed = smi_text.gpu_failure(_text(told))
    if failed is not None:
        return returns.failure(failed.code, device.name, "nvidia-smi")
    if told.status in (returns.GPU_IS_LOST, returns.NOT_FOUND):
        return returns.failure(told.status, device.name, "nvidia-smi")
    return ReadError(f"{device.name}: nvidia-smi: status {told.status}", code="nvidia_smi")


def _gone(device: Device, told: CommandOutput, rows: Sequence[RemoteRow]) -> ReadError:
    """Why a GPU that was seen before is in no answer."""
    if told.late:
        return DeviceTimeout(f"{device.name}: nvidia-smi did not end in time", code="timeout")
    for failed in smi_text.gpu_failures(_text(told)):
        if failed.pci_bus_id == device.pci_bus_id:
            return returns.failure(failed.code, device.name, "nvidia-smi")
    if rows or "No devices were found" in _text(told):
        return DeviceLost(f"{device.name}: nvidia-smi does not list it any more", code="not_listed")
    return ReadError(f"{device.name}: {_failure(told)}", code="nvidia_smi")


def _text(told: CommandOutput) -> str:
    return told.output.decode("utf-8", "replace") + told.errors


def _failure(told: CommandOutput) -> AccelwatchError:
    """Why there is no GPU in the answer."""
    if told.late:
        return DeviceTimeout("nvidia-smi did not end in time", code="timeout")
    text = _text(told)
    if failed := smi_text.gpu_failure(text):
        return returns.failure(failed.code, f"GPU {failed.pci_bus_id}", "nvidia-smi")
    if "No devices were found" in text:
        return DeviceLost("nvidia-smi lists no GPU", code="not_listed")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "nothing")
    return ReadError(
        f"nvidia-smi ended with status {told.status} and no document: {first[:200]}",
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
