"""The collector's loop on a manual clock: who is called when, and what is told."""

import threading
from queue import SimpleQueue
from typing import Any

import pytest

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch.node.sampler.collector import Collector
from accelwatch.node.sampler.protocol.settings import CollectSettings, QuarantinedComponent
from accelwatch.node.sampler.turns.calls import Calls
from accelwatch.node.sampler.turns.gate import PATIENCE_S
from accelwatch.node.sampler.turns.messages import Admit, Batch, Message, Stop
from accelwatch.node.store.reports import (
    CRASHED,
    BackendChanged,
    Called,
    Component,
    Done,
    Identified,
    Outcome,
    Slots,
)
from accelwatch.schema.snapshot import BackendState
from node.sampler.rig import Rig, Scripted, Searching, waited
from support.processes.waiting import GUARD_S, wait_until


def test_a_call_is_announced_before_it_is_made_and_the_cycle_follows_the_outcomes() -> None:
    rig = Rig(Scripted(2))
    rig.first_cycle()
    kinds = [type(report).__name__ for report in rig.reports]
    assert kinds[0] == "Called"
    assert kinds.index("BackendChanged") < kinds.index("Slots") < kinds.index("Identified")
    assert kinds[-1] == "Cycle"
    actions = [report.action for report in rig.reports if isinstance(report, Called)]
    assert actions[0] == "open"
    assert sorted(actions[1:]) == ["identify", "identify", "read", "read"]


def test_each_tick_reads_each_device_once() -> None:
    rig = Rig(Scripted(2))
    rig.first_cycle()
    for _ in range(3):
        rig.tick()
    assert sorted(rig.backend.reads) == sorted(
        [("s:0", True), ("s:1", True)] + [("s:0", False), ("s:1", False)] * 3
    )
    assert rig.cycles() == ["ok"] * 4


def test_a_step_of_the_wall_clock_is_no_tick_and_delays_none() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    rig.clock.step_wall(3600.0)
    for _ in range(5):
        rig.collector.step(0.0)
    assert len(rig.backend.reads) == 1
    rig.clock.step_wall(-7200.0)
    rig.tick()
    assert len(rig.backend.reads) == 2


def test_slow_quantities_are_read_again_in_their_own_rhythm() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    for _ in range(6):
        rig.tick()
    assert [slow for _, slow in rig.backend.reads] == [
        True,
        False,
        False,
        False,
        False,
        True,
        False,
    ]


def test_a_hung_call_is_never_doubled_and_its_late_answer_is_thrown_away() -> None:
    backend = Scripted(2)
    backend.gates["s:0"] = threading.Event()
    rig = Rig(backend)
    rig.until(lambda: ("s:1", None) in rig.outcomes())
    rig.clock.advance(0.5)
    rig.first_cycle()
    for _ in range(3):
        rig.tick()
    assert [device for device, _ in backend.reads].count("s:0") == 1
    late = [absence for slot, absence in rig.outcomes() if slot == "s:0"]
    assert set(late) == {Absence.TIMEOUT}
    assert set(rig.cycles()) == {"timeout"}
    backend.gates.pop("s:0").set()
    before = len(rig.outcomes())
    rig.until_all_returned()
    assert len(rig.outcomes()) == before
    rig.tick()
    rig.tick()
    assert rig.outcomes()[-1][1] is None
    assert rig.cycles()[-1] == "ok"


def test_a_slow_device_does_not_take_the_others_turns() -> None:
    backend = Scripted(2)
    gate = backend.gates["s:0"] = threading.Event()
    rig = Rig(backend, timeout_s=5.0)
    rig.until(lambda: ("s:1", None) in rig.outcomes())
    rig.clock.advance(1.0)
    rig.until(lambda: rig.outcomes().count(("s:1", None)) == 2)
    assert rig.cycles() == ["skipped"]
    gate.set()
    rig.until(lambda: "ok" in rig.cycles())
    assert rig.outcomes().count(("s:0", None)) == 1


def test_a_failing_device_is_queried_ever_more_rarely_and_reported_at_every_tick() -> None:
    backend = Scripted()
    backend.error = DeviceLost("gone")
    rig = Rig(backend)
    rig.first_cycle()
    for _ in range(20):
        rig.tick()
    assert rig.outcomes() == [("s:0", Absence.LOST)] * 21
    assert len(backend.reads) == 6
    backend.error = None
    for _ in range(40):
        rig.tick()
    assert rig.outcomes()[-1] == ("s:0", None)
    assert backend.identified.count("s:0") > 1


def test_devices_are_read_one_after_another_for_as_long_as_they_get_on() -> None:
    backend = Scripted(3)
    go = backend.gates["s:0"] = threading.Event()
    rig = Rig(backend, timeout_s=5.0)
    rig.until(lambda: ("s:2", None) in rig.outcomes())
    assert ("s:0", None) not in rig.outcomes()
    go.set()
    rig.first_cycle()


def first_turn_held() -> tuple[Rig, threading.Event]:
    """A collector of two devices that is reading the first, and what lets this reading end."""
    backend = Scripted(2)
    go = backend.gates["s:0"] = threading.Event()
    rig = Rig(backend)
    rig.until(lambda: len(rig.of(Identified)) == 2, in_turn=True)
    wait_until(lambda: backend.reads)
    return rig, go


def read_so_far(rig: Rig) -> list[str]:
    """The devices whose reading was begun."""
    return [call.slot for call in rig.of(Called) if call.action == "read"]


@pytest.mark.parametrize(("passed_s", "called"), [(0.0, ["s:0"]), (PATIENCE_S, ["s:0", "s:1"])])
def test_turns_do_not_wait_because_the_loop_has_much_to_do(
    passed_s: float, called: list[str]
) -> None:
    rig, go = first_turn_held()
    inbox, rig.collector.inbox = rig.collector.inbox, SimpleQueue()
    rig.collector.inbox.put(Batch(backend="scripted", events=(), accepted=lambda: None))
    rig.clock.advance(passed_s)
    rig.collector.step(0.0)
    assert read_so_far(rig) == called
    rig.collector.inbox = inbox
    go.set()
    rig.first_cycle()


@pytest.mark.parametrize(("messages", "timeout_s"), [(0, 0.0), (1, 0.01)])
def test_turns_go_on_waiting_while_the_loop_has_not_waited(messages: int, timeout_s: float) -> None:
    rig, go = first_turn_held()
    inbox, rig.collector.inbox = rig.collector.inbox, SimpleQueue()
    for _ in range(3):
        for _ in range(messages):
            rig.collector.inbox.put(Batch(backend="scripted", events=(), accepted=lambda: None))
        rig.collector.step(timeout_s)
    assert read_so_far(rig) == ["s:0"]
    rig.collector.inbox = inbox
    go.set()
    rig.first_cycle()


def test_the_loop_does_not_wait_long_for_a_turn_that_others_wait_for() -> None:
    rig, go = first_turn_held()
    assert waited(rig.collector) == [PATIENCE_S]
    go.set()
    rig.first_cycle()
    assert waited(rig.collector) == [1.0]


def test_a_serial_driver_gets_one_call_at_a_time() -> None:
    backend = Scripted(3, serial=True)
    gate = backend.gates["s:0"] = threading.Event()
    rig = Rig(backend)
    rig.until(lambda: backend.reads)
    for _ in range(5):
        rig.collector.step(0.01)
    assert [device for device, _ in backend.reads] == ["s:0"]
    gate.set()
    rig.first_cycle()
    assert [device for device, _ in backend.reads] == ["s:0", "s:1", "s:2"]
    rig.tick(10.0)
    assert rig.cycles() == ["ok", "ok"]
    assert rig.outcomes()[-3:] == [("s:0", None), ("s:1", None), ("s:2", None)]


def test_a_serial_driver_that_hangs_is_reported_for_every_device_behind() -> None:
    backend = Scripted(3, serial=True)
    gate = backend.gates["s:1"] = threading.Event()
    rig = Rig(backend)
    rig.until(lambda: len(backend.reads) == 2)
    rig.clock.advance(0.5)
    rig.first_cycle()
    rig.tick()
    assert rig.outcomes()[1:] == [
        ("s:1", Absence.TIMEOUT),
        ("s:2", Absence.TIMEOUT),
        ("s:0", Absence.TIMEOUT),
        ("s:1", Absence.TIMEOUT),
        ("s:2", Absence.TIMEOUT),
    ]
    assert len(backend.reads) == 2
    backend.gates.clear()
    gate.set()
    rig.until_all_returned()
    rig.tick()
    rig.tick()
    assert rig.outcomes()[-3:] == [("s:0", None), ("s:1", None), ("s:2", None)]


def test_devices_are_looked_for_and_identified_again() -> None:
    backend = Scripted(1)
    rig = Rig(backend)
    rig.first_cycle()
    backend.devices = 2
    rig.tick(10.0)
    rig.until(lambda: len(rig.of(Slots)) == 2)
    rig.tick()
    rig.tick()
    assert sorted(backend.identified) == ["s:0", "s:0", "s:1"]
    assert {slot for slot, _ in rig.outcomes()[-2:]} == {"s:0", "s:1"}
    assert len(rig.of(Identified)) == 3


def test_a_driver_that_is_unloaded_makes_its_backend_unavailable_until_it_is_back() -> None:
    backend = Scripted(1)
    rig = Rig(backend)
    rig.first_cycle()
    backend.discover_error = BackendUnavailable("driver unloaded", reason="driver_gone")
    rig.clock.advance(10.0)
    rig.until(lambda: len(rig.of(BackendChanged)) == 2)
    assert [r.status.state for r in rig.reports if isinstance(r, BackendChanged)] == [
        BackendState.OK,
        BackendState.UNAVAILABLE,
    ]
    rig.until(lambda: backend.closed)
    backend.discover_error = None
    rig.clock.advance(10.0)
    rig.until(lambda: len(rig.of(BackendChanged)) == 3)
    assert backend.opened == 2
    rig.until(lambda: rig.outcomes()[-1] == ("s:0", None))


def test_a_backend_that_cannot_look_for_devices_is_closed_and_opened_again_later() -> None:
    backend = Scripted(1)
    backend.discover_error = ValueError("a bug")
    rig = Rig(backend)
    rig.until(lambda: rig.of(BackendChanged))
    assert backend.closed == backend.opened == 1
    backend.discover_error = None
    rig.clock.advance(9.9)
    rig.collector.step(0.01)
    assert backend.opened == 1
    rig.clock.advance(0.1)
    rig.first_cycle()
    assert (backend.opened, backend.closed) == (2, 1)


def test_a_failing_look_for_devices_keeps_those_that_are_known() -> None:
    backend = Scripted(1)
    rig = Rig(backend)
    rig.first_cycle()
    backend.discover_error = ValueError("a bug")
    rig.tick(10.0)
    rig.until_all_returned()
    rig.tick()
    assert rig.cycles()[-1] == "error"
    assert rig.outcomes()[-1] == ("s:0", None)


def test_a_held_out_backend_is_left_alone_until_it_is_let_in() -> None:
    rig = Rig(Scripted(), quarantined=(QuarantinedComponent(component=Component("scripted")),))
    for _ in range(5):
        rig.collector.step(0.0)
    assert rig.backend.opened == 0
    rig.collector.inbox.put(Admit(component=Component("scripted")))
    rig.first_cycle()
    assert rig.backend.opened == 1


def test_a_held_out_device_is_a_row_that_is_not_called_until_it_is_let_in() -> None:
    held = QuarantinedComponent(component=Component("scripted", "s:1"), reason="excluded for 5 s")
    rig = Rig(Scripted(3), quarantined=(held,))
    rig.first_cycle()
    assert sorted(rig.backend.identified) == ["s:0", "s:2"]
    failures = [o.failure for o in rig.of(Outcome) if o.slot == "s:1"]
    assert [(f.code, f.message) for f in failures if f] == [(CRASHED, "excluded for 5 s")]
    assert rig.cycles() == ["error"]
    rig.collector.inbox.put(Admit(component=held.component))
    rig.tick()
    assert ("s:1", True) in rig.backend.reads
    assert rig.cycles()[-1] == "ok"


def first_search(*, serial: bool = False) -> tuple[Rig, Searching]:
    """A collector whose only device has told its numbers, and has not found processes in time."""
    backend = Searching(serial=serial)
    rig = Rig(backend)
    rig.until(backend.searching.is_set)
    rig.clock.advance(0.6)
    rig.until(rig.cycles)
    return rig, backend


def readings(rig: Rig) -> list[tuple[object, Absence | None]]:
    """Of each outcome: its processes, and why there are none."""
    outcomes = [o for o in rig.of(Outcome) if o.readings]
    assert all(o.readings[0].values == {("power_watts",): 1.0} for o in outcomes)
    return [(o.readings[0].processes, o.readings[0].absent.get(("processes",))) for o in outcomes]


def test_numbers_count_when_processes_are_late_and_go_on_without_them() -> None:
    rig, backend = first_search()
    assert rig.outcomes() == [("s:0", None)]
    rig.tick()
    rig.tick()
    assert backend.searches == [True, False, False]
    assert readings(rig) == [(None, Absence.TIMEOUT)] * 3
    assert rig.cycles() == ["ok"] * 3


def test_a_search_that_comes_back_late_is_thrown_away_and_repeated_after_a_pause() -> None:
    rig, backend = first_search()
    backend.search.set()
    rig.until_all_returned()
    rig.tick()
    rig.tick(5.0)
    assert backend.searches == [True, False, True]
    assert readings(rig) == [(None, Absence.TIMEOUT)] * 2 + [((), None)]


def test_a_driver_of_one_call_at_a_time_is_not_called_beside_its_search() -> None:
    rig, backend = first_search(serial=True)
    assert readings(rig) == [(None, Absence.TIMEOUT)]
    rig.tick()
    assert backend.searches == [True]
    assert rig.outcomes()[-1] == ("s:0", Absence.TIMEOUT)


def test_a_stop_ends_the_loop_and_close_gives_backends_back() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    rig.collector.inbox.put(Stop())
    assert not rig.collector.step(0.1)
    rig.collector.close()
    wait_until(lambda: rig.backend.closed == 1)


@pytest.mark.parametrize("late_s", [0.0, 0.9, 5.0])
def test_ticks_stay_on_their_grid(late_s: float) -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    rig.tick(1.0 + late_s)
    reads = len(rig.backend.reads)
    whole = int(1.0 + late_s)
    rig.clock.advance(whole + 1 - (1.0 + late_s) - 0.01)
    rig.collector.step(0.01)
    assert len(rig.backend.reads) == reads
    rig.tick(0.02)
    assert len(rig.backend.reads) == reads + 1


def test_a_device_that_sleeps_is_queried_at_every_tick() -> None:
    rig = Rig(Scripted())
    rig.backend.error = DeviceSuspended("sleeps")
    rig.first_cycle()
    for _ in range(8):
        rig.tick()
    assert len(rig.backend.reads) == 9
    assert rig.outcomes() == [("s:0", Absence.SUSPENDED)] * 9


def test_a_device_that_failed_is_identified_before_it_is_read_again() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    rig.tick()
    assert rig.backend.identified == ["s:0"]
    rig.backend.error = DeviceLost("gone")
    rig.tick()
    rig.backend.error = None
    rig.tick()
    assert rig.backend.identified == ["s:0", "s:0"]
    assert rig.outcomes()[-1] == ("s:0", None)


def test_slow_quantities_of_another_identity_are_read_at_once() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    for _ in range(4):
        rig.tick(3.0)
    rig.until(lambda: len(rig.of(Slots)) == 2)
    rig.backend.uuid = "another"
    rig.tick(3.0)
    assert rig.backend.identified == ["s:0", "s:0"]
    assert [slow for _, slow in rig.backend.reads] == [True, False, True, False, True, True]


def test_slow_quantities_of_the_same_identity_keep_their_rhythm() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    for _ in range(4):
        rig.tick(3.0)
    rig.until(lambda: len(rig.of(Slots)) == 2)
    rig.tick(3.0)
    assert rig.backend.identified == ["s:0", "s:0"]
    assert [slow for _, slow in rig.backend.reads] == [True, False, True, False, True, False]


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (DeviceLost("gone"), "ok"),
        (DevicePermission("no access"), "ok"),
        (DeviceSuspended("sleeps"), "ok"),
        (ReadError("code 999"), "error"),
    ],
)
def test_what_is_a_state_of_the_device_is_no_failure_of_the_collector(
    error: Exception, result: str
) -> None:
    rig = Rig(Scripted())
    rig.backend.error = error
    rig.first_cycle()
    assert rig.cycles() == [result]


def test_a_late_answer_is_one_failure_and_the_device_is_queried_at_the_next_tick() -> None:
    backend = Scripted()
    backend.gates["s:0"] = threading.Event()
    rig = Rig(backend)
    rig.until(lambda: backend.reads)
    rig.clock.advance(0.5)
    rig.first_cycle()
    backend.gates.pop("s:0").set()
    rig.until_all_returned()
    rig.tick(0.5)
    assert len(backend.reads) == 2
    assert rig.outcomes()[-1] == ("s:0", None)


def outcomes_of(rig: Rig) -> list[Outcome]:
    return [report for report in rig.reports if isinstance(report, Outcome)]


def test_an_outcome_says_whose_it_is_when_it_came_and_how_long_it_took() -> None:
    backend = Scripted()
    gate = backend.gates["s:0"] = threading.Event()
    rig = Rig(backend, timeout_s=5.0)
    rig.until(lambda: backend.reads)
    rig.clock.advance(0.25)
    gate.set()
    rig.first_cycle()
    (well,) = outcomes_of(rig)
    now, wall = rig.clock.monotonic(), rig.clock.wall()
    assert (well.backend, well.monotonic, well.wall) == ("scripted", now, wall)
    assert well.duration_s == pytest.approx(0.25)


def test_a_late_call_is_reported_with_its_code() -> None:
    backend = Scripted()
    backend.gates["s:0"] = threading.Event()
    rig = Rig(backend)
    rig.until(lambda: backend.reads)
    rig.clock.advance(0.5)
    rig.first_cycle()
    (late,) = outcomes_of(rig)
    now, wall = rig.clock.monotonic(), rig.clock.wall()
    assert (late.backend, late.monotonic, late.wall) == ("scripted", now, wall)
    assert late.failure is not None
    assert late.failure.code == "timeout"
    assert late.failure.message == "driver call stuck"


def test_the_loop_sleeps_until_the_next_sign_of_life_is_due() -> None:
    rig = Rig(Scripted(), interval_s=30.0)
    rig.first_cycle()
    assert waited(rig.collector) == [2.0]
    rig.clock.advance(0.2)
    assert waited(rig.collector) == [pytest.approx(1.8)]


def test_the_loop_sleeps_until_the_next_tick_is_due() -> None:
    rig = Rig(Scripted(), interval_s=0.25)
    rig.first_cycle()
    assert waited(rig.collector) == [0.25]


def test_the_loop_goes_on_at_once_when_something_is_overdue() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    rig.clock.advance(5.0)
    assert waited(rig.collector) == [0.0]


def test_a_single_reading_reports_no_sign_of_life_and_is_woken_within_a_second() -> None:
    backend = Scripted()
    backend.gates["s:0"] = threading.Event()
    rig = Rig(backend, one_shot=True, timeout_s=30.0)
    rig.until(lambda: backend.reads)
    assert waited(rig.collector) == [1.0]
    backend.gates["s:0"].set()


def test_a_single_reading_is_over_at_its_deadline() -> None:
    backend = Scripted()
    backend.gates["s:0"] = threading.Event()
    rig = Rig(backend, one_shot=True, timeout_s=3.0)
    rig.until(lambda: backend.reads)
    rig.clock.advance(2.9)
    for _ in range(3):
        assert rig.collector.step(0.0)
    assert rig.outcomes() == []
    rig.clock.advance(0.2)
    rig.until(lambda: rig.of(Done))
    assert rig.outcomes() == [("s:0", Absence.TIMEOUT)]
    backend.gates["s:0"].set()


def test_closing_waits_for_no_one_who_has_closed() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()

    class Last(SimpleQueue[Message]):
        requests = 0

        def get(self, block: bool = True, timeout: float | None = None) -> Message:
            self.requests += 1
            return queue.get(timeout=GUARD_S)

    queue = rig.collector.inbox
    rig.collector.inbox = last = Last()
    rig.collector.close()
    rig.collector.inbox = queue
    assert (rig.backend.closed, last.requests) == (1, 1)


def test_a_backend_is_loaded_when_its_hardware_is_plugged_in() -> None:
    why = {"scripted": "nothing on the bus"}
    rig = Rig(Scripted(), absent=lambda name: why.get(name, ""))
    rig.until(lambda: rig.of(BackendChanged))
    (found,) = rig.of(BackendChanged)
    assert isinstance(found, BackendChanged)
    assert (found.status.state, found.status.message) == (BackendState.ABSENT, why["scripted"])
    loads = [rig.loaded]
    why.clear()
    rig.clock.advance(10.0)
    rig.until(rig.outcomes)
    assert [*loads, rig.loaded] == [0, 1]


def test_what_came_in_time_is_taken_in_by_a_loop_that_is_late() -> None:
    backend = Scripted(2)
    gate = backend.gates["s:1"] = threading.Event()
    gate.set()
    rig = Rig(backend)
    rig.first_cycle()
    gate.clear()
    rig.clock.advance(1.0)
    rig.collector.step(0.0)
    wait_until(lambda: [device for device, _ in backend.reads].count("s:1") == 2)
    before = len(rig.outcomes())
    rig.clock.advance(0.6)
    rig.collector.step(0.0)
    assert rig.outcomes()[before:] == [("s:0", None), ("s:1", Absence.TIMEOUT)]


def with_waiting_turns(
    monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> tuple[Collector, ManualClock, list[bool]]:
    """A collector, its clock, and whether turns wait; with each telling one more of the latter."""
    waiting = [True]
    monkeypatch.setattr(Calls, "waiting", property(lambda _: waiting[0]))
    clock = ManualClock()
    collector = Collector(
        CollectSettings(backends=(), **settings),
        {},
        lambda _: None,
        clock,
        environ={},
        flush=lambda: waiting.append(waiting[0]),
    )
    return collector, clock, waiting


def test_a_report_that_others_may_join_within_milliseconds_waits_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collector, clock, waiting = with_waiting_turns(monkeypatch)
    for seconds, times in ((0.0, 0), (0.0095, 0), (0.001, 1), (0.0095, 1), (0.001, 2)):
        clock.advance(seconds)
        collector._flush_if_due()
        assert len(waiting) == 1 + times
    waiting[0] = False
    collector._flush_if_due()
    waiting[0] = True
    clock.advance(0.0095)
    collector._flush_if_due()
    assert waiting[1:] == [True, True, False]


def test_a_single_reading_holds_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    collector, _, waiting = with_waiting_turns(monkeypatch, one_shot=True)
    collector._flush_if_due()
    assert waiting[1:] == [True]


def test_what_waited_is_reported_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    collector, _, waiting = with_waiting_turns(monkeypatch)
    collector.inbox.put(Stop())
    collector.run()
    assert waiting[1:] == [True]
