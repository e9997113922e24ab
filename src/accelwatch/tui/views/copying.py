"""What `y` and `Y` put on the clipboard. Pure."""

import msgspec

from accelwatch.schema.reading import Process
from accelwatch.tui.local.devices.facts import as_document
from accelwatch.tui.state.board import Board


def name_of(board: Board, process: Process | None) -> str:
    """The selected process's pid, else the selected device's uuid (or PCI id, or id)."""
    if process is not None:
        return str(process.pid)
    view = board.selected
    if view is None:
        return ""
    return view.device.uuid or view.device.pci_bus_id or view.device.id


def document_of(board: Board, process: Process | None) -> str:
    """The same as one line of JSON."""
    if process is not None:
        return msgspec.json.encode(process).decode()
    view = board.selected
    return msgspec.json.encode(as_document(view)).decode() if view is not None else ""
