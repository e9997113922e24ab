"""How near devices and adapters are to each other, as lines of the dashboard. Pure."""

from accelwatch.node.topology.matrix import Topology
from accelwatch.node.topology.table import legend, table
from accelwatch.tui.drawing.lines import Line, clipped

_FAR = frozenset({"NODE", "SYS", "?"})
_NEAR = frozenset({"PIX", "PXB"})
_GAP = 2


def lines(topology: Topology | None, width: int) -> list[Line]:
    """The matrix under its heading, and what its words mean; why there is none where it is not known."""
    if topology is None:
        text = " it is read on the machine itself, and not of a recording: accelwatch topo"
        return [clipped([(text, "dim")], width)]
    if not topology.members:
        return [clipped([(" no device and no network adapter on a PCI bus", "dim")], width)]
    header, rows = table(topology)
    widths = [max(map(len, column)) + _GAP for column in zip(header, *rows, strict=True)]
    count = len(topology.members)
    result: list[Line] = [clipped(_row(header, widths, ["head"] * len(header)), width)]
    for row in rows:
        roles = ["strong", *(_role(link) for link in row[1 : 1 + count])]
        roles += ["text"] * (len(row) - len(roles))
        result.append(clipped(_row(row, widths, roles), width))
    result.append([])
    result += [clipped([(f" {text}", "dim")], width) for text in legend(topology)]
    return result


def _row(cells: list[str], widths: list[int], roles: list[str]) -> Line:
    padded = zip(cells, widths, roles, strict=True)
    return [(" ", "text"), *((cell.ljust(size), role) for cell, size, role in padded)]


def _role(link: str) -> str:
    """Links stand out, what lies far apart is quiet."""
    if link in _FAR or link == "X":
        return "faint" if link == "X" else "dim"
    return "text" if link in _NEAR or link == "PHB" else "ok"
