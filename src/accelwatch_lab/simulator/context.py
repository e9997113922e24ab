"""What simulated streams send beside their ticks: owners, processes, findings, events, when they change.

A node without faults is sent again only when its job begins, ends or fills another tenth of its
memory: comparing that costs a microsecond a tick.
"""

from collections.abc import Iterator

import msgspec

from accelwatch.schema.stream.context import (
    Backends,
    Context,
    Findings,
    event_message,
    owners_message,
    processes_message,
)
from accelwatch.schema.stream.context_encoder import CHECK_EVERY_S, EventNumbers
from accelwatch_lab.simulator.conditions import NodeCondition
from accelwatch_lab.simulator.fleet import Fleet, Instant, backends, events_of
from accelwatch_lab.simulator.nodes import Node

_MEMORY_STEPS = 10
# How often earlier faults are evaluated again.
_REEVALUATE_EVERY_S = 60.0


class SentContext:
    """What one stream has been sent of its node."""

    __slots__ = ("at", "events", "faults", "findings", "usage")

    def __init__(self) -> None:
        # Seconds of the scenario at which `usage` was sent.
        self.at = 0.0
        self.usage: tuple[object, ...] | None = None
        self.faults: tuple[object, ...] = ()
        self.findings: dict[int, Findings] = {}
        self.events: frozenset[int] = frozenset()


class ContextWriter:
    """Messages beside the ticks, for every stream of a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._numbers: dict[str, EventNumbers] = {}

    def pending_messages(
        self, node: Node, instant: Instant, condition: NodeCondition, sent: SentContext
    ) -> list[Context]:
        """What a stream has not been sent yet."""
        messages: list[Context] = []
        load = self._fleet.load(node, instant)
        usage = (self._fleet.running(node, instant), int(load.memory * _MEMORY_STEPS))
        if sent.usage is None:
            messages.append(Backends(backends=backends(node)))
        if usage != sent.usage and (
            sent.usage is None or instant.time_s - sent.at >= CHECK_EVERY_S
        ):
            fresh = sent.usage is None
            sent.usage, sent.at = usage, instant.time_s
            messages += self._usage(node, instant, fresh)
        if condition.devices or condition.events:
            faults = (
                instant.time_s // _REEVALUATE_EVERY_S,
                condition.events,
                *(
                    (at, device.state, device.values, device.counts)
                    for at, device in condition.devices.items()
                ),
            )
            if faults != sent.faults:
                sent.faults = faults
                messages += self._faults(node, instant, condition, sent)
        return messages

    def _usage(self, node: Node, instant: Instant, fresh: bool) -> Iterator[Context]:
        owners = self._fleet.owners(node, instant)
        for slot, unit in enumerate(node.units):
            if owners or not fresh:
                yield owners_message(slot, owners)
            yield processes_message(slot, self._fleet.processes(node, unit, instant))

    def _faults(
        self, node: Node, instant: Instant, condition: NodeCondition, sent: SentContext
    ) -> Iterator[Context]:
        for slot in condition.devices:
            view = self._fleet.view(node, slot, instant, condition)
            findings = Findings(
                slot=slot, health_reasons=view.health_reasons, event_counts=view.event_counts
            )
            if sent.findings.get(slot, Findings(slot=slot)) != findings:
                sent.findings[slot] = findings
                yield findings
        numbers = self._numbers.setdefault(node.name, EventNumbers())
        events = events_of(condition)
        numbers.assign(tuple(sorted(events, key=lambda entry: entry.time)), self._fleet.start)
        origin = self._fleet.origin(condition)
        for number, event in numbers.numbered.items():
            if number not in sent.events:
                there = msgspec.structs.replace(event, time=origin + event.time)
                yield event_message(number, there)
        sent.events = frozenset(numbers.numbered)
