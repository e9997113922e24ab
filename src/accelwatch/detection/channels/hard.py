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
from accelwatch.detection.tick import Tick
from accelwatch.schema.metrics import Series


class Test(Enum):
    """What a rule looks for in its series."""

    # The counter has grown.
    GREW = auto()
    # The flag is on.
    ON = auto()
    # Below the greatest that it itself or most of its model's devices have had, under load.
    BELOW_BEST = auto()


class Rule(NamedTuple):
    """A row of the table below. `lasting_s` is how long the reading must have been so."""

    cause: str
    series: Series
    test: Test
    family: str
    advice: str
    lasting_s: float = 0.0
    subject: Subject = Subject.DEVICE


# detection.md 4.2, H; advice by 6.3, step 2.
RULES = (
    # Rows remapped for an uncorrectable error: hours to days to the next one (2).
    Rule("row_remap", ("memory_remapped_rows", "uncorrected"), Test.GREW, "ecc", "reset"),
    # No spare rows: the vendor's rule for return.
    Rule("remap_failure", ("memory_repair_failed",), Test.ON, "ecc", "replace"),
    Rule("uncorrected_ecc", ("ecc_errors_total", "uncorrected"), Test.GREW, "ecc", "reset"),
    # Trained down: a reset trains the link again. 60 s are two ticks of 30 s: speed follows load with
    # a delay, and a sample may be older than that.
    Rule(
        "pcie_width", ("pcie_link_width_lanes", "current"), Test.BELOW_BEST, "pcie", "reset", 60.0
    ),
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
# have other adapters, so that only the own best counts. 60 s as above: a flap is of counters.
PORT_RULES = tuple(
    Rule(cause, (series,), Test.BELOW_BEST, "fabric", "exclude", 60.0, Subject.NODE)
    for cause, series in (
        ("rdma_port_down", "host_rdma_port_up"),
        ("rdma_port_rate", "host_rdma_port_rate_bytes_per_second"),
    )
)
# A device that driver, bus or inventory say has gone comes back by a reboot, if at all (6.3).
_LOST = Rule("device_lost", (), Test.ON, "pcie", "reboot")
# A step of a counter is seen once. It stands for ten minutes, in which what follows from it is seen.
_STANDS_S = 600.0
# Under load: links rest at a lower speed when idle, and utilization is 0.99 in training (5.2).
_LOADED = 0.5
# A best of peers is one that most devices of the model have.
_FEWEST_PEERS = 3


class Hard(ChannelState):
    """Channel H. Decisive. Devices, and ports of their nodes."""

    def __init__(self, table: Table) -> None:
        shape = (len(RULES),)
        of_ports = (len(PORT_RULES),)
        super().__init__(
            Memory({"since": shape, "lost": ()}),
            Memory({"since": of_ports, "best": of_ports}),
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
        evaluated, alike = evaluated_devices(tick), alike_of(tick.frame)
        kept = self.devices.floats
        results: list[Evidence] = []
        for at, (rule, position) in enumerate(zip(RULES, self._positions, strict=True)):
            since = kept["since"][at]
            if rule.test is Test.GREW:
                grew = evaluated & (values_at(tick.device_increase, position) > 0)
                since = np.where(grew, now, np.where(now - since <= _STANDS_S, since, np.nan))
            else:
                active, finite = self._matches(rule, position, tick, alike)
                # A sample that is missing neither begins nor ends what lasts.
                since = np.where(finite, active_since(since, active, now), since)
            # Nothing that began in maintenance is held against a device later.
            since = np.where(evaluated, since, np.nan)
            kept["since"][at] = since
            present = ~np.isnan(since) & (now - since >= rule.lasting_s)
            if rule.test is not Test.GREW:
                present &= finite
            results += _evidence(rule, present, since, now, position)
        results += self._of_ports(tick)
        lost = evaluated & (tick.frame.device_state == DeviceState.LOST)
        kept["lost"] = active_since(kept["lost"], lost, now)
        # Two ticks, as all of structure (4.2, S): a driver that is loaded again lists none for a sample.
        return results + _evidence(_LOST, lost & (now > kept["lost"]), kept["lost"], now, -1)

    def _of_ports(self, tick: Tick) -> list[Evidence]:
        now, evaluated = tick.frame.now, evaluated_nodes(tick)
        kept = self.nodes.floats
        results: list[Evidence] = []
        for at, (rule, position) in enumerate(zip(PORT_RULES, self._ports, strict=True)):
            value = values_at(tick.nodes.value, position)
            finite = ~np.isnan(value)
            kept["best"][at] = np.fmax(kept["best"][at], value)
            below = value < kept["best"][at]
            since = np.where(finite, active_since(kept["since"][at], below, now), kept["since"][at])
            kept["since"][at] = since = np.where(evaluated, since, np.nan)
            present = below & ~np.isnan(since) & (now - since >= rule.lasting_s)
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
