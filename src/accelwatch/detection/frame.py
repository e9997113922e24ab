"""What one tick gives the detector: samples as they came, and who is in which job."""

from enum import IntEnum
from typing import NamedTuple

from accelwatch.detection.arrays import Bools, Codes, Floats, Indices
from accelwatch.schema.event import ErrorEvent


class DeviceState(IntEnum):
    """How a device is, as far as the reader knows; only what a detector distinguishes."""

    UNKNOWN = 0
    # It answers.
    READ = 1
    # It answers, and says of itself that it is degraded or failed.
    DEGRADED = 2
    # It is there and cannot be read.
    UNREADABLE = 3
    # The driver, the bus or the inventory says that it has gone.
    LOST = 4
    # Its node is silent.
    STALE = 5
    # It sleeps, is in another's hands, or is left out by configuration.
    AWAY = 6


class NodeState(IntEnum):
    """How a node answers."""

    UNKNOWN = 0
    UP = 1
    # Its samples come late.
    SLOW = 2
    # Silent for longer than three intervals.
    DOWN = 3


class FrameEvent(NamedTuple):
    """An event that was recorded since the tick before."""

    # Row of the node.
    node: int
    # Row of the device; -1 where the event is the node's.
    device: int
    event: ErrorEvent
    # Of `SEVERITIES`, as the catalogue of the event's kind has it.
    severity: str


class Names(NamedTuple):
    """What rows and codes are called. The same object as long as nothing has changed."""

    nodes: tuple[str, ...]
    # Id of each device, unique over the fleet.
    devices: tuple[str, ...]
    jobs: tuple[str, ...]
    stages: tuple[str, ...]
    models: tuple[str, ...]
    # Of each device what people call it on its node, such as `nvidia3`; empty for what has no name.
    device_names: tuple[str, ...] = ()

    def shown(self, device: int) -> str:
        """A device as people call it: by its name, else by its id."""
        name = self.device_names[device] if device < len(self.device_names) else ""
        return name or self.devices[device]


class Frame(NamedTuple):
    """One tick. N devices, M nodes; a row keeps its index while its device or node is expected.

    A row that was given to another device, or whose device was rebooted or replaced, has another
    `generation`: what is known of its past is void then.
    """

    # Unix seconds.
    now: float
    # Seconds between samples that are expected.
    interval_s: float
    names: Names
    # float64[len(DEVICE_SIGNALS), N] and float64[len(NODE_SIGNALS), M], in base units; counters as they
    # were read.
    devices: Floats
    nodes: Floats
    # Unix seconds of the newest sample, by the clock of who recorded; minus infinity: never.
    device_sampled: Floats
    node_sampled: Floats
    # intp[N]: the row of each device's node.
    node_of: Indices
    # intp[N]: codes in `names`; -1 where there is none or nobody knows.
    job: Indices
    stage: Indices
    model: Indices
    # uint-like float-free counters as intp[N], intp[M].
    device_generation: Indices
    node_generation: Indices
    # int16[N] and int16[M] of `DeviceState` and `NodeState`.
    device_state: Codes
    node_state: Codes
    # bool[M]: in an announced window of maintenance.
    maintenance: Bools
    events: tuple[FrameEvent, ...]
    # Whether the frame has one node only: then devices of one job on it are peers.
    single_node: bool = False
