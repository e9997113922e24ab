"""Small fleets as a detector sees them after its first passes: nodes of two devices, one job."""

from collections.abc import Sequence

import numpy as np

from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import DeviceState, Frame, Names, NodeState
from accelwatch.detection.signals.signal import Direction, SignalRow
from accelwatch.detection.tick import Groups, Residuals, Tick

DEVICES = (
    SignalRow(("power_watts",), "power"),
    SignalRow(("clock_hertz", "sm"), "clock", direction=Direction.LOW),
    SignalRow(("temperature_celsius", "memory"), "thermal", direction=Direction.HIGH),
)
NODES = (SignalRow(("host_interrupts_total",), "host"),)
START = 1_767_225_600.0
PER_NODE = 2


def tick(count: int, now: float = START, *, maintenance: Sequence[int] = ()) -> Tick:
    """A tick of as many nodes, all well and in job 4711."""
    rows = count * PER_NODE
    frame = Frame(
        now=now,
        interval_s=30.0,
        names=Names(
            tuple(f"n{node:03d}" for node in range(count)),
            tuple(f"nvidia:GPU-{row}" for row in range(rows)),
            ("4711",),
            (),
            ("NVIDIA B200",),
        ),
        devices=np.full((len(DEVICES), rows), np.nan),
        nodes=np.full((len(NODES), count), np.nan),
        device_sampled=np.full(rows, now),
        node_sampled=np.full(count, now),
        node_of=np.repeat(np.arange(count), PER_NODE),
        job=np.zeros(rows, dtype=np.intp),
        stage=np.full(rows, -1),
        model=np.zeros(rows, dtype=np.intp),
        device_generation=np.zeros(rows, dtype=np.intp),
        node_generation=np.zeros(count, dtype=np.intp),
        device_state=np.full(rows, DeviceState.READ, dtype=np.int16),
        node_state=np.full(count, NodeState.UP, dtype=np.int16),
        maintenance=np.isin(np.arange(count), maintenance),
        events=(),
    )
    devices, nodes = _residuals(len(DEVICES), rows, count), _residuals(len(NODES), count, count)
    nothing = np.full_like(frame.devices, np.nan)
    return Tick(frame, 30.0, devices, nodes, nothing, np.full_like(frame.nodes, np.nan))


def _residuals(signals: int, rows: int, nodes: int) -> Residuals:
    value, median, low, high, z, scale, usual = (np.full((signals, rows), np.nan) for _ in range(7))
    groups = Groups(
        np.zeros(rows, dtype=np.intp),
        np.array([rows]),
        np.array([nodes]),
        np.array([0]),
        np.array([True]),
    )
    held = np.zeros(rows, dtype=np.bool_)
    best = np.full((0, rows), np.nan)
    return Residuals(value, median, low, high, z, scale, usual, groups, held, best)


def evidence_against(
    rows: Sequence[int] | int,
    score: float,
    lasted_s: float = 600.0,
    *,
    now: float = START,
    family: str = "power",
    subject: Subject = Subject.DEVICE,
    weight: Weight = Weight.STATISTICAL,
    channel: Channel = Channel.PEER,
    signal: int = -1,
    advice: str = "",
    cause: str = "",
) -> Evidence:
    """Evidence against some rows, all of the same score."""
    numbers = np.atleast_1d(np.asarray(rows, dtype=np.intp))
    return Evidence(
        channel,
        weight,
        family,
        subject,
        numbers,
        np.full(len(numbers), score),
        np.full(len(numbers), lasted_s),
        np.full(len(numbers), now - lasted_s),
        np.full(len(numbers), signal, dtype=np.intp),
        advice,
        cause,
    )
