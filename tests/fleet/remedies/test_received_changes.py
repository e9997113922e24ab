"""What the engine receives of nodes: what has changed at once, and the rest often enough to be fresh."""

from accelwatch.alerting.rules.timing import LEAST_SILENCE_S
from accelwatch.fleet.remedies.node_status import AGAIN_S, NodeStatusReader
from accelwatch.fleet.target import targets_of
from accelwatch.remediation.policy.state.clocks import FRESH_S, GAP_S
from accelwatch.remediation.policy.state.world import NodeStatus
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import DeviceView
from support.fleet.manual_fleet import Bench
from support.fleet.two_nodes import TwoNodes, view
from support.machines import composed as machines


class NodeChanges:
    """Node `a`, and what is published of it."""

    def __init__(self) -> None:
        self.site = TwoNodes()
        source = self.site.fleet.source(self.site.keys["a"])
        assert source is not None
        self.source = source
        source.host_name, source.boot_id = "a.example", "boot-1"
        self.reader = NodeStatusReader(self.site.fleet)
        self.troubled: set[str] = set()
        self.ceiling = "resume"

    def after(self, seconds: float, *views: DeviceView) -> NodeStatus | None:
        self.site.clock.advance(seconds)
        now = self.site.clock.wall()
        self.site.report("a", *(views or (view(0, sample_time=now), view(1, sample_time=now))))
        node = self.site.fleet.nodes["a"]
        status = self.reader.changed_status(node, self.troubled, self.ceiling)
        whole = NodeStatusReader(self.site.fleet).status_of(node, self.troubled, self.ceiling)
        assert status is None or status == whole, (
            "what is kept of it is as if it were asked for now"
        )
        return status


def test_what_is_as_before_is_published_again_in_time_to_be_fresh() -> None:
    changes = NodeChanges()
    assert changes.after(0.0) is not None
    assert changes.after(5.0) is None
    assert changes.after(AGAIN_S - 6.0) is None
    assert changes.after(1.0) is not None
    assert changes.after(5.0) is None
    assert min(FRESH_S, GAP_S) / 2 > AGAIN_S


def test_what_is_as_before_is_published_again_when_the_hub_s_clock_was_set_back() -> None:
    changes = NodeChanges()
    assert changes.after(0.0) is not None
    changes.site.clock.step_wall(-3600.0)
    assert changes.after(1.0) is not None
    assert changes.after(1.0) is None


def test_whatever_is_another_is_published_at_once() -> None:
    changes = NodeChanges()
    first = changes.after(0.0)
    assert first is not None
    assert (first.healthy, set(first.serials)) == (True, {"nvidia0", "nvidia1"})
    changes.troubled.add("a")
    assert (status := changes.after(1.0)) is not None
    assert status.healthy is False
    changes.ceiling = "observe"
    assert (status := changes.after(1.0)) is not None
    assert status.ceiling == "observe"
    changes.source.boot_id = "boot-2"
    assert (status := changes.after(1.0)) is not None
    assert (status.boot_id, status.generation != first.generation) == ("boot-2", True)
    assert changes.after(1.0) is None


def test_another_board_another_label_and_a_device_that_is_ill_are_published_at_once() -> None:
    changes = NodeChanges()
    before = changes.after(0.0)
    assert before is not None
    now = changes.site.clock.wall() + 1.0
    other = machines.device(1, serial="another", uuid="GPU-another")
    exchanged = view(0, sample_time=now), view(1, device=other, sample_time=now)
    assert (status := changes.after(1.0, *exchanged)) is not None
    assert status.serials["nvidia1"] == "another"
    assert status.generation != before.generation
    ill = view(0, state=DeviceState.LOST, sample_time=now + 1), exchanged[1]
    assert (status := changes.after(1.0, *ill)) is not None
    assert status.healthy is False
    moved = targets_of(["a"], {"rack": "r9"})
    changes.site.fleet.set_targets([*moved, changes.site.targets[1]])
    assert (status := changes.after(1.0, *ill)) is not None
    assert status.rack == "r9"


def test_a_node_that_is_gone_is_forgotten_and_news_when_it_comes_back() -> None:
    changes = NodeChanges()
    assert changes.after(0.0) is not None
    changes.reader.forget_others(["b"])
    assert changes.after(1.0) is not None


def test_a_node_has_turned_when_it_falls_silent_and_when_it_speaks_again() -> None:
    changes = NodeChanges()
    node = changes.site.fleet.nodes["a"]
    assert not changes.reader.has_turned(node), "nothing was told of it yet"
    first = changes.after(0.0)
    assert first is not None
    changes.site.clock.advance(LEAST_SILENCE_S)
    assert not changes.reader.has_turned(node)
    changes.site.clock.advance(0.1)
    assert changes.reader.has_turned(node)
    status = changes.reader.changed_status(node, (), "resume")
    assert status is not None
    assert (status.late, status.down) == (True, False)
    assert not changes.reader.has_turned(node)
    back = changes.after(0.1)
    assert back is not None
    assert (back.late, back.generation) == (False, first.generation), "the same boot and hardware"


def test_one_that_reports_seldom_is_given_two_of_its_intervals() -> None:
    changes = NodeChanges()
    changes.after(0.0)
    changes.source.interval_s = 10.0
    changes.site.clock.advance(19.9)
    assert not changes.reader.has_turned(changes.site.fleet.nodes["a"])
    changes.site.clock.advance(0.2)
    assert changes.reader.has_turned(changes.site.fleet.nodes["a"])


def test_a_device_whose_own_source_is_silent_is_named_while_another_source_speaks() -> None:
    bench = Bench("a")
    agent, exporter = targets_of(["a", "a:9400"])
    bench.fleet.set_targets([agent, exporter])
    reader, node = NodeStatusReader(bench.fleet), bench.fleet.nodes["a"]
    first, second = machines.device(0).id, machines.device(1).id

    def report(key: str, index: int, interval_s: float) -> None:
        bench.fleet.read(key, [view(index)], bench.clock.wall(), interval_s)

    report(agent.key, 0, 1.0)
    report(exporter.key, 1, 5.0)
    assert reader.status_of(node, (), "resume").late_devices == ()
    bench.clock.advance(10.0)
    report(agent.key, 0, 1.0)
    assert not reader.has_turned(node)
    bench.clock.advance(1.0)
    report(agent.key, 0, 1.0)
    assert reader.has_turned(node)
    status = reader.status_of(node, (), "resume")
    assert (status.late, status.late_devices) == (False, (second,))
    report(exporter.key, 1, 5.0)
    bench.clock.advance(2.1)
    assert reader.status_of(node, (), "resume").late_devices == (first,)


def test_that_a_node_is_given_up_is_published_at_once_and_that_it_is_back_as_well() -> None:
    changes = NodeChanges()
    before = changes.after(0.0)
    assert before is not None
    node = changes.site.fleet.nodes["a"]
    changes.site.clock.advance(changes.site.fleet.thresholds.down_s - 1.0)
    changes.reader.changed_status(node, (), "resume")
    late = changes.reader.status_of(node, (), "resume")
    assert (late.down, late.healthy, late.time) == (False, None, before.time)
    changes.site.clock.advance(10 * changes.site.fleet.thresholds.down_s)
    status = changes.reader.changed_status(node, (), "resume")
    assert status is not None
    assert (status.down, status.healthy, status.time) == (True, None, before.time)
    back = changes.after(1.0)
    assert back is not None
    assert not back.down
