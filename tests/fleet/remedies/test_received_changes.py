"""What the engine is told of nodes: what has changed at once, and the rest often enough to be fresh."""

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


class Heard:
    """Node `a`, and what is told of it."""

    def __init__(self) -> None:
        self.site = TwoNodes()
        source = self.site.fleet.source(self.site.keys["a"])
        assert source is not None
        self.source = source
        source.host_name, source.boot_id = "a.example", "boot-1"
        self.hearing = NodeStatusReader(self.site.fleet)
        self.troubled: set[str] = set()
        self.ceiling = "resume"

    def after(self, seconds: float, *views: DeviceView) -> NodeStatus | None:
        self.site.clock.advance(seconds)
        now = self.site.clock.wall()
        self.site.tell("a", *(views or (view(0, sample_time=now), view(1, sample_time=now))))
        node = self.site.fleet.nodes["a"]
        told = self.hearing.changed_status(node, self.troubled, self.ceiling)
        whole = NodeStatusReader(self.site.fleet).status_of(node, self.troubled, self.ceiling)
        assert told is None or told == whole, "what is kept of it is as if it were asked for now"
        return told


def test_what_is_as_before_is_told_again_in_time_to_be_fresh() -> None:
    heard = Heard()
    assert heard.after(0.0) is not None
    assert heard.after(5.0) is None
    assert heard.after(AGAIN_S - 6.0) is None
    assert heard.after(1.0) is not None
    assert heard.after(5.0) is None
    assert min(FRESH_S, GAP_S) / 2 > AGAIN_S


def test_what_is_as_before_is_told_again_when_the_hub_s_clock_was_set_back() -> None:
    heard = Heard()
    assert heard.after(0.0) is not None
    heard.site.clock.step_wall(-3600.0)
    assert heard.after(1.0) is not None
    assert heard.after(1.0) is None


def test_whatever_is_another_is_told_at_once() -> None:
    heard = Heard()
    first = heard.after(0.0)
    assert first is not None
    assert (first.healthy, set(first.serials)) == (True, {"nvidia0", "nvidia1"})
    heard.troubled.add("a")
    assert (told := heard.after(1.0)) is not None
    assert told.healthy is False
    heard.ceiling = "observe"
    assert (told := heard.after(1.0)) is not None
    assert told.ceiling == "observe"
    heard.source.boot_id = "boot-2"
    assert (told := heard.after(1.0)) is not None
    assert (told.boot_id, told.generation != first.generation) == ("boot-2", True)
    assert heard.after(1.0) is None


def test_another_board_another_label_and_a_device_that_is_ill_are_told_at_once() -> None:
    heard = Heard()
    before = heard.after(0.0)
    assert before is not None
    now = heard.site.clock.wall() + 1.0
    other = machines.device(1, serial="another", uuid="GPU-another")
    exchanged = view(0, sample_time=now), view(1, device=other, sample_time=now)
    assert (told := heard.after(1.0, *exchanged)) is not None
    assert told.serials["nvidia1"] == "another"
    assert told.generation != before.generation
    ill = view(0, state=DeviceState.LOST, sample_time=now + 1), exchanged[1]
    assert (told := heard.after(1.0, *ill)) is not None
    assert told.healthy is False
    moved = targets_of(["a"], {"rack": "r9"})
    heard.site.fleet.set_targets([*moved, heard.site.targets[1]])
    assert (told := heard.after(1.0, *ill)) is not None
    assert told.rack == "r9"


def test_a_node_that_is_gone_is_forgotten_and_news_when_it_comes_back() -> None:
    heard = Heard()
    assert heard.after(0.0) is not None
    heard.hearing.forget_others(["b"])
    assert heard.after(1.0) is not None


def test_a_node_has_turned_when_it_falls_silent_and_when_it_speaks_again() -> None:
    heard = Heard()
    node = heard.site.fleet.nodes["a"]
    assert not heard.hearing.has_turned(node), "nothing was told of it yet"
    first = heard.after(0.0)
    assert first is not None
    heard.site.clock.advance(LEAST_SILENCE_S)
    assert not heard.hearing.has_turned(node)
    heard.site.clock.advance(0.1)
    assert heard.hearing.has_turned(node)
    told = heard.hearing.changed_status(node, (), "resume")
    assert told is not None
    assert (told.late, told.down) == (True, False)
    assert not heard.hearing.has_turned(node)
    back = heard.after(0.1)
    assert back is not None
    assert (back.late, back.generation) == (False, first.generation), "the same boot and hardware"


def test_one_that_tells_of_itself_seldom_is_given_two_of_its_intervals() -> None:
    heard = Heard()
    heard.after(0.0)
    heard.source.interval_s = 10.0
    heard.site.clock.advance(19.9)
    assert not heard.hearing.has_turned(heard.site.fleet.nodes["a"])
    heard.site.clock.advance(0.2)
    assert heard.hearing.has_turned(heard.site.fleet.nodes["a"])


def test_a_device_whose_own_source_is_silent_is_named_while_another_source_speaks() -> None:
    bench = Bench("a")
    agent, exporter = targets_of(["a", "a:9400"])
    bench.fleet.set_targets([agent, exporter])
    hearing, node = NodeStatusReader(bench.fleet), bench.fleet.nodes["a"]
    first, second = machines.device(0).id, machines.device(1).id

    def tell(key: str, index: int, interval_s: float) -> None:
        bench.fleet.read(key, [view(index)], bench.clock.wall(), interval_s)

    tell(agent.key, 0, 1.0)
    tell(exporter.key, 1, 5.0)
    assert hearing.status_of(node, (), "resume").late_devices == ()
    bench.clock.advance(10.0)
    tell(agent.key, 0, 1.0)
    assert not hearing.has_turned(node)
    bench.clock.advance(1.0)
    tell(agent.key, 0, 1.0)
    assert hearing.has_turned(node)
    told = hearing.status_of(node, (), "resume")
    assert (told.late, told.late_devices) == (False, (second,))
    tell(exporter.key, 1, 5.0)
    bench.clock.advance(2.1)
    assert hearing.status_of(node, (), "resume").late_devices == (first,)


def test_that_a_node_is_given_up_is_told_at_once_and_that_it_is_back_as_well() -> None:
    heard = Heard()
    before = heard.after(0.0)
    assert before is not None
    node = heard.site.fleet.nodes["a"]
    heard.site.clock.advance(heard.site.fleet.thresholds.down_s - 1.0)
    heard.hearing.changed_status(node, (), "resume")
    late = heard.hearing.status_of(node, (), "resume")
    assert (late.down, late.healthy, late.time) == (False, None, before.time)
    heard.site.clock.advance(10 * heard.site.fleet.thresholds.down_s)
    told = heard.hearing.changed_status(node, (), "resume")
    assert told is not None
    assert (told.down, told.healthy, told.time) == (True, None, before.time)
    back = heard.after(1.0)
    assert back is not None
    assert not back.down
