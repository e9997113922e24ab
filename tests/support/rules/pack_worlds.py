"""Snapshots of whole machines as a world that rules are played on."""

from collections.abc import Iterable, Mapping

from accelwatch.alerting.rules.dormancy import Dormancy
from accelwatch.alerting.rules.engine import Engine
from accelwatch.alerting.rules.rule import Rule, needs_of
from accelwatch.alerting.rules.testing.world import Member, World
from accelwatch.alerting.rules.timing import Transition
from accelwatch.expr.vocabulary.kleene import MISSING
from accelwatch.expr.vocabulary.names import IDENTITY
from accelwatch.node.query.lookup import lookup
from accelwatch.schema.metrics import Series
from accelwatch.schema.snapshot import DeviceView, Snapshot
from support.rules.observed_worlds import observed

RACK = "r1"


def played(
    rules: Mapping[str, Rule], shots: Iterable[tuple[float, list[Snapshot]]], interval_s: float
) -> dict[str, set[str]]:
    """Which rules fire over snapshots of nodes at their moments, and for whom."""
    needs = needs_of(rules.values())
    world: World | None = None
    engine, dormancy = Engine(rules), Dormancy(rules)
    reported: set[Series] = set()
    fired: dict[str, set[str]] = {}
    for at, (now, snapshots) in enumerate(shots):
        members = [one for shot in snapshots for one in _members(shot)]
        if world is None:
            world = World(needs, interval_s, members)
            world.engine = engine
        for member in members:
            world.members[member.node, member.device].values = member.values
        world.tick(now)
        for shot in snapshots if at == 0 else ():
            for event in shot.events:
                world.add_event(shot.host, event)
        awake = dormancy.awake(observed(world, needs.series, reported))
        for change in engine.step(world.subjects(), now, now, awake):
            if change.transition is Transition.FIRED:
                fired.setdefault(change.rule, set()).add(str(change.entity))
    return fired


def _members(shot: Snapshot) -> Iterable[Member]:
    for view in shot.devices:
        yield _member(shot.host, view.device.name, view)
    if shot.node is not None:
        yield _member(shot.host, "", shot.node)


def _member(node: str, name: str, view: DeviceView) -> Member:
    ask = lookup(view, node)
    fields = {key: word for key in IDENTITY if (word := ask(key)) is not MISSING}
    if view.health_reasons:
        fields["health_reason"] = "; ".join(view.health_reasons)
    jobs = [owner.job_id for owner in view.owners if owner.job_id]
    owners = {"job": jobs[0]} if jobs else {}
    values: dict[Series, float] = dict(view.reading.values)
    whole = {**fields, **owners, "labels.rack": RACK}
    return Member(node=node, device=name, fields=whole, values=values)
