"""A rule part by part, also where it is not true."""

import math

from accelwatch.expr import MISSING, UNKNOWN, Key
from accelwatch.expr.cost import Cost
from accelwatch.expr.evaluation_context import EvaluationContext
from accelwatch.expr.explain import Component, explain
from accelwatch.expr.rule import compile_rule
from accelwatch.expr.rule_history import HOST, RuleHistory
from accelwatch.expr.vocabulary.kleene import Lookup
from accelwatch.schema.metrics import Series
from support.rules.rule_worlds import NOW, World

POWER = ("power_watts",)


class Reasoned:
    """A device of which it is known why there is no value."""

    def __init__(self, world: World, share: float | None) -> None:
        self._row = world.rows[0]
        self._share = share
        self.now = self._row.now
        self.lookup = self._row.lookup
        self.window = self._row.window
        self.last = self._row.last
        self.occurrences = self._row.occurrences
        self.group = self._row.group
        self.firing = self._row.firing

    def coverage(self, key: Series, seconds: int, *, of_job: bool = False) -> float | None:
        return self._share

    def absence(self, key: Key) -> str:
        return "stale"


def explained(text: str, world: World, share: float | None = None) -> list[Component]:
    return explain(text, compile_rule(text).tree, Reasoned(world, share))


def test_every_part_has_its_value_and_truth() -> None:
    world = World(1, numbers={POWER: [300.0]}, texts={"vendor": ["amd"]})
    parts = explained('power_watts > 500 and vendor == "amd"', world)
    assert [(one.depth, one.text, one.value, one.truth) for one in parts] == [
        (0, 'power_watts > 500 and vendor == "amd"', False, False),
        (1, "power_watts > 500", False, False),
        (2, "power_watts", 300.0, None),
        (1, 'vendor == "amd"', True, True),
        (2, "vendor", "amd", None),
    ]
    assert not any(one.reason for one in parts)


def test_a_window_says_how_much_of_it_there_is() -> None:
    parts = explained('avg(power_watts, "5m") < 100', World(1), 0.41)
    assert [(one.text, one.value, one.truth, one.reason) for one in parts] == [
        ('avg(power_watts, "5m") < 100', MISSING, UNKNOWN, "not known: power_watts avg"),
        (
            'avg(power_watts, "5m")',
            MISSING,
            None,
            "power_watts avg 5m has 41% of its samples; now stale",
        ),
    ]
    assert explained('avg(power_watts, "5m") < 1', World(1))[1].reason == (
        "power_watts avg 5m: there never was a value, stale"
    )
    assert explained('rate(resets_total, "5m") < 1', World(1), 0.9)[1].reason == (
        "resets_total rate 5m has no value yet"
    )


def test_why_a_part_is_not_known() -> None:
    world = World(
        4,
        numbers={POWER: [None, 1.0, 2.0, None]},
        groups={"node": [0, 0, 0, 0], "job": [None] * 4},
    )
    assert explained('event("xid")', world)[0].reason == (
        "whether there was such a xid event is not known"
    )
    assert explained("1 / (power_watts - 1) > 1", World(1, numbers={POWER: [1.0]}))[1].reason == (
        "the result is not a number"
    )
    assert explained("node.share(power_watts > 5) > 1", world)[1].reason == ""
    assert explained("power_watts > 1", world)[1].reason == "power_watts has no value: stale"
    of_peers = explained('peer_median(power_watts, by="node") > 1', world)[1].reason
    assert of_peers == "2 of the 4 devices of its node have a value; 3 others must"
    own = World(4, numbers={POWER: [None, 1.0, 2.0, 3.0]}, groups={"node": [0, 0, 0, 0]})
    assert explained('peer_z(power_watts, by="node") > 1', own)[1].reason == (
        "its own value is missing"
    )
    assert explained('peer_z(power_watts, by="job") > 1', world)[1].reason == "it belongs to no job"


def test_the_whole_names_what_is_not_known() -> None:
    text = (
        'power_watts in [index, 1] and (peer_z(index, by="job") > 3 or node.share(index > 1) > 0)'
        ' and last("boot") > 1 and peers_affected("a", by="rack") > 1'
    )
    groups: dict[str, list[int | None]] = {"node": [0], "job": [None], "rack": [0]}
    assert explained(text, World(1, numbers={POWER: [2.0]}, groups=groups))[0].reason == (
        "not known: index, peer_z by job, node.share, host_uptime_seconds, peers_affected by rack"
    )


def test_an_unknown_boot_names_the_uptime() -> None:
    whole, part = explained('since("boot") < 5', World(1))
    assert part.text == 'since("boot")'
    assert part.reason == "host_uptime_seconds has no value: stale"
    assert whole.reason == "not known: host_uptime_seconds"


def test_an_event_that_never_was_is_no_unknown_event() -> None:
    rule = compile_rule('since("xid") < 5')
    (need,) = rule.needs.events
    world = World(1, lasts={need.pattern: [-math.inf]})
    assert explained('since("xid") < 5', world)[1].reason == "no such xid event was seen"


def test_an_agent_says_how_much_of_a_window_there_is() -> None:
    text = 'avg(power_watts, "5m") < 100'
    rule = compile_rule(text)
    keeper = RuleHistory(rule.needs, 1.0)
    lookups: dict[str, Lookup] = {HOST: lambda key: MISSING, "gpu0": lambda key: 50.0}
    for at in range(1000, 1124):
        keeper.sample(float(at), "gpu0", lookups["gpu0"])
    context = EvaluationContext(keeper, lookups, at=1123.0, now=NOW)
    parts = explain(text, rule.tree, context.members[0])
    assert parts[1].reason == "power_watts avg 5m has 41% of its samples"


def test_cost_is_counted() -> None:
    cost = Cost()
    assert cost.mean_ns == 0.0
    cost.add(900)
    assert (cost.evaluations, cost.mean_ns) == (1, 900.0)
    cost.add(8_100, 8)
    assert (cost.evaluations, cost.mean_ns) == (9, 1000.0)
