"""The hubs of a picture that comes from several: how old what each said is, and what is wrong. Pure."""

from accelwatch.fleet.hub_states import HUB_DOWN, HUB_LATE, HUB_UP, HubState
from accelwatch.schema.display import counted, printable
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.fleet.board import FleetBoard

_ROLES = {HUB_UP: "dim", HUB_LATE: "warn", HUB_DOWN: "bad"}


def hub_ages(fleet: FleetBoard, glyphs: Glyphs) -> Line:
    """Each hub and the age of its figures, for the header; nothing where there is one hub."""
    line: Line = []
    for hub in fleet.view.hubs if fleet.view is not None else ():
        name = printable(hub.name, ascii_only=glyphs.ascii_only)
        line.append((f" {name} {_age(fleet, hub)} ", _ROLES.get(hub.state, "warn")))
    return line


def hub_lines(fleet: FleetBoard, glyphs: Glyphs) -> list[Line]:
    """A line each: state, age, lateness, how much is its own, and what is wrong."""
    lines: list[Line] = []
    for hub in fleet.view.hubs if fleet.view is not None else ():
        late = f"  {fmt.age(hub.late_s).strip()} late" if hub.state != HUB_UP and hub.late_s else ""
        nodes, devices = counted(hub.nodes_total, "node"), counted(hub.devices_total, "device")
        text = f" hub {hub.name}: {hub.state}  {_age(fleet, hub)}{late}  {nodes}  {devices}"
        text += f"  {hub.fault}" if hub.fault else ""
        role = _ROLES.get(hub.state, "warn")
        lines.append([(printable(text, ascii_only=glyphs.ascii_only), role)])
    return lines


def _age(fleet: FleetBoard, hub: HubState) -> str:
    return "never" if hub.age_s is None else fmt.age(hub.age_s + fleet.since_s).strip()
