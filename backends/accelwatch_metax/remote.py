"""GPUs of another machine by what the runs of mx-smi printed there."""

from accelwatch.backend.kit.listed_process import with_listed
from accelwatch.backend.kit.remote import Outputs
from accelwatch.backend.kit.remote_tool import remote_tool, replay
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_metax import mapping
from accelwatch_metax.command import COMMAND
from accelwatch_metax.document import Gpu, ToolOutput
from accelwatch_metax.rounds import FEWER, SECTIONS, Rounds

_COMMANDS = (
    COMMAND.remote("table"),
    COMMAND.remote("list", "-L"),
    COMMAND.remote("sections", *SECTIONS[0]),
    COMMAND.remote("temperature", *FEWER[0], if_fails="sections"),
    COMMAND.remote("ecc", *SECTIONS[1]),
)


def _document(outputs: Outputs) -> ToolOutput:
    return Rounds(replay(_COMMANDS, outputs)).query()


def _identified(device: Device, gpu: Gpu, document: ToolOutput) -> Device:
    return mapping.identified(device, gpu, document.versions.get("driver"))


def _read(device: Device, gpu: Gpu, document: ToolOutput) -> Reading:
    out = mapping.collect(device.id, gpu)
    reading = mapping.reading_of(out, gpu, {"*": mapping.SOURCE})
    if document.jobs is None:
        return with_listed(reading, Absence.ERROR)
    return with_listed(reading, mapping.processes_of(device.id, gpu.number, document.jobs))


REMOTE = remote_tool(
    mapping.VENDOR,
    prefix=COMMAND.prefix,
    vendor_id=COMMAND.vendor_id,
    kind=COMMAND.kind,
    commands=_COMMANDS,
    document=_document,
    listed=lambda document: document.gpus,
    identified=_identified,
    read=_read,
)
