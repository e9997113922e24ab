"""Composed ticks: a fleet of four nodes with four devices each, and what one wants to be read there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from accelwatch.detection.arrays import Floats
from accelwatch.detection.channels.components.memory import ChannelState
from accelwatch.detection.channels.components.table import Level, table_of
from accelwatch.detection.evidence import Evidence
from accelwatch.detection.frame import DeviceState, Frame, FrameEvent, Names, NodeState
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.layout import DEVICE_LAYOUT
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.detection.tick import Groups, Residuals, Tick
from accelwatch.schema.metrics import Series

TABLE = table_of(DEVICE_SIGNALS, NODE_SIGNALS)
START = 1_700_000_100.0
Values = Mapping[Series, float | Sequence[float] | Floats]

POWER: Series = ("power_watts",)
LOAD: Series = ("utilization_ratio",)
HEAT: Series = ("temperature_celsius", "gpu")
CLOCK: Series = ("clock_hertz", "sm")
RECEIVED: Series = ("interconnect_bytes_total", "nvlink", "receive")
SENT: Series = ("interconnect_bytes_total", "nvlink", "transmit")


def at(level: Level, series: Series) -> int:
    """Place of a series that must be there."""
    position = level.position(*series)
    assert position >= 0, series
    return position


@dataclass
class Ticks:
    """Gives one tick after another, 30 s apart. What is set here holds until it is set again."""

    count: int = 16
    per_node: int = 4
    step_s: float = 30.0
    now: float = START
    jobs: tuple[str, ...] = ("train",)
    maintenance: set[int] = field(default_factory=set)
    # Rows of devices whose sample, or nodes whose sample, does not come.
    missing: set[int] = field(default_factory=set)
    silent: set[int] = field(default_factory=set)
    held: bool = False
    comparable: bool = True
    device_state: dict[int, DeviceState] = field(default_factory=dict)
    node_state: dict[int, NodeState] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.node_count = self.count // self.per_node
        self.job = np.zeros(self.count, dtype=np.intp)
        self.model = np.zeros(self.count, dtype=np.intp)
        self.device_sampled = np.full(self.count, -np.inf)
        self.best = np.full((len(DEVICE_LAYOUT.by_slot), self.count), np.nan)
        self.node_sampled = np.full(self.node_count, -np.inf)

    def started(self, channel: ChannelState) -> ChannelState:
        """The same channel, as large as this fleet."""
        channel.resize(self.count, self.node_count)
        return channel

    def after(
        self,
        device: Values | None = None,
        node: Values | None = None,
        *,
        device_z: Values | None = None,
        node_z: Values | None = None,
        device_median: Values | None = None,
        node_median: Values | None = None,
        node_usual: Values | None = None,
        increase: Values | None = None,
        node_increase: Values | None = None,
        events: tuple[FrameEvent, ...] = (),
    ) -> Tick:
        """The next tick with these values, the same for all rows or one a row; the rest is unknown."""
        self.now += self.step_s
        devices, nodes = TABLE
        there = np.array([row not in self.missing for row in range(self.count)])
        answers = np.array([row not in self.silent for row in range(self.node_count)])
        node_of = np.arange(self.count) // self.per_node
        there &= answers[node_of]
        self.device_sampled = np.where(there, self.now, self.device_sampled)
        self.node_sampled = np.where(answers, self.now, self.node_sampled)
        values = np.where(there, _array(devices, self.count, device), np.nan)
        self.best = np.fmax(self.best, values[DEVICE_LAYOUT.by_slot])
        node_values = np.where(answers, _array(nodes, self.node_count, node), np.nan)
        states = np.full(self.count, DeviceState.READ, dtype=np.int16)
        for row, state in self.device_state.items():
            states[row] = state
        node_states = np.full(self.node_count, NodeState.UP, dtype=np.int16)
        for row, node_state in self.node_state.items():
            node_states[row] = node_state
        frame = Frame(
            now=self.now,
            interval_s=self.step_s,
            names=Names(
                tuple(f"n{row}" for row in range(self.node_count)),
                tuple(f"d{row}" for row in range(self.count)),
                self.jobs,
                (),
                ("m",),
            ),
            devices=values,
            nodes=node_values,
            device_sampled=self.device_sampled.copy(),
            node_sampled=self.node_sampled.copy(),
            node_of=node_of,
            job=self.job.copy(),
            stage=np.full(self.count, -1, dtype=np.intp),
            model=self.model.copy(),
            device_generation=np.zeros(self.count, dtype=np.intp),
            node_generation=np.zeros(self.node_count, dtype=np.intp),
            device_state=states,
            node_state=node_states,
            maintenance=np.isin(np.arange(self.node_count), list(self.maintenance)),
            events=events,
        )
        device_scores = np.where(there, _array(devices, self.count, device_z), np.nan)
        node_scores = np.where(answers, _array(nodes, self.node_count, node_z), np.nan)
        counts = np.where(there, _array(devices, self.count, increase), np.nan)
        return Tick(
            frame=frame,
            step_s=self.step_s,
            devices=self._residuals(
                values, device_scores, _array(devices, self.count, device_median)
            )._replace(best=self.best),
            nodes=self._residuals(
                node_values,
                node_scores,
                _array(nodes, self.node_count, node_median),
                _array(nodes, self.node_count, node_usual),
            ),
            device_increase=counts,
            node_increase=_array(nodes, self.node_count, node_increase),
        )

    def _residuals(
        self, value: Floats, z: Floats, median: Floats, usual: Floats | None = None
    ) -> Residuals:
        rows = value.shape[1]
        unknown = np.full_like(value, np.nan)
        groups = Groups(
            code=np.zeros(rows, dtype=np.intp),
            size=np.array([rows]),
            nodes=np.array([self.node_count]),
            job=np.array([0]),
            comparable=np.array([self.comparable]),
        )
        return Residuals(
            value=value,
            median=median,
            low=unknown,
            high=unknown,
            z=unknown if self.held else z,
            scale=unknown,
            usual=unknown if usual is None else usual,
            groups=groups,
            on_hold=np.full(rows, self.held),
            best=np.full((0, rows), np.nan),
        )


def only(found: list[Evidence], cause: str = "") -> Evidence:
    """The only piece of evidence, of a cause where one is named."""
    chosen = [item for item in found if not cause or item.cause == cause]
    assert len(chosen) == 1, found
    return chosen[0]


def row(count: int, usual: float, **others: float) -> Floats:
    """The same value for all rows but those named `r3=5.0`."""
    values = np.full(count, usual, dtype=np.float64)
    for name, value in others.items():
        values[int(name[1:])] = value
    return values


def _array(level: Level, rows: int, values_of: Values | None) -> Floats:
    values = np.full((len(level.rows), rows), np.nan)
    for series, value in (values_of or {}).items():
        values[at(level, series)] = value
    return values
