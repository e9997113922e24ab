"""A simulated fleet, the state that a hub makes of it, and the rules over both: hours in seconds.

Nodes tell what they would tell on a wire, as agents by the bytes of their streams and as exporters by
their pages; only the sockets are left out, and time is set forward from tick to tick.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.loading.pack_files import pack_names
from accelwatch.base.clock import ManualClock
from accelwatch.base.slices import LongWork
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.frames import FrameReader
from accelwatch.fleet.follow.poll import ReadExposition
from accelwatch.fleet.hub.foreign import foreign_reader
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.fleet import Fleet as HubFleet
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.state.transitions import Transitions
from accelwatch.fleet.target import Target, targets_of
from accelwatch_lab.simulator.context import SentContext
from accelwatch_lab.simulator.fleet import Fleet, Instant
from accelwatch_lab.simulator.nodes import FleetSize, Node, build, dealing_order, names
from accelwatch_lab.simulator.scenario import Scenario
from accelwatch_lab.simulator.scenario_file import read_scenario
from accelwatch_lab.simulator.serving.targets import labels_of
from accelwatch_lab.simulator.serving.ticks import TickWriter, tick_message

START = 1_800_000_000.0
_FRAME_LIMIT = 8 << 20
# A page of an exporter on a node.
Write = Callable[[Fleet, Node, Instant], bytes]


class _Agent:
    """A node that is followed by its stream."""

    def __init__(self, ground: "ProvingGround", node: Node, target: Target) -> None:
        self._ground = ground
        self._node = node
        self._target = target
        self._reader: FrameReader | None = None
        self._sent = SentContext()
        self._sequence = 0

    def publish(self, now: Instant) -> None:
        fleet, hub = self._ground.simulated, self._ground.fleet
        writer = self._ground.writer
        condition = fleet.condition(self._node, now)
        if condition.refusal is not None:
            self._reader = None
            hub.fail(self._target.key, TargetFault(Reason.CLOSED, "closed without an answer"))
            return
        messages = b""
        if self._reader is None:
            self._reader, self._sent, self._sequence = FrameReader(_FRAME_LIMIT), SentContext(), 0
            source = hub.source(self._target.key)
            assert source is not None
            source.mode = "stream"
            source.start_stream()
            messages = writer.opening(self._node, now, as_bytes=True)
        self._sequence += 1
        messages += writer.context(self._node, now, condition, self._sent)
        devices = writer.devices(self._node, now, condition, as_bytes=True)
        messages += tick_message(self._sequence, *devices)
        for message, size in self._reader.feed(messages):
            hub.accept(self._target.key, message, size)


class _Exporter:
    """A page of a node that is read again and again."""

    def __init__(
        self, ground: "ProvingGround", node: Node, target: Target, write: Write, interval_s: float
    ) -> None:
        self._ground = ground
        self._node = node
        self._target = target
        self._write = write
        self._interval_s = interval_s
        self._read: ReadExposition = foreign_reader(target, now=ground.clock.wall)

    def publish(self, now: Instant) -> None:
        fleet, hub = self._ground.simulated, self._ground.fleet
        if fleet.condition(self._node, now).refusal is not None:
            hub.fail(self._target.key, TargetFault(Reason.CLOSED, "closed without an answer"))
            return
        exposed = self._read(self._write(fleet, self._node, now))
        hub.read(self._target.key, exposed.devices, exposed.time, self._interval_s)


class ProvingGround:
    """A fleet whose nodes tell, and whose rules judge, once every `interval_s` of its own time."""

    def __init__(
        self,
        size: FleetSize,
        scenario: Callable[[FleetSize], Scenario],
        folder: Path | None,
        *,
        interval_s: float = 20.0,
        exporters: Sequence[Write] = (),
        rules: Path | None = None,
    ) -> None:
        """With `exporters` nodes have these pages and no agents; a file of rules is instead of packs."""
        self.clock = ManualClock(wall=START)
        self.interval_s = interval_s
        self.simulated = Fleet(
            build(size),
            scenario(size),
            seed=size.seed,
            start=START,
            interval_s=interval_s,
        )
        self.writer = TickWriter(self.simulated)
        self.fleet = HubFleet(self.clock, Thresholds(), None)
        self._transitions = Transitions(self.fleet)
        self._tellers = list(self._telling(exporters))
        packed = RuleSettings(packs=tuple(pack_names()))
        settings = packed if rules is None else RuleSettings(files=(str(rules),))
        # Every incident at each of its changes, in order.
        self.notified: list[Incident] = []
        self.runner = RuleRunner(FleetEvaluator(self.fleet), settings, folder, self.notified.extend)
        self.elapsed_s = 0.0

    def _telling(self, exporters: Sequence[Write]) -> Iterator[_Agent | _Exporter]:
        everybody: list[Target] = []
        tellers: list[_Agent | _Exporter] = []
        port = itertools.count(20_000)
        for node in self.simulated.nodes:
            labels = {**labels_of(self.simulated, node), "node": node.name}
            for write in exporters or (None,):
                (target,) = targets_of([f"127.0.0.1:{next(port)}"], labels)
                everybody.append(target)
                if write is None:
                    tellers.append(_Agent(self, node, target))
                else:
                    tellers.append(_Exporter(self, node, target, write, self.interval_s))
        self.fleet.set_targets(everybody)
        return iter(tellers)

    async def tick(self) -> None:
        """Time passes, every node tells, the rules judge."""
        self.clock.advance(self.interval_s)
        self.elapsed_s += self.interval_s
        now = self.simulated.instant_at(self.elapsed_s)
        for publisher in self._tellers:
            publisher.publish(now)
        self.fleet.sweep()
        await self._transitions.poll(LongWork().yield_control)
        await self.runner.tick()

    async def play(self, seconds: float) -> None:
        """As many ticks as that takes."""
        until = self.elapsed_s + seconds
        while self.elapsed_s < until:
            await self.tick()

    @property
    def known(self) -> list[Incident]:
        """Every incident that there was, as it stands, in the order in which they were opened."""
        latest = {incident.id: incident for incident in self.notified}
        return sorted(latest.values(), key=lambda one: one.opened)

    @property
    def serious(self) -> list[Incident]:
        """Those above `info`."""
        return [one for one in self.known if one.severity is not Severity.INFO]

    @staticmethod
    def minute(time: float) -> float:
        """A Unix time in minutes from the beginning."""
        return (time - START) / 60.0


def played(file: Path) -> Callable[[FleetSize], Scenario]:
    """A scenario of a file, for a fleet of a size."""

    def scenario(size: FleetSize) -> Scenario:
        return read_scenario(file, names(size.nodes), size.devices, dealing_order(size))

    return scenario
