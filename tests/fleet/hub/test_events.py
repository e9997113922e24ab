"""The fleet's events: each once whatever is reported again, bounded, on the hub's clock."""

import itertools

import msgspec
import pytest

from accelwatch.fleet.follow.frames import FrameReader
from accelwatch.fleet.state.events import (
    CAPACITY,
    NODE_CAPACITY,
    EventLog,
    counted,
)
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import SEVERITIES, Category, ErrorEvent, severity
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch.schema.snapshot import EventCount
from accelwatch.schema.stream.context import Event
from accelwatch.schema.stream.context_encoder import EventNumbers
from support.fleet.hub_peers import context_bytes
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

NOW = machines.NOW


def fault(time: float = NOW, **changes: object) -> ErrorEvent:
    whole = ErrorEvent(
        code="xid_79",
        category=Category.BUS,
        time=time,
        text="fell off the bus",
        source="nvml",
        device_id=machines.device(3).id,
    )
    return msgspec.structs.replace(whole, **changes)


class Telling:
    """An event log and the nodes that report to it."""

    def __init__(self) -> None:
        self.log = EventLog()

    def report(
        self, node: str, *events: tuple[int, ErrorEvent], again: bool = False, origin: str = "a"
    ) -> None:
        self.log.record(
            node,
            origin,
            [Event(sequence=number, event=event) for number, event in events],
            ours=lambda time: time - 100,
            name=lambda device_id: device_id[-1:],
            again=again,
        )

    def times(self, node: str) -> list[float]:
        return [noted.event.time - NOW + 100 for noted in self.log.of(node)]


def test_events_are_kept_in_order_and_on_our_clock() -> None:
    telling = Telling()
    telling.report("n1", (1, fault(NOW)), (2, fault(NOW + 10)))
    telling.report("n2", (1, fault(NOW + 5)))
    assert telling.times("n1") == [0, 10]
    assert [noted.node for noted in telling.log.after(0)] == ["n1", "n1", "n2"]
    assert [noted.sequence for noted in telling.log.before(3)] == [2, 1]
    assert telling.log.after(2)[0].name == "4"


def test_a_stream_that_starts_over_reports_nothing_twice() -> None:
    telling = Telling()
    past = [(7 + at, fault(NOW + 30 * at)) for at in range(4)]
    telling.report("n1", *past[:3])
    telling.report("n1", *past, again=True)
    assert telling.times("n1") == [0, 30, 60, 90]


def test_a_restarted_agent_that_reads_its_log_again_reports_nothing_twice() -> None:
    telling = Telling()
    telling.report("n1", (7, fault(NOW)), (8, fault(NOW + 1)))
    telling.report("n1", (900, fault(NOW + 0.4)), (901, fault(NOW + 1.4)), again=True)
    assert len(telling.log) == 2
    telling.report("n1", (902, fault(NOW + 2)))
    assert len(telling.log) == 3


def test_repeated_faults_of_one_stream_are_several() -> None:
    telling = Telling()
    telling.report("n1", *((at, fault(NOW + at)) for at in range(1, 4)))
    assert telling.times("n1") == [1, 2, 3]


def test_two_targets_of_a_node_that_report_one_fault_are_one_event() -> None:
    telling = Telling()
    telling.report("n1", (1, fault(NOW)))
    telling.report("n1", (-5, fault(NOW + 2, source="counter")), origin="b")
    (noted,) = telling.log.of("n1")
    assert noted.event.source == "nvml"


def test_an_event_of_which_more_is_known_stays_one() -> None:
    telling = Telling()
    telling.report("n1", (1, fault(NOW, device_id="")))
    telling.report("n1", (1, fault(NOW, text="GPU has fallen off the bus")))
    (noted,) = telling.log.of("n1")
    assert (noted.sequence, noted.event.text) == (1, "GPU has fallen off the bus")


@pytest.mark.parametrize(
    ("later_s", "again", "origin", "events"),
    [
        (0.002, False, "a", 1),
        (0.003, False, "a", 2),
        (5.0, True, "a", 1),
        (5.001, True, "a", 2),
        (-5.0, True, "a", 1),
        (5.0, False, "b", 1),
        (5.001, False, "b", 2),
    ],
)
def test_an_event_near_another_is_the_same(
    later_s: float, again: bool, origin: str, events: int
) -> None:
    """Near is 2 ms within a stream, 5 s after a reconnection and between targets."""
    telling = Telling()
    telling.report("n1", (1, fault(0.0)))
    telling.report("n1", (2, fault(later_s)), again=again, origin=origin)
    assert len(telling.log) == events


@pytest.mark.parametrize("origin", ["a", "b"])
@pytest.mark.parametrize("changes", [{"code": "xid_48"}, {"device_id": "another"}])
def test_an_event_of_another_code_or_device_at_the_same_time_is_another(
    changes: dict[str, str], origin: str
) -> None:
    telling = Telling()
    telling.report("n1", (1, fault(NOW)))
    telling.report("n1", (2, fault(NOW, **changes)), origin=origin)
    first, second = (noted.event for noted in telling.log.of("n1"))
    assert (first, second) == (fault(NOW - 100), fault(NOW - 100, **changes))


def test_events_of_one_time_reported_together_are_several() -> None:
    telling = Telling()
    for again in (False, True):
        telling.report("n1", (1, fault(NOW)), (2, fault(NOW)), again=again)
        assert len(telling.log) == 2


def test_the_events_of_a_node_are_numbered_by_target() -> None:
    """The same number of another target is another event; of the same target the same one."""
    telling = Telling()
    telling.report("n1", (7, fault(NOW)), origin="a")
    telling.report("n1", (7, fault(NOW + 60)), origin="b")
    telling.report("n1", (7, fault(NOW + 90, text="more is known")), origin="b")
    assert telling.times("n1") == [0, 90]
    assert [noted.event.text for noted in telling.log.of("n1")][1] == "more is known"


def test_an_event_of_the_node_has_no_device_name() -> None:
    telling = Telling()
    telling.report("n1", (1, fault(NOW, device_id="")))
    (noted,) = telling.log.of("n1")
    assert (noted.sequence, noted.node, noted.name) == (1, "n1", "")


def test_an_event_without_a_time_does_not_keep_the_next_from_being_taken() -> None:
    telling = Telling()
    telling.report("n1", (1, fault(float("nan"))), (2, fault(NOW)))
    assert telling.times("n1") == [0]


def test_the_oldest_of_a_node_gives_way_and_its_number_may_come_again() -> None:
    telling = Telling()
    telling.report("n1", *((at, fault(NOW + at)) for at in range(NODE_CAPACITY)))
    assert telling.times("n1") == list(range(NODE_CAPACITY))
    more = [(NODE_CAPACITY, fault(NOW + 500)), (0, fault(NOW + 600)), (1, fault(NOW + 700))]
    telling.report("n1", *more)
    assert telling.times("n1") == [*range(3, NODE_CAPACITY), 500, 600, 700]
    assert telling.log.last == NODE_CAPACITY + 3


def test_an_event_without_a_time_is_not_taken() -> None:
    telling = Telling()
    telling.report("n1", (1, fault(float("nan"))), (2, fault(float("inf"))))
    assert len(telling.log) == 0


def test_a_noisy_node_does_not_push_out_the_others() -> None:
    telling = Telling()
    telling.report("quiet", (1, fault(NOW)))
    telling.report("noisy", *((at, fault(NOW + at)) for at in range(1, 2 * CAPACITY)))
    assert len(telling.log.of("noisy")) == NODE_CAPACITY
    assert telling.times("quiet") == [0]


def test_the_fleet_s_events_are_bounded() -> None:
    telling = Telling()
    for node, at in itertools.product(range(CAPACITY // 100 + 2), range(100)):
        telling.report(f"n{node}", (at + 1, fault(NOW + at)))
    assert len(telling.log) == CAPACITY
    assert telling.log.of("n0") == []
    assert len(telling.log.after(0)) == CAPACITY
    telling.log.forget("n5")
    assert telling.log.of("n5") == []
    assert len(telling.log) == CAPACITY - 100


@pytest.mark.parametrize("category", list(Category))
def test_what_makes_a_device_degraded_is_critical(category: Category) -> None:
    event = fault(category=category)
    judged = evaluate_health(DeviceState.OK, Reading(device_id="x"), [event], NOW)
    assert (severity(event) == "critical") == (judged.health is Health.DEGRADED)
    assert severity(event) in SEVERITIES
    assert severity(fault(category=category, trusted=False)) == "info"


def test_a_counter_that_grows_is_an_event() -> None:
    one = EventCount(code="xid_79", category="bus", total=3, last_time=NOW - 5)
    more = msgspec.structs.replace(one, total=5)
    other = EventCount(code="odd", category="unheard_of", total=1, last_time=0.0)
    found = [counted_event.event for counted_event in counted([one], [more, other], "x", NOW)]
    assert [(event.code, event.category, event.time) for event in found] == [
        ("xid_79", "bus", NOW - 5),
        ("odd", "other", NOW),
    ]
    bare = EventCount(code="xid_79", category="other", total=1, last_time=NOW)
    assert [counted_event.event.category for counted_event in counted([], [bare], "x", NOW)] == [
        "bus"
    ]
    assert [event.text for event in found] == ["xid_79 was counted 2 times", "odd was counted"]
    assert {(event.source, event.device_id) for event in found} == {("counter", "x")}
    assert counted([one], [one], "x", NOW) == []
    assert counted([more], [one], "x", NOW) == []


def test_a_counter_keeps_the_category_that_it_reports_where_the_code_has_none() -> None:
    odd = EventCount(code="odd", category="link", total=1, last_time=NOW)
    (counted_event,) = counted([], [odd], "x", NOW)
    assert (counted_event.sequence, counted_event.event.category) == (-1, "link")


def stream(fleet: Fleet, bench: Bench, numbers: EventNumbers, *events: ErrorEvent) -> None:
    """A new stream of node `a` up to its first tick."""
    key = bench.targets["a"].key
    source = fleet.source(key)
    assert source is not None
    source.start_stream()
    shot = machines.snapshot(machines.view(3), events=events, time=bench.clock.wall())
    for message, size in FrameReader(1 << 20).feed(context_bytes(shot, numbers)):
        fleet.accept(key, message, size)


def test_reconnections_bring_what_is_new_and_nothing_twice() -> None:
    bench = Bench("a")
    numbers = EventNumbers()
    stream(bench.fleet, bench, numbers, fault(NOW - 50))
    bench.clock.advance(60)
    stream(bench.fleet, bench, numbers, fault(NOW - 50), fault(NOW + 30))
    bench.clock.advance(60)
    stream(bench.fleet, bench, EventNumbers(), fault(NOW - 50), fault(NOW + 30))
    found = bench.fleet.events.of("a")
    assert [noted.event.time for noted in found] == [NOW - 50, NOW + 30]
    assert found[0].name == "nvidia3"


def test_times_of_a_node_with_a_wrong_clock_are_moved() -> None:
    bench = Bench("a")
    key = bench.targets["a"].key
    source = bench.fleet.source(key)
    assert source is not None
    source.start_stream()
    shot = machines.snapshot(
        machines.view(3), events=(fault(NOW + 86_400 - 20),), time=NOW + 86_400
    )
    for message, size in FrameReader(1 << 20).feed(context_bytes(shot, EventNumbers())):
        bench.fleet.accept(key, message, size)
    assert [noted.event.time for noted in bench.fleet.events.of("a")] == [NOW - 20]


def count(total: int, last_time: float, code: str = "xid_79") -> EventCount:
    return EventCount(code=code, category="bus", total=total, last_time=last_time)


def test_a_polled_node_s_counters_report_events() -> None:
    bench = Bench("a")
    key = bench.targets["a"].key
    old = count(3, NOW - 5000)
    bench.fleet.read(key, [machines.view(3, event_counts=(old,))], None, 5.0)
    assert len(bench.fleet.events) == 0
    bench.fleet.read(key, [machines.view(3, event_counts=(count(4, NOW - 1),))], None, 5.0)
    (noted,) = bench.fleet.events.of("a")
    assert (noted.event.time, noted.name) == (NOW - 1, "nvidia3")


def test_a_counter_that_grows_twice_at_one_time_is_two_events() -> None:
    bench = Bench("a")
    key = bench.targets["a"].key
    for total, last_time in ((3, NOW - 5000), (4, NOW - 1), (5, NOW - 0.9)):
        views = [machines.view(3, event_counts=(count(total, last_time),))]
        bench.fleet.read(key, views, None, 5.0)
    times = [noted.event.time for noted in bench.fleet.events.of("a")]
    assert times == [NOW - 1, NOW - 0.9]


@pytest.mark.parametrize("last_time", [NOW - 500, NOW - 5, NOW + 60])
def test_what_a_counter_counted_in_the_last_minutes_is_an_event_on_the_first_read(
    last_time: float,
) -> None:
    bench = Bench("a")
    key = bench.targets["a"].key
    views = [machines.view(3, event_counts=(count(3, last_time),))]
    bench.fleet.read(key, views, None, 5.0)
    (noted,) = bench.fleet.events.of("a")
    assert (noted.event.code, noted.event.time) == ("xid_79", last_time)
    bench.fleet.read(key, [], None, 5.0)
    bench.fleet.read(key, views, None, 5.0)
    assert len(bench.fleet.events) == 1


@pytest.mark.parametrize("last_time", [0.0, NOW - 601, NOW - 600, NOW + 600, NOW + 5000])
def test_what_is_long_gone_or_of_no_time_is_no_event_on_the_first_read(last_time: float) -> None:
    bench = Bench("a")
    views = [machines.view(3, event_counts=(count(3, last_time),))]
    bench.fleet.read(bench.targets["a"].key, views, None, 5.0)
    assert len(bench.fleet.events) == 0


def test_a_counter_that_has_counted_nothing_reports_no_event() -> None:
    bench = Bench("a")
    views = [machines.view(3, event_counts=(count(0, NOW - 5),))]
    bench.fleet.read(bench.targets["a"].key, views, None, 5.0)
    assert len(bench.fleet.events) == 0


def test_a_counter_that_is_known_does_not_hide_the_next() -> None:
    telling = Telling()
    known = (-3, fault(NOW, source="counter"))
    telling.report("n1", known)
    telling.report("n1", known, (-3, fault(NOW, source="counter", code="xid_48")))
    assert [noted.event.code for noted in telling.log.of("n1")] == ["xid_79", "xid_48"]


def test_counters_of_two_devices_with_one_total_are_two_events() -> None:
    """The number that a counter's event goes by is its total, which says nothing of the device."""
    bench = Bench("a")
    key = bench.targets["a"].key

    def read(*totals: int) -> None:
        views = [
            machines.view(index, event_counts=(count(total, NOW - 100 + index),))
            for index, total in enumerate(totals)
            if total
        ]
        bench.fleet.read(key, [machines.view(9), *views], None, 5.0)

    read(1, 0)
    read(1, 1)
    assert [noted.name for noted in bench.fleet.events.of("a")] == ["nvidia0", "nvidia1"]
