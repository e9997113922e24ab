"""What a dashboard is made of. One module a board holds its panels as a table of these.

In a query `@node` stands for the matchers on job and instance, `@device` for these and, on boards
that choose devices, the one on device.
"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Panel types of Grafana that are in use here."""

    TIMESERIES = "timeseries"
    STAT = "stat"
    TABLE = "table"
    HEATMAP = "heatmap"
    TIMELINE = "state-timeline"
    ROW = "row"


@dataclass(frozen=True)
class Panel:
    """A panel. `queries` are pairs of expression and legend; `alarm` paints 1 and more red."""

    title: str
    description: str = ""
    unit: str = "none"
    queries: tuple[tuple[str, str], ...] = ()
    kind: Kind = Kind.TIMESERIES
    width: int = 12
    no_value: str = "no data: not reported by these devices, or the agent is away"
    alarm: bool = False


@dataclass(frozen=True)
class Variable:
    """A template variable and the label query that fills it."""

    name: str
    label: str
    query: str


@dataclass(frozen=True)
class Board:
    """A dashboard; `name` is its file, `span` the time it shows at first.

    `scraped` boards show what agents say of themselves, which no hub passes on.
    """

    name: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    panels: tuple[Panel, ...]
    span: str = "6h"
    per_device: bool = False
    scraped: bool = False


def row(title: str) -> Panel:
    """A heading across the board."""
    return Panel(title, kind=Kind.ROW, width=24)


def stat(title: str, description: str, unit: str, expr: str, alarm: bool = False) -> Panel:
    """One big figure."""
    return Panel(title, description, unit, ((expr, ""),), Kind.STAT, 4, "no data", alarm)


# Of a family that every layout has: agents that are scraped, a hub that writes, a hub that is federated.
JOB = Variable("job", "Job", "label_values(accel_device_up, job)")
INSTANCE = Variable("instance", "Node", 'label_values(accel_device_up{job=~"$job"}, instance)')
