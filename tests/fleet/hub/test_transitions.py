"""Changes of state as events: each once, never what was active when a node first answered."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.fleet.api.query.events import event_row
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.state.events import NODE_CAPACITY, OWN_CAPACITY, EventLog, Noted
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.state.transitions import Transitions
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import Category, ErrorEvent, severity
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.stream.context import Event
from accelwatch.tui.drawing.glyphs import UNICODE
from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.events.event_lines import event_line
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

NODE = "http://n1:9410"


async def no_rest() -> None:
    """Nobody else wants the loop."""


class Watch:
    """A fleet of one node that is looked at every second, and what was reported of it."""

    def __init__(self, folder: Path | None = None) -> None:
        self.bench = Bench(NODE, folder=folder)
        (self.node,) = self.bench.targets
        self.transitions = Transitions(self.bench.fleet)

    def look(self, seconds: float = 1, *views: DeviceView) -> None:
        """Time goes on by steps of a second; the node reports these devices at each, or nothing."""
        for _ in range(round(seconds)):
            self.bench.clock.advance(1)
            if views:
                self.bench.report(self.node, *views)
            asyncio.run(self.transitions.poll(no_rest))

    def own(self) -> list[Noted]:
        """What the hub recorded itself; the node reports an event too."""
        kept = self.bench.fleet.events.of(self.node)
        return [noted for noted in kept if noted.event.source == "hub"]

    def reported(self) -> list[tuple[str, str]]:
        return [(noted.event.code, noted.name) for noted in self.own()]

    def texts(self) -> list[str]:
        return [noted.event.text for noted in self.own()]


def device(number: int, state: DeviceState = DeviceState.OK) -> DeviceView:
    return machines.view(number, state=state)


WELL = (device(0), device(1))


def name(number: int) -> str:
    return machines.device(number).name


def test_what_is_active_when_a_node_first_answers_is_no_change() -> None:
    watch = Watch()
    watch.look(3, device(0, DeviceState.LOST), device(1))
    assert watch.reported() == []


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (DeviceState.LOST, "device_lost"),
        (DeviceState.UNRESPONSIVE, "device_unresponsive"),
        (DeviceState.DEGRADED, "device_degraded"),
    ],
)
def test_a_device_that_fails_and_is_well_again(state: DeviceState, code: str) -> None:
    watch = Watch()
    watch.look(2, *WELL)
    watch.look(45, device(0), device(1, state))
    assert watch.reported() == [(code, name(1))]
    watch.look(3, *WELL)
    assert watch.reported() == [(code, name(1)), ("device_recovered", name(1))]


@pytest.mark.parametrize("state", [DeviceState.SUSPENDED, DeviceState.EXCLUDED])
def test_sleep_is_neither_a_fault_nor_a_recovery(state: DeviceState) -> None:
    watch = Watch()
    watch.look(2, *WELL)
    watch.look(2, device(0), device(1, state))
    assert watch.reported() == []
    watch.look(2, device(0), device(1, DeviceState.LOST))
    watch.look(2, device(0), device(1, state))
    assert watch.reported() == [("device_lost", name(1))]


def test_a_worse_state_is_reported_and_the_recovery_counts_from_the_start() -> None:
    watch = Watch()
    watch.look(2, *WELL)
    watch.look(30, device(0), device(1, DeviceState.UNRESPONSIVE))
    watch.look(30, device(0), device(1, DeviceState.LOST))
    watch.look(1, *WELL)
    codes = [code for code, _ in watch.reported()]
    assert codes == ["device_unresponsive", "device_lost", "device_recovered"]
    (started, *_, ended) = [noted.event.time for noted in watch.own()]
    assert "lost for " in watch.texts()[-1]
    assert ended - started >= 60


def test_a_device_that_is_gone_is_reported_after_a_while_and_when_it_is_back() -> None:
    watch = Watch()
    watch.look(2, *WELL)
    watch.look(4, device(0))
    assert watch.reported() == [], "an agent that starts again finds its devices one by one"
    watch.look(26, device(0))
    assert watch.reported() == [("device_missing", name(1))]
    watch.look(2, *WELL)
    assert watch.reported()[1:] == [("device_recovered", name(1))]
    assert watch.texts()[-1] == "the device is healthy again, missing for 30 s"


def test_a_device_that_comes_back_in_time_was_never_missing() -> None:
    watch = Watch()
    watch.look(2, *WELL)
    watch.look(3, device(0))
    watch.look(9, *WELL)
    assert watch.reported() == []


def test_an_acknowledged_device_does_not_recover() -> None:
    watch = Watch()
    watch.look(2, *WELL)
    watch.look(9, device(0))
    asyncio.run(watch.bench.fleet.acknowledge(watch.node))
    watch.look(2, device(0))
    assert [code for code, _ in watch.reported()] == ["device_missing"]


def test_a_silent_node_is_reported_once_and_its_devices_not_at_all() -> None:
    watch = Watch()
    watch.look(2, *WELL)
    watch.look(90)
    assert watch.reported() == [("node_stale", ""), ("node_down", "")]
    watch.look(2, *WELL)
    assert watch.reported()[2:] == [("node_recovered", "")]
    assert watch.texts()[-1] == "the node answers again after 91 s"


def test_a_node_that_is_only_stale_by_other_thresholds_did_not_answer() -> None:
    watch = Watch()
    watch.look(2, *WELL)
    watch.look(90)
    reported = watch.reported()
    watch.bench.fleet.thresholds = Thresholds(slow_s=2.5, stale_s=10, down_s=300)
    watch.look(1)
    assert watch.bench.state(watch.node) == "stale"
    assert watch.reported() == reported == [("node_stale", ""), ("node_down", "")]


def test_why_a_node_is_down_is_one_keyword() -> None:
    watch = Watch()
    watch.look(2, *WELL)
    fault = TargetFault(Reason.CONNECT, "http://user:secret@n1:9410 refused")
    watch.bench.fleet.fail(watch.bench.targets[watch.node].key, fault)
    watch.look(20)
    assert watch.reported()[-1] == ("node_down", "")
    assert watch.texts()[-1].endswith(f"({Reason.CONNECT.value})")
    assert "secret" not in watch.texts()[-1]


def test_a_node_that_was_down_before_the_hub_started_is_no_news(tmp_path: Path) -> None:
    first = Watch(tmp_path)
    first.look(2, *WELL)
    asyncio.run(first.bench.fleet.flush())
    first.bench.fleet.close()
    again = Watch(tmp_path)
    again.look(60)
    assert again.bench.state(again.node) == "down"
    again.look(3, *WELL)
    assert again.reported() == []


def test_a_hub_that_slept_does_not_take_its_nodes_for_silent() -> None:
    watch = Watch()
    watch.look(2, *WELL)
    watch.bench.clock.advance(600)
    watch.look(1)
    watch.look(3, *WELL)
    assert watch.reported() == []


def test_a_node_that_nobody_lists_any_more_is_not_down() -> None:
    watch = Watch()
    watch.look(2, *WELL)
    watch.bench.fleet.set_targets([])
    watch.look(60)
    assert watch.reported() == []


def test_recoveries_are_information_and_faults_are_not() -> None:
    def loud(code: str, category: Category) -> str:
        return severity(ErrorEvent(code=code, category=category, time=1, text="", source="hub"))

    assert loud("device_lost", Category.BUS) == "critical"
    assert loud("node_stale", Category.OTHER) == "warning"
    assert loud("device_recovered", Category.OTHER) == "info"
    assert loud("node_recovered", Category.OTHER) == "info"


def test_changes_without_end_push_out_no_event_of_a_node() -> None:
    log = EventLog()

    def event(number: int, source: str) -> ErrorEvent:
        return ErrorEvent(
            code="xid_79" if source == "nvml" else "device_lost",
            category=Category.BUS,
            time=float(number),
            text="",
            source=source,
        )

    events = [Event(sequence=number, event=event(100 * number, "nvml")) for number in range(1, 11)]
    log.record("n1", "a", events, ours=float, name=str, again=False)
    for number in range(500):
        log.note("n1", "gpu0", event(number, "hub"))
    sources = [noted.event.source for noted in log.of("n1")]
    assert (sources.count("nvml"), sources.count("hub")) == (10, OWN_CAPACITY)
    assert len(log) == 10 + OWN_CAPACITY
    more = [Event(sequence=number, event=event(100 * number, "nvml")) for number in range(11, 300)]
    log.record("n1", "a", more, ours=float, name=str, again=False)
    log.note("n1", "gpu0", event(9999, "hub"))
    assert len(log.of("n1")) == NODE_CAPACITY


def test_the_hub_takes_no_event_of_a_node_for_its_own() -> None:
    log = EventLog()
    fault = ErrorEvent(code="device_lost", category=Category.BUS, time=5.0, text="", source="hub")
    log.note("n1", "gpu0", fault)
    log.record("n1", "a", [Event(sequence=1, event=fault)], ours=float, name=str, again=True)
    assert len(log.of("n1")) == 2
    log.forget("n1")
    assert len(log) == 0


def test_the_events_of_a_dashboard_show_a_bad_minute() -> None:
    watch = Watch()
    watch.look(3, *WELL)
    watch.look(60)
    watch.look(2, *WELL)
    started = watch.bench.clock.wall() + 1
    hung = machines.view(1, state=DeviceState.UNRESPONSIVE, state_since=started)
    watch.look(60, device(0), hung)
    watch.look(2, *WELL)
    now = watch.bench.clock.wall()
    lines = [plain(event_line(event_row(noted), 140, now, UNICODE)) for noted in watch.own()]
    for line, words in zip(
        lines,
        (
            ("▲ warning", " stale ", "the node last answered 11 s ago"),
            ("✕ critical", " down ", "the node last answered 31 s ago"),
            ("· info", " back ", "the node answers again after 61 s"),
            ("✕ critical", name(1), "the device is hung"),
            ("· info", name(1), "the device is healthy again, unresponsive for 60 s"),
        ),
        strict=True,
    ):
        for word in words:
            assert word in line
