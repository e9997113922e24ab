"""NPUs of another machine by what `rbln-smi -j` printed there."""

from accelwatch.backend.kit.listed_process import without_processes
from accelwatch.backend.kit.remote import Outputs
from accelwatch.backend.kit.remote_tool import remote_tool
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.processes.complete_output import parsed
from accelwatch_rebellions import mapping
from accelwatch_rebellions.backend import RebellionsBackend
from accelwatch_rebellions.document import Npu, ToolOutput, parse

_KEY = "smi"
_COMMAND = RebellionsBackend.command


def _document(outputs: Outputs) -> ToolOutput:
    return parse(outputs[_KEY].printed(parsed(parse, lambda document: document.npus)))


def _identified(device: Device, npu: Npu, document: ToolOutput) -> Device:
    return mapping.identified(device, npu, document.driver_version)


def _read(device: Device, npu: Npu, document: ToolOutput) -> Reading:
    """Without processes: only its open files say on which NPU one is."""
    return without_processes(mapping.read(device.id, npu, document.npus), Absence.UNSUPPORTED)


REMOTE = remote_tool(
    "rebellions",
    vendor=mapping.VENDOR,
    prefix=_COMMAND.prefix,
    vendor_id=_COMMAND.vendor_id,
    commands=(_COMMAND.remote(_KEY, "-j"),),
    document=_document,
    listed=lambda document: document.npus,
    identified=_identified,
    read=_read,
)
