"""The cells that say whose work a node does, and how it is labelled."""

from accelwatch.fleet.picture.tally import FleetRow
from accelwatch.schema.natural_order import natural
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.fleet.cells.render_context import RenderContext


def work_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """Whose work it does: job and user, or how many there are of them."""
    return [(context.cut(work(row, context), width), "text")]


def work(row: FleetRow, context: RenderContext) -> str:
    """`48121 ada`; with several jobs their number, a job with a name goes by it; what the group says
    already is left out.
    """
    jobs: set[str] = set()
    users: set[str] = set()
    for member in row.members or (row,):
        for now in member.devices:
            device = context.board.device(now.slot)
            if device is not None:
                if row.group not in (device.job, device.job_name):
                    jobs.add(device.job_name or device.job or device.pod or "")
                users.add(device.user or device.namespace or "")
    texts = [
        fmt.few(sorted(jobs - {"", row.group}, key=natural), "jobs", 1),
        fmt.few(sorted(users - {"", row.group}, key=natural), "users", 2),
    ]
    return " ".join(text for text in texts if text)


def labels_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """The node's labels; without their names where there is no room for them."""
    labels = {name: value for name, value in row.labels.items() if name != context.group}
    shown = " ".join(f"{name}={value}" for name, value in labels.items())
    if len(shown) > width:
        shown = " ".join(labels.values())
    return [(context.cut(shown, width), "dim")]
