"""Hard rules: readings that need no statistics. A row a rule, with its advice and its cause."""

from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.baselines.wiring import alike_of, attainable
from accelwatch.detection.channels.components.building import (
    active_since,
    evaluated_devices,
    evaluated_nodes,
    of_rows,
)
from accelwatch.detection.channels.components.memory import ChannelState, Memory
from accelwatch.detection.channels.components.table import Table, values_at
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import DeviceState
from accelwatch.detection.signals.layout import DEVICE_LAYOUT
from accelwatch.detection.signals.signal import ANY
from accelwatch.detection.tick import Tick
from accelwatch.schema.metrics import Series


class Test(Enum):
    """What a rule looks for in its series."""

    # The counter has grown.
    GREW = auto()
    # It has grown for the third time in twelve hours, each at another tick.
    GREW_AGAIN = auto()
    # The flag is on.
    ON = auto()
    # Below the greatest that it itself or most of its model's devices have had, under load.
    BELOW_BEST = auto()
    # Below the greatest that it itself has had.
    BELOW_OWN = auto()


class Rule(NamedTuple):
    """A row of a table below. `lasting_s` is how long the reading must have been so."""

    cause: str
    series: Series
    test: Test
    family: str
    advice: str
    lasting_s: float = 0.0
    subject: Subject = Subject.DEVICE


# Two samples of 30 s: one alone may have been taken while a link was trained again.
_TWO_SAMPLES_S = 30.0
# detection.md 4.2, H; advice by 6.3, step 2.
RULES = (
    # Rows remapped for an uncorrectable error: hours to days to the next one (2).
    Rule("row_remap", ("memory_remapped_rows", "uncorrected"), Test.GREW, "ecc", "reset"),
    # No spare rows: the vendor's rule for return.
    Rule("remap_failure", ("memory_repair_failed",), Test.ON, "ecc", "replace"),
    Rule("uncorrected_ecc", ("ecc_errors_total", "uncorrected"), Test.GREW, "ecc", "reset"),
    # Trained down: a reset trains the link again. No load changes the number of lanes.
    Rule(
        "pcie_width",
        ("pcie_link_width_lanes", "current"),
        Test.BELOW_BEST,
        "pcie",
        "reset",
        _TWO_SAMPLES_S,
    ),
    # Speed follows load with a delay, and a sample may be older than that: a third sample.
    Rule("pcie_speed", ("pcie_link_generation", "current"), Test.BELOW_BEST, "pcie", "reset", 60.0),
    # Slowdowns by hardware, more than 2 min (4.2, H): shorter ones come with a change of load.
    Rule(
        "thermal_slowdown",
        ("throttle_active", "thermal_hardware"),
        Test.ON,
        "thermal",
        "exclude",
        120.0,
    ),
    Rule("power_brake", ("throttle_active", "power_brake"), Test.ON, "power", "exclude", 120.0),
)
# The same of ports of the host. They rest at full rate, so that no load is needed, and other nodes may
# have other adapters, so that only the own best counts.
PORT_RULES = (
    *(
        Rule(
            cause,
            (series,),
            Test.BELOW_OWN,
            "fabric",
            "exclude",
            _TWO_SAMPLES_S,
            Subject.NODE,
        )
        for cause, series in (
            ("rdma_port_down", "host_rdma_port_up"),
            ("rdma_port_rate", "host_rdma_port_rate_bytes_per_second"),
        )
    ),
    # A flap may be over before the next sample, and is counted.
    Rule(
        "rdma_port_flaps",
        ("host_rdma_errors_total", ANY, ANY, "link_downed"),
        Test.GREW_AGAIN,
        "fabric",
        "exclude",
        subject=Subject.NODE,
    ),
)
# A device that driver, bus or inventory say has gone comes back by a reboot, if at all (6.3).
_LOST = Rule("device_lost", (), Test.ON, "pcie", "reboot")
# A step of a counter is seen once. It stands for ten minutes, in which what follows from it is seen.
_STANDS_S = 600.0
# gpud: a port that goes down for the third time in twelve hours flaps.
_TIMES, _WITHIN_S = 3, 12 * 3600.0
# Under load: links rest at a lower speed when idle, and utilization is 0.99 in training (5.2).
_LOADED = 0.5
# A best of peers is one that most devices of the model have.
_FEWEST_PEERS = 3


class Hard(ChannelState):
    """Channel H. Decisive. Devices, and ports of their nodes."""

    def __init__(self, table: Table) -> None:
        of_ports = (len(PORT_RULES),)
        super().__init__(
            Memory({"since": (len(RULES),), "lost": ()}),
            # `grew` has when counters last grew, Unix seconds, the oldest first.
            Memory({"since": of_ports, "best": of_ports, "grew": (_TIMES, *of_ports)}),
        )
        self._positions = [table.devices.position(*rule.series) for rule in RULES]
        self._best_at = {
            position: index for index, position in enumerate(DEVICE_LAYOUT.by_slot.tolist())
        }
        self._ports = [table.nodes.position(*rule.series) for rule in PORT_RULES]
        self._load = table.devices.position("utilization_ratio")

    def evidence(self, tick: Tick) -> list[Evidence]:
        """Rules that hold, each for itself."""
        now = tick.frame.now
        results: list[Evidence] = []
        evaluated, alike = evaluated_devices(tick), alike_of(tick.frame)
        # Nothing that began in maintenance is held against a device later.
        since = self.devices.floats["since"]
        since[:, ~evaluated] = np.nan
        for at, (rule, position) in enumerate(zip(RULES, self._positions, strict=True)):
            if rule.test is Test.GREW:
                grew = evaluated & (values_at(tick.device_increase, position) > 0)
                present = _stands(since[at], grew, now)
            else:
                active, finite = self._matches(rule, position, tick, alike)
                present = _lasts(rule, since[at], (active & evaluated, finite), now)
            results += _evidence(rule, present, since[at], now, position)
        results += self._of_ports(tick)
        lost = evaluated & (tick.frame.device_state == DeviceState.LOST)
        kept = self.devices.floats
        kept["lost"] = active_since(kept["lost"], lost, now)
        # Two ticks, as all of structure (4.2, S): a driver that is loaded again lists none for a sample.
        return results + _evidence(_LOST, lost & (now > kept["lost"]), kept["lost"], now, -1)

    def _of_ports(self, tick: Tick) -> list[Evidence]:
        now, evaluated = tick.frame.now, evaluated_nodes(tick)
        kept = self.nodes.floats
        kept["since"][:, ~evaluated] = np.nan
        results: list[Evidence] = []
        for at, (rule, position) in enumerate(zip(PORT_RULES, self._ports, strict=True)):
            since, times = kept["since"][at], kept["grew"][:, at]
            if rule.test is Test.GREW_AGAIN:
                grew = evaluated & (values_at(tick.node_increase, position) > 0)
                times[:, grew] = [*times[1:, grew], np.full(grew.sum(), now)]
                present = _stands(since, grew & (now - times[0] <= _WITHIN_S), now)
            else:
                value = values_at(tick.nodes.value, position)
                kept["best"][at] = np.fmax(kept["best"][at], value)
                below = evaluated & (value < kept["best"][at])
                present = _lasts(rule, since, (below, ~np.isnan(value)), now)
            results += _evidence(rule, present, since, now, position)
        return results

    def _matches(
        self, rule: Rule, position: int, tick: Tick, alike: Indices
    ) -> tuple[Bools, Bools]:
        value = values_at(tick.devices.value, position)
        if rule.test is Test.ON:
            return value >= 1, ~np.isnan(value)
        loaded = values_at(tick.devices.value, self._load) >= _LOADED
        own = tick.devices.best[self._best_at[position]]
        most = _of_model(np.where(loaded, value, np.nan), tick.frame.model)
        most = attainable(own, most, alike)
        finite = ~np.isnan(value) & loaded
        return finite & (value < np.fmax(own, most)), finite


def _stands(since: Floats, steps: Bools, now: float) -> Bools:
    """bool[R]: what is seen once, now or a while ago. Writes `since`, float64[R]."""
    since[:] = np.where(steps, now, np.where(now - since <= _STANDS_S, since, np.nan))
    return ~np.isnan(since)


def _lasts(rule: Rule, since: Floats, read: tuple[Bools, Bools], now: float) -> Bools:
    """bool[R]: what holds now and has held for long enough. Writes `since`, float64[R].

    `read` is whether it holds, and whether that is known: a sample that is missing neither begins nor
    ends what lasts.
    """
    active, finite = read
    since[:] = np.where(finite, active_since(since, active, now), since)
    return np.asarray(finite & (now - since >= rule.lasting_s))


def _of_model(value: Floats, model: Indices) -> Floats:
    """What most devices of the same model have, float64[R]; NaN where too few are known."""
    most = np.full(value.shape, np.nan)
    for code in np.unique(model[model >= 0]):
        of_it = model == code
        finite = value[of_it & ~np.isnan(value)]
        if finite.size >= _FEWEST_PEERS:
            most[of_it] = np.median(finite)
    return most


def _evidence(rule: Rule, present: Bools, since: Floats, now: float, signal: int) -> list[Evidence]:
    return of_rows(
        Channel.HARD,
        Weight.DECISIVE,
        rule.subject,
        rule.family,
        present,
        since=since,
        now=now,
        # As much as the clip of z.
        score=12.0,
        signal=signal,
        advice=rule.advice,
        cause=rule.cause,
    )
