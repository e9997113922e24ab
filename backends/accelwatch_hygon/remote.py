"""DCUs of another machine by what the runs of hy-smi printed there; no bus of this one is read."""

from accelwatch.backend.kit.listed_process import with_listed
from accelwatch.backend.kit.remote import Outputs
from accelwatch.backend.kit.remote_tool import remote_tool, replay
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_hygon import mapping
from accelwatch_hygon.command import COMMAND
from accelwatch_hygon.document import Card, ToolOutput
from accelwatch_hygon.rounds import HEALTH, PROCESSES, QUERIES, Rounds

_MOST, _USUAL, _LEAST = QUERIES
_COMMANDS = (
    COMMAND.remote("fields", *_MOST),
    COMMAND.remote("usual", *_USUAL, if_fails="fields"),
    COMMAND.remote("least", *_LEAST, if_fails="fields"),
    COMMAND.remote("table"),
    COMMAND.remote("health", *HEALTH),
    COMMAND.remote("processes", *PROCESSES),
)


def _document(outputs: Outputs) -> ToolOutput:
    rounds = Rounds(replay(_COMMANDS, outputs), list, is_foreign=lambda _: False)
    return rounds.query()


def _identified(device: Device, card: Card, document: ToolOutput) -> Device:
    return mapping.identified(device, card, document.driver_version)


def _read(device: Device, card: Card, document: ToolOutput) -> Reading:
    out = mapping.collect(device.id, card)
    reading = out.reading(sources={"*": mapping.SOURCE}, notes=mapping.notes_of(card))
    jobs = document.jobs
    if jobs is None:
        return with_listed(reading, Absence.ERROR)
    # hy-smi names no program, and whose pid it is here says nothing of there.
    return with_listed(reading, mapping.processes_of(device.id, card.number, jobs, lambda _: None))


REMOTE = remote_tool(
    mapping.VENDOR,
    prefix=COMMAND.prefix,
    vendor_id=COMMAND.vendor_id,
    kind=COMMAND.kind,
    commands=_COMMANDS,
    document=_document,
    listed=lambda document: document.cards,
    identified=_identified,
    read=_read,
)
