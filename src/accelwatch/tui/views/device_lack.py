"""Why no device is shown, and what to do about it, as lines. Pure."""

from accelwatch.schema.snapshot import NO_ACCELERATORS, BackendState, BackendStatus
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, paragraph
from accelwatch.tui.state.board import Board

_HERE = (BackendState.UNAVAILABLE, BackendState.FAILED)
_SIGNS = {BackendState.UNAVAILABLE: ("degraded", "warn"), BackendState.FAILED: ("lost", "bad")}


def why_none(board: Board, width: int) -> list[Line]:
    """What became of the backends, by their own messages; nothing when devices are shown."""
    if not board.started or board.devices:
        return []
    glyphs = board.paint.glyphs
    if board.snapshot.devices:
        text = f"no device matches {board.filter_text}"
        lines = paragraph(" ", text, "strong", width, glyphs)
        lines += paragraph(" ", "Esc shows all, / asks for another filter", "dim", width, glyphs)
    else:
        lines = _no_device(board, width, glyphs)
    return [[], *(clipped(line, width) for line in lines)]


def _no_device(board: Board, width: int, glyphs: Glyphs) -> list[Line]:
    node_status, backends = board.node_status, board.snapshot.backends
    here = [status for status in backends if status.state in _HERE]
    what = (
        "no accelerator was found"
        if node_status is None
        else f"no device of {node_status.node} is known"
    )
    lines = paragraph(" ", what, "strong", width, glyphs)
    for status in here:
        lines += _backend(status, width, glyphs)
    if not here and node_status is not None:
        lines += paragraph("   ", _why_unreported(node_status.state), "text", width, glyphs)
    elif not here and backends:
        backend_names = (status.name for status in backends if status.name not in NO_ACCELERATORS)
        names = ", ".join(backend_names)
        text = f"nothing of the kind that these backends read is here: {names}"
        lines += paragraph("   ", text, "text", width, glyphs)
    if node_status is not None:
        return [*lines, *paragraph(" ", "Esc leads back to the fleet", "dim", width, glyphs)]
    lines += paragraph(" ", "6 shows what backends searched for", "dim", width, glyphs)
    demo = "accelwatch demo shows a simulated fleet: nothing has to be there for it"
    return [*lines, *paragraph(" ", demo, "accent", width, glyphs)]


def _why_unreported(state: str) -> str:
    """Why the hub may have no device of a node, by the node's state."""
    if state in ("up", "slow"):
        return "the node answers, but reports no accelerator"
    return "the node has never answered" if state == "never" else f"the node is {state}"


def _backend(status: BackendStatus, width: int, glyphs: Glyphs) -> list[Line]:
    sign, role = _SIGNS[status.state]
    text = status.message or status.reason or str(status.state)
    lines = paragraph(f"   {glyphs.states[sign]} ", f"{status.name}: {text}", role, width, glyphs)
    return lines + (
        paragraph("     ", status.remedy, "accent", width, glyphs) if status.remedy else []
    )
