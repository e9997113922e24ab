"""What a collector begins with: settings, who is absent, who comes first."""

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from accelwatch.backend import Context
from accelwatch.base.clock import ManualClock
from accelwatch.node.sampler.collector import Collector
from accelwatch.node.sampler.protocol.settings import CollectSettings, QuarantinedComponent
from accelwatch.node.sampler.stack.opening import (
    not_there,
)
from accelwatch.node.store.reports import (
    BackendChanged,
    Called,
    Component,
    Cycle,
    Done,
    Heartbeat,
    Noted,
    Written,
)
from node.sampler.rig import Rig, Scripted, step_until, waited


def opened_with(**settings: Any) -> Context:
    """What a backend is given by a collector of these settings."""
    seen: list[Context] = []

    class Seeing(Rig):
        def _build(self, context: Context) -> Scripted:
            seen.append(context)
            return super()._build(context)

    Seeing(Scripted(), **settings).until(lambda: seen)
    return seen[0]


def test_a_backend_gets_what_the_settings_say() -> None:
    options = {"scripted": {"a": 1}, "other": {"b": 2}}
    kept = opened_with(root="/somewhere", state_dir="/state", wake_suspended=True, options=options)
    assert (kept.root, kept.state_dir) == (Path("/somewhere"), Path("/state"))
    assert (kept.wake_suspended, kept.one_shot, kept.options) == (True, False, {"a": 1})
    plain = opened_with(state_dir=None)
    assert (plain.state_dir, plain.wake_suspended, plain.options) == (None, False, {})


def test_a_single_reading_keeps_nothing() -> None:
    single = opened_with(state_dir="/state", one_shot=True)
    assert (single.state_dir, single.one_shot) == (None, True)


class Absent(Rig):
    """A collector that knows before that its backend has nothing to do."""

    absent: ClassVar[Mapping[str, str]] = {"scripted": "no PCI function"}

    def __init__(self, backend: Scripted) -> None:
        super().__init__(
            backend,
            quarantined=(QuarantinedComponent(component=Component("scripted"), reason="crashed"),),
        )
        self.reports.clear()
        self.collector.start(absent=self.absent)


def test_a_backend_known_to_be_absent_is_reported_and_not_opened() -> None:
    rig = Absent(Scripted())
    assert rig.reports == [BackendChanged(status=not_there("scripted", "no PCI function"))]
    for _ in range(3):
        rig.collector.step(0.0)
    assert rig.backend.opened == 0


class NotYet(Rig):
    """A collector that goes on, told before that its backend has nothing to do yet."""

    def __init__(self, backend: Scripted, **more: Any) -> None:
        self.why = {"scripted": "no PCI function"}
        super().__init__(backend, absent=lambda name: self.why.get(name, ""), **more)

    def _start(self, quarantined: tuple[QuarantinedComponent, ...]) -> None:
        self.collector.start(quarantined, absent=dict(self.why))


def test_what_was_absent_at_the_start_is_looked_for_a_little_later() -> None:
    rig = NotYet(Scripted())
    assert rig.reports == [BackendChanged(status=not_there("scripted", "no PCI function"))]
    rig.why.clear()
    rig.clock.advance(1.9)
    rig.collector.step(0.0)
    assert rig.loaded == 0
    rig.clock.advance(0.2)
    rig.until(rig.outcomes)
    assert rig.loaded == 1


def test_what_was_absent_and_is_held_out_is_left_alone() -> None:
    rig = NotYet(
        Scripted(),
        quarantined=(QuarantinedComponent(component=Component("scripted"), reason="crashed"),),
    )
    rig.why.clear()
    rig.clock.advance(3.0)
    for _ in range(3):
        rig.collector.step(0.0)
    assert rig.loaded == 0


def test_a_single_reading_does_not_wait_for_what_is_absent() -> None:
    rig = NotYet(Scripted(), one_shot=True)
    rig.until(lambda: rig.of(Done))
    rig.clock.advance(3.0)
    rig.collector.step(0.0)
    assert rig.loaded == 0


@pytest.mark.parametrize(
    "names", [("host", "kernel_log", "nvidia"), ("nvidia", "host", "kernel_log")]
)
def test_accelerators_are_brought_up_first(names: tuple[str, ...]) -> None:
    order = Order(names, one_shot=True)
    order.collector.start()
    assert order.started == ["nvidia", "host", "kernel_log"]
    order.go.set()
    order.collector.close()


class Order:
    """In which order backends are begun; an accelerator's reading waits until it is let go."""

    def __init__(self, names: tuple[str, ...], *, one_shot: bool = False) -> None:
        self.started: list[str] = []
        self.reports: list[str] = []
        self.clock = ManualClock()
        self.slow = Scripted()
        self.go = self.slow.gates["s:0"] = threading.Event()
        built = {name: self.slow if name == "nvidia" else Scripted() for name in names}
        self.collector = Collector(
            CollectSettings(backends=names, one_shot=one_shot, timeout_s=60.0),
            {name: partial(_always, backend) for name, backend in built.items()},
            self._receive,
            self.clock,
            note=self._receive,
            environ={},
        )

    def _receive(self, report: Written | Noted) -> None:
        if isinstance(report, Called) and report.action == "open":
            self.started.append(report.backend)
        elif isinstance(report, Cycle):
            self.reports.append(report.backend)

    def until(self, condition: Callable[[], object]) -> None:
        step_until(self.collector, condition)


def _always(backend: Scripted) -> Callable[[Context], Scripted]:
    return lambda _: backend


@pytest.fixture
def order() -> Iterator[Order]:
    given = Order(("host", "kernel_log", "nvidia"))
    given.collector.start()
    yield given
    given.go.set()
    given.collector.close()


def test_the_others_start_when_the_accelerators_have_reported(order: Order) -> None:
    order.until(lambda: order.slow.reads)
    assert order.started == ["nvidia"]
    order.go.set()
    order.until(lambda: len(order.reports) == 3)
    assert order.started == ["nvidia", "host", "kernel_log"]
    assert order.reports[0] == "nvidia"


def test_the_rest_does_not_stand_back_for_long(order: Order) -> None:
    order.until(lambda: order.slow.reads)
    order.clock.advance(0.24)
    order.collector.step(0.0)
    assert order.started == ["nvidia"]
    order.clock.advance(0.02)
    order.until(lambda: len(order.reports) == 2)
    assert order.started == ["nvidia", "host", "kernel_log"]


def test_the_loop_wakes_for_the_rest(order: Order) -> None:
    order.until(lambda: order.slow.reads)
    order.clock.advance(0.1)
    assert waited(order.collector) == [pytest.approx(0.15)]


def test_without_an_accelerator_the_others_start_at_once() -> None:
    order = Order(("host", "kernel_log"))
    order.collector.start()
    assert order.started == ["host", "kernel_log"]
    order.collector.close()


def test_of_the_rest_what_is_held_out_is_left_alone() -> None:
    order = Order(("host", "kernel_log"))
    order.collector.start((QuarantinedComponent(component=Component("host")),))
    assert order.started == ["kernel_log"]
    order.collector.close()


def test_a_heartbeat_comes_every_two_seconds_but_not_in_a_single_reading() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    beats = len(rig.of(Heartbeat))
    for _ in range(8):
        rig.clock.advance(0.5)
        rig.collector.step(0.0)
    assert len(rig.of(Heartbeat)) == beats + 2
    beat = rig.of(Heartbeat)[-1]
    assert isinstance(beat, Heartbeat)
    assert beat.cpu_s > 0
    assert beat.resident_bytes > 1 << 20
    single = Rig(Scripted(), one_shot=True)
    single.until(lambda: single.of(Done))
    assert single.of(Heartbeat) == []
    assert single.reports[-1] == Done()
