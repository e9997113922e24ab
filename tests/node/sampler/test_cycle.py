"""How a cycle went."""

import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.sampler.turns.calls import Calls, CollectorContext
from accelwatch.node.sampler.turns.cycle import CycleTracker
from accelwatch.node.sampler.turns.messages import Inbox
from accelwatch.node.store.reports import (
    Cycle,
    Failure,
    Written,
)


class Tracked:
    def __init__(self) -> None:
        self.written: list[Written] = []
        self.clock = ManualClock()
        self.cycle = CycleTracker(
            "x",
            CollectorContext(
                settings=CollectSettings(),
                clock=self.clock,
                calls=Calls(lambda _: None, self.clock, Inbox()),
                emit=self.written.append,
                inbox=Inbox(),
            ),
        )
        self.cycle.start(self.clock.monotonic())


def failure(absence: Absence, message: str = "") -> Failure:
    return Failure(absence=absence, code="c", message=message)


def test_a_cycle_is_over_when_nobody_is_waited_for() -> None:
    rig = Tracked()
    for turn in "ab":
        rig.cycle.wait_for(turn)
    rig.clock.advance(0.25)
    rig.cycle.finish_turn("a", None)
    assert (rig.cycle.close_if_over(), rig.cycle.open, rig.written) == (False, True, [])
    rig.cycle.finish_turn("b", None)
    assert (rig.cycle.close_if_over(), rig.cycle.open) == (True, False)
    expected = Cycle(backend="x", result="ok", duration_s=0.25, wall=rig.clock.wall(), message="")
    assert rig.written == [expected]
    assert rig.cycle.close_if_over()
    assert rig.written == [expected]


@pytest.mark.parametrize(
    ("failures", "result", "message"),
    [
        ([Absence.LOST, Absence.PERMISSION, Absence.SUSPENDED, Absence.NOT_COLLECTED], "ok", ""),
        ([Absence.ERROR, Absence.ERROR], "error", "0"),
        ([Absence.ERROR, Absence.TIMEOUT, Absence.ERROR], "timeout", "1"),
        ([Absence.TIMEOUT, Absence.TIMEOUT], "timeout", "0"),
    ],
)
def test_the_worst_failure_is_the_result_of_a_cycle(
    failures: list[Absence], result: str, message: str
) -> None:
    rig = Tracked()
    for number, absence in enumerate(failures):
        rig.cycle.note(failure(absence, str(number)))
    rig.cycle.close_if_over()
    (cycle,) = rig.written
    assert isinstance(cycle, Cycle)
    assert (cycle.result, cycle.message) == (result, message)


def test_a_failure_does_not_outlast_its_cycle() -> None:
    rig = Tracked()
    rig.cycle.note(failure(Absence.TIMEOUT, "late"))
    rig.cycle.close_if_over()
    rig.clock.advance(1.0)
    rig.cycle.start(rig.clock.monotonic())
    rig.clock.advance(0.5)
    rig.cycle.close_if_over()
    last = rig.written[-1]
    assert isinstance(last, Cycle)
    assert (last.result, last.message, last.duration_s) == ("ok", "", 0.5)


def test_a_tick_that_came_too_early_is_reported_as_skipped() -> None:
    rig = Tracked()
    rig.cycle.skipped()
    assert rig.written == [
        Cycle(
            backend="x",
            result="skipped",
            duration_s=0.0,
            wall=rig.clock.wall(),
            message="a device is still being read",
        )
    ]
    assert rig.cycle.open
