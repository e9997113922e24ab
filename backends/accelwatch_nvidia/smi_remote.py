"""GPUs of another machine by what `nvidia-smi -q -x` printed there; this machine is not looked at."""

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element  # only the type; parsing is in smi_document

from accelwatch.errors import AccelwatchError, DeviceLost, DeviceTimeout, ReadError
from accelwatch.remote import CommandOutput, Remote, RemoteCommand, RemoteRow
from accelwatch.schema.device import Device
from accelwatch_nvidia import identity, returns, smi_mapping, smi_text
from accelwatch_nvidia.smi_document import Document, parse

_QUERY = "query"


class SmiReader:
    """Knows the GPUs that it has seen: one that is lost does not say its uuid any more."""

    def __init__(self) -> None:
        self._known: dict[str, Device] = {}

    def read(self, outputs: Mapping[str, CommandOutput]) -> Sequence[RemoteRow]:
        """The GPUs and their MIG instances. Raises ReadError, BackendUnavailable."""
        told = outputs[_QUERY]
        document = parse(told.output)
        if not document.gpus:
            raise _failure(told)
        rows: list[RemoteRow] = []
        for index, gpu in enumerate(document.gpus):
            rows += self._rows(index, gpu, document)
        listed = {device.pci_bus_id for device, _ in rows}
        gone = [device for bus, device in self._known.items() if bus not in listed]
        return [*rows, *((device, _lost(device, told)) for device in gone)]

    def _rows(self, index: int, gpu: Element, document: Document) -> list[RemoteRow]:
        bus = smi_mapping.bus_of(gpu)
        provisional = self._known.get(bus or "") or _provisional(index, bus)
        try:
            device = smi_mapping.complete_device(provisional, gpu, document.driver_version)
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


def _lost(device: Device, told: CommandOutput) -> ReadError:
    """Why a GPU that was seen is not in the document: nvidia-smi may have stopped on account of it."""
    failed = smi_text.gpu_failure(_text(told))
    if failed is not None and failed.pci_bus_id == device.pci_bus_id:
        return returns.failure(failed.code, device.name, "nvidia-smi")
    return DeviceLost(f"{device.name}: nvidia-smi does not list it any more", code="not_listed")


def _text(told: CommandOutput) -> str:
    return told.output.decode("utf-8", "replace") + told.errors


def _failure(told: CommandOutput) -> AccelwatchError:
    """Why there is no GPU in the answer."""
    if told.late:
        return DeviceTimeout("nvidia-smi did not end in time", code="timeout")
    text = _text(told)
    if unavailable := smi_text.stack_failure(text, told.status):
        return unavailable
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
    commands=(RemoteCommand(key=_QUERY, programs=("nvidia-smi",), arguments=("-q", "-x")),),
    reader=SmiReader,
    pci_vendors=("10de",),
)
