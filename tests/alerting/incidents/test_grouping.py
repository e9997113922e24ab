"""Many at once are one incident: from how many on, within which time, until all is calm."""

import dataclasses
import itertools

import pytest

from accelwatch.alerting.incidents.incident_manager import IncidentManager
from accelwatch.alerting.incidents.model.incident import (
    Facts,
    Incident,
    TimelineKind,
)
from accelwatch.alerting.rules.document import Advice
from accelwatch.alerting.rules.rule import Grouping
from accelwatch.alerting.rules.timing import Transition
from accelwatch.alerting.rules.verdict import (
    Entity,
)
from alerting.incidents.incident_rules import START, change, device, rule

FIRED, CLEARED = Transition.FIRED, Transition.CLEARED
RACK = Grouping(by="rack", at_least=3, within_s=300.0, calm_s=600.0)


def facts(entity: Entity) -> Facts:
    """Nodes n1 to n9 stand in rack r1, the others in r2; n100 stands nowhere."""
    if entity.node == "n100":
        return Facts(model="H100")
    rack = "r1" if len(entity.node) == 2 else "r2"
    return Facts(
        model="H100",
        driver_version="590.48",
        labels={"rack": rack, "pdu": "p1"},
        jobs=(f"job-{entity.node}",),
    )


def manager(group: Grouping = RACK, incidents: tuple[Incident, ...] = ()) -> IncidentManager:
    numbers = itertools.count(1 + len(incidents))
    rules = {"gpu.lost": rule(group=group)}
    return IncidentManager(rules, facts, lambda: f"i{next(numbers)}", incidents)


def fire(kept: IncidentManager, at_s: float, *nodes: str) -> list[Incident]:
    return kept.step([change(FIRED, at_s, entity=device(node)) for node in nodes], START + at_s)


def clear(kept: IncidentManager, at_s: float, *nodes: str) -> list[Incident]:
    return kept.step([change(CLEARED, at_s, entity=device(node)) for node in nodes], START + at_s)


def groups(incidents: list[Incident]) -> list[Incident]:
    return [one for one in incidents if one.entity.group]


def test_two_of_a_rack_are_two_incidents() -> None:
    assert groups(fire(manager(), 0, "n1", "n2")) == []


def test_three_of_a_rack_are_one_incident_and_its_members() -> None:
    kept = manager()
    fire(kept, 0, "n1", "n2")
    changed = fire(kept, 60, "n3")
    (group,) = groups(changed)
    assert group.entity.group == "rack=r1"
    assert group.title == "Title of gpu.lost: 3 nodes at once, rack r1"
    assert group.nodes == ("n1", "n2", "n3")
    assert group.members == ("i1", "i2", "i3")
    assert group.advice is Advice.WAIT
    assert group.facts.labels == {"rack": "r1", "pdu": "p1"}
    assert group.facts.jobs == ("job-n1", "job-n2", "job-n3")
    assert {one.group for one in changed if not one.entity.group} == {group.id}


@pytest.mark.parametrize(
    ("advice", "expected"),
    [(Advice.REBOOT, "look for one cause"), (Advice.WAIT, "reboot the node")],
)
def test_what_to_do_is_the_rules_where_it_looks_for_a_cause(advice: Advice, expected: str) -> None:
    grouped = dataclasses.replace(rule(group=RACK), advice=advice)
    numbers = itertools.count(1)
    kept = IncidentManager({"gpu.lost": grouped}, facts, lambda: f"i{next(numbers)}")
    (group,) = groups(fire(kept, 0, "n1", "n2", "n3"))
    assert group.what_to_do.startswith(expected)


def test_what_to_do_about_many_may_be_something_else_than_about_one() -> None:
    many = dataclasses.replace(RACK, what_to_do="look at the switch")
    grouped = dataclasses.replace(rule(group=many), advice=Advice.NONE)
    numbers = itertools.count(1)
    kept = IncidentManager({"gpu.lost": grouped}, facts, lambda: f"i{next(numbers)}")
    (group,) = groups(fire(kept, 0, "n1", "n2", "n3"))
    assert group.what_to_do == "look at the switch"


def test_those_of_another_rack_do_not_count() -> None:
    kept = manager()
    assert groups(fire(kept, 0, "n1", "n2", "n11", "n12")) == []


def test_who_stands_nowhere_does_not_count() -> None:
    assert groups(fire(manager(), 0, "n1", "n2", "n100")) == []


@pytest.mark.parametrize(("later_s", "one"), [(300, True), (301, False)])
def test_they_count_within_a_span_only(later_s: float, one: bool) -> None:
    kept = manager()
    fire(kept, 0, "n1", "n2")
    assert bool(groups(fire(kept, later_s, "n3"))) is one


def test_those_that_are_over_do_not_count() -> None:
    kept = manager()
    fire(kept, 0, "n1", "n2")
    clear(kept, 10, "n1")
    assert groups(fire(kept, 20, "n3")) == []


def test_two_devices_of_a_node_are_two_of_a_group_over_the_fleet() -> None:
    kept = manager(Grouping(by="fleet", at_least=2, within_s=60.0, calm_s=60.0))
    changes = [change(FIRED, 0, entity=device("n1", number)) for number in (0, 1)]
    (group,) = groups(kept.step(changes, START))
    assert group.entity.group == "fleet"
    assert group.nodes == ("n1",)
    assert group.title == "Title of gpu.lost: 2 devices at once"


def test_a_driver_can_be_what_they_share() -> None:
    kept = manager(Grouping(by="driver_version", at_least=2, within_s=60.0, calm_s=60.0))
    (group,) = groups(fire(kept, 0, "n1", "n11"))
    assert group.entity.group == "driver_version=590.48"
    assert group.title == "Title of gpu.lost: 2 nodes at once, driver version 590.48"
    assert group.facts.driver_version == "590.48"


def test_a_label_can_be_what_they_share() -> None:
    kept = manager(Grouping(by="labels.pdu", at_least=2, within_s=60.0, calm_s=60.0))
    (group,) = groups(fire(kept, 0, "n1", "n11"))
    assert group.entity.group == "labels.pdu=p1"
    assert group.title == "Title of gpu.lost: 2 nodes at once, pdu p1"


def test_a_group_grows_beyond_its_span() -> None:
    kept = manager()
    fire(kept, 0, "n1", "n2", "n3")
    (group,) = groups(fire(kept, 2000, "n4"))
    assert group.nodes == ("n1", "n2", "n3", "n4")
    assert group.timeline[-1].kind is TimelineKind.GREW
    assert group.title == "Title of gpu.lost: 4 nodes at once, rack r1"
    assert groups(kept.step([], START + 2001)) == []


def test_thirty_nodes_at_once_are_one_group() -> None:
    kept = manager(Grouping(by="fleet", at_least=3, within_s=60.0, calm_s=60.0))
    changed = fire(kept, 0, *(f"n{at}" for at in range(30)))
    assert len(groups(changed)) == 1
    assert len(groups(changed)[0].members) == 30


def test_it_is_over_when_all_has_been_calm_for_long_enough() -> None:
    kept = manager()
    fire(kept, 0, "n1", "n2", "n3")
    assert groups(clear(kept, 100, "n1", "n2", "n3")) == []
    assert groups(kept.step([], START + 699)) == []
    (group,) = groups(kept.step([], START + 700))
    assert not group.is_open
    assert kept.open == []


def test_a_relapse_starts_the_calm_anew() -> None:
    kept = manager()
    fire(kept, 0, "n1", "n2", "n3")
    clear(kept, 100, "n1", "n2", "n3")
    fire(kept, 400, "n2")
    clear(kept, 450, "n2")
    assert groups(kept.step([], START + 1000)) == []
    assert len(groups(kept.step([], START + 1050))) == 1


def test_one_that_stays_keeps_the_group_open() -> None:
    kept = manager()
    fire(kept, 0, "n1", "n2", "n3")
    clear(kept, 100, "n1", "n2")
    assert groups(kept.step([], START + 5000)) == []


def test_one_that_started_long_before_and_is_no_part_of_it_does_not_keep_it_open() -> None:
    kept = manager()
    fire(kept, 0, "n9")
    (group,) = groups(fire(kept, 4000, "n1", "n2", "n3"))
    assert group.nodes == ("n1", "n2", "n3")
    clear(kept, 4100, "n1", "n2", "n3")
    (group,) = groups(kept.step([], START + 4700))
    assert not group.is_open
    assert [one.entity.node for one in kept.open] == ["n9"]


def test_a_person_can_close_it() -> None:
    kept = manager()
    (group,) = groups(fire(kept, 0, "n1", "n2", "n3"))
    closed = kept.close(group.id, START + 5, "operator", "known")
    assert closed is not None
    assert not closed.is_open
    assert kept.close(group.id, START + 6, "operator", "known") is None


def test_a_member_that_a_person_closes_does_not_keep_it_open() -> None:
    kept = manager()
    (group,) = groups(fire(kept, 0, "n1", "n2", "n3"))
    clear(kept, 100, "n1", "n2")
    assert kept.close(group.members[2], START + 200, "operator", "known") is not None
    assert groups(kept.step([], START + 201)) == []
    assert [one.is_open for one in groups(kept.step([], START + 801))] == [False]


def test_a_group_goes_on_after_a_restart() -> None:
    first = manager()
    fire(first, 0, "n1", "n2", "n3")
    again = manager(incidents=tuple(first.open))
    (group,) = groups(fire(again, 60, "n4"))
    assert group.members == ("i1", "i2", "i3", "i5")
    assert len(groups(again.open)) == 1


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_a_clock_that_is_set_makes_no_group_and_ends_none(jump_s: float) -> None:
    kept = manager()
    kept.step([change(FIRED, 0, entity=device(node)) for node in ("n1", "n2")], START, 0.0)
    late = START + 301 + jump_s
    third = [change(FIRED, 301 + jump_s, entity=device("n3"))]
    assert groups(kept.step(third, late, 301.0)) == []
    at_once = [change(FIRED, 302 + jump_s, entity=device(node)) for node in ("n4", "n5")]
    (group,) = groups(kept.step(at_once, late + 1, 302.0))
    nodes = ("n1", "n2", "n3", "n4", "n5")
    over = [change(CLEARED, 310, entity=device(node)) for node in nodes]
    kept.step(over, START + 310, 310.0)
    assert groups(kept.step([], START + 320 + jump_s, 320.0)) == []
    (closed,) = groups(kept.step([], START + 400, 911.0))
    assert (closed.id, closed.is_open) == (group.id, False)


def test_a_restored_group_waits_for_members_that_are_open() -> None:
    kept = manager()
    changed = fire(kept, 0, "n1", "n2", "n3")
    before = {one.id: one for one in changed}
    again = manager(incidents=tuple(before.values()))
    clear(again, 10, "n1", "n2")
    assert groups(clear(again, 2000)) == []
    assert len(groups(again.open)) == 1
    clear(again, 2001, "n3")
    assert len(groups(clear(again, 2700))) == 1
