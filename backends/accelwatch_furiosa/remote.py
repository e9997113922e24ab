"""Cards of another machine by what furiosa-smi printed there, as JSON or, of old releases, as tables."""

from collections.abc import Mapping
from types import MappingProxyType

from accelwatch.backend.kit.listed_process import with_listed
from accelwatch.backend.kit.remote import CommandOutput, Outputs, RemoteCommand
from accelwatch.backend.kit.remote_tool import remote_tool
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_furiosa import mapping
from accelwatch_furiosa.document import Card, ToolOutput, cards_of, is_complete, jobs_of

_PROGRAMS = ("furiosa-smi",)
_JSON = ("--format", "json")
# Keys of the commands that go together: richest first.
_FORMS = (("info", "status"), ("infofull", "statustable"), ("infotable", "statustable"))
# By key; the full table has uuid and serial number.
_COMMANDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "info": ("info", *_JSON),
        "status": ("status", *_JSON),
        "infofull": ("info", "--format", "full"),
        "infotable": ("info",),
        "statustable": ("status",),
        "ps": ("ps",),
    }
)


def _document(outputs: Outputs) -> ToolOutput:
    cards = _cards(outputs)
    try:
        return ToolOutput(cards=cards, jobs=jobs_of(outputs["ps"].printed()))
    except ReadError as error:
        return ToolOutput(cards=cards, jobs=error.absence)


def _cards(outputs: Outputs) -> tuple[Card, ...]:
    refused: ReadError | None = None
    for info_key, status_key in _FORMS:
        try:
            info = outputs[info_key].printed(is_complete)
        except ReadError as error:
            refused = refused or error
            continue
        return cards_of(info, _status(outputs[status_key]))
    assert refused is not None
    raise refused


def _status(output: CommandOutput) -> bytes | Absence:
    """A command that has no status says nothing of it."""
    try:
        return output.printed(is_complete)
    except ReadError:
        return Absence.TIMEOUT if output.late else Absence.UNSUPPORTED


def _identified(device: Device, card: Card, _: ToolOutput) -> Device:
    return mapping.identified(device, card)


def _read(device: Device, card: Card, document: ToolOutput) -> Reading:
    reading = mapping.collected(device.id, card).reading(sources={"*": _PROGRAMS[0]})
    if isinstance(document.jobs, Absence):
        return with_listed(reading, document.jobs)
    mine = [job for job in document.jobs if job.number == card.number]
    if not mine and card.occupied:
        # A user other than root sees its own processes only.
        return with_listed(reading, Absence.PERMISSION)
    return with_listed(reading, mapping.processes_of(device.id, mine))


REMOTE = remote_tool(
    "furiosa",
    vendor=mapping.VENDOR,
    prefix="npu",
    vendor_id=0x1ED2,
    commands=tuple(
        RemoteCommand(key=key, programs=_PROGRAMS, arguments=arguments)
        for key, arguments in _COMMANDS.items()
    ),
    document=_document,
    listed=lambda document: document.cards,
    identified=_identified,
    read=_read,
)
