"""Many nodes at once are one incident above what their rules group by."""

import itertools

import pytest

from accelwatch.alerting.incidents.incident_manager import IncidentManager
from accelwatch.alerting.incidents.model.incident import Facts, Incident
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.rule import Grouping, Rule
from accelwatch.alerting.rules.timing import Transition
from accelwatch.alerting.rules.verdict import Entity
from alerting.incidents.incident_rules import START, change, device, rule

FIRED, CLEARED = Transition.FIRED, Transition.CLEARED
BY_NODE = Grouping(by="node", at_least=4, within_s=120.0, calm_s=600.0)
BY_RACK = Grouping(by="rack", at_least=3, within_s=300.0, calm_s=600.0)
BY_FLEET = Grouping(by="fleet", at_least=50, within_s=300.0, calm_s=600.0)


def racks(entity: Entity) -> Facts:
    """`r1-4` stands in rack r1, `n4` nowhere."""
    rack, _, number = entity.node.partition("-")
    return Facts(labels={"rack": rack} if number else {})


def manager(*rules: Rule, incidents: tuple[Incident, ...] = ()) -> IncidentManager:
    numbers = itertools.count(1 + len(incidents))
    known = {one.id: one for one in rules or (rule(group=BY_NODE),)}
    return IncidentManager(known, racks, lambda: f"i{next(numbers)}", incidents)


def nodes(count: int, rack: str = "") -> list[str]:
    return [f"{rack}-{at}" if rack else f"n{at}" for at in range(count)]


def apply(
    kept: IncidentManager, what: Transition, at_s: float, names: list[str], devices: int = 1
) -> list[Incident]:
    entities = [device(node, number) for node in names for number in range(devices)]
    return kept.step([change(what, at_s, entity=one) for one in entities], START + at_s)


def top(kept: IncidentManager) -> list[Incident]:
    """What is open and part of nothing."""
    return [one for one in kept.open if not one.group]


@pytest.mark.parametrize("devices", [1, 8])
@pytest.mark.parametrize("at_once", [True, False])
def test_thirty_nodes_are_one_however_many_devices_each_has_lost(
    devices: int, *, at_once: bool
) -> None:
    kept = manager()
    for turn in [nodes(30)] if at_once else [[node] for node in nodes(30)]:
        apply(kept, FIRED, 2.0 * int(turn[0][1:]), turn, devices)
    (storm,) = top(kept)
    assert storm.storm
    assert storm.title == "Title of gpu.lost: 30 nodes at once"
    assert storm.nodes == tuple(nodes(30))
    singles = [one for one in kept.open if not one.entity.group]
    assert len(singles) == 30 * devices
    assert {one.group for one in kept.open} == {"", storm.id}


def test_groups_that_would_start_and_end_in_one_tick_are_never_reported() -> None:
    changed = apply(manager(), FIRED, 0, nodes(30), devices=8)
    assert len([one for one in changed if one.entity.group]) == 1


@pytest.mark.parametrize(("count", "expected"), [(9, 0), (10, 1)])
def test_it_takes_ten_nodes(count: int, expected: int) -> None:
    kept = manager(rule())
    apply(kept, FIRED, 0, nodes(count))
    assert sum(one.storm for one in kept.open) == expected


@pytest.mark.parametrize(("later_s", "expected"), [(300, 1), (301, 0)])
def test_they_count_within_five_minutes(later_s: float, expected: int) -> None:
    kept = manager()
    apply(kept, FIRED, 0, nodes(9))
    apply(kept, FIRED, later_s, ["late"])
    assert sum(one.storm for one in kept.open) == expected


def test_many_devices_of_few_nodes_are_none() -> None:
    kept = manager(rule())
    apply(kept, FIRED, 0, nodes(2), devices=8)
    assert len(top(kept)) == 16


def test_what_is_only_noted_makes_none() -> None:
    kept = manager(rule(severity=Severity.INFO))
    apply(kept, FIRED, 0, nodes(30))
    assert len(top(kept)) == 30


def test_rules_of_one_family_count_together() -> None:
    kept = manager(rule("a", family="f"), rule("b", family="f", group=BY_NODE))
    for at, node in enumerate(nodes(10)):
        kept.step([change(FIRED, at, rule_id="ab"[at % 2], entity=device(node))], START + at)
    assert len(top(kept)) == 1


def test_those_of_other_families_do_not_count() -> None:
    kept = manager(rule("a"), rule("b"))
    for at, node in enumerate(nodes(18)):
        kept.step([change(FIRED, at, rule_id="ab"[at % 2], entity=device(node))], START + at)
    assert len(top(kept)) == 18


def test_a_rule_that_groups_over_the_fleet_says_itself_from_when_on() -> None:
    kept = manager(rule(group=BY_FLEET))
    apply(kept, FIRED, 0, nodes(30))
    assert len(top(kept)) == 30


def test_three_of_a_rack_are_one() -> None:
    kept = manager()
    apply(kept, FIRED, 0, nodes(3, "r7"))
    (storm,) = top(kept)
    assert storm.title == "Title of gpu.lost: 3 nodes at once, rack r7"
    assert storm.entity.group == "rack=r7"


def test_three_of_a_rack_with_different_faults_are_three() -> None:
    kept = manager(*(rule(id_, family="f") for id_ in "abc"))
    for id_, node in zip("abc", nodes(3, "r7"), strict=True):
        kept.step([change(FIRED, 0, rule_id=id_, entity=device(node))], START)
    assert len(top(kept)) == 3


def test_most_of_a_rack_and_many_besides_at_once_are_one_of_the_fleet() -> None:
    kept = manager()
    apply(kept, FIRED, 0, [*nodes(16, "r7"), *nodes(14)])
    (storm,) = top(kept)
    assert storm.entity.group == "fleet"
    assert len(storm.nodes) == 30


def test_a_rack_that_has_not_most_of_them_explains_nothing() -> None:
    kept = manager()
    apply(kept, FIRED, 0, [*nodes(3), *nodes(3, "r7")])
    assert len(top(kept)) == 6


def test_the_storm_of_a_rack_that_spreads_stays_the_same_incident() -> None:
    kept = manager()
    apply(kept, FIRED, 0, nodes(7, "r7"))
    (rack,) = top(kept)
    apply(kept, FIRED, 10, nodes(2, "r8"))
    assert len(top(kept)) == 3
    apply(kept, FIRED, 20, ["r9-1"])
    (storm,) = top(kept)
    assert storm.id == rack.id
    assert storm.title == "Title of gpu.lost: 10 nodes at once"
    assert storm.entity.group == "fleet"


def test_a_group_that_a_rule_asks_for_and_that_has_most_is_left_alone() -> None:
    kept = manager(rule(group=BY_RACK))
    apply(kept, FIRED, 0, nodes(12, "r7"))
    (group,) = top(kept)
    assert not group.storm
    assert group.entity.group == "rack=r7"


def test_groups_of_several_racks_become_part_of_one_storm_and_end_with_it() -> None:
    kept = manager(rule(group=BY_RACK))
    for at, rack in enumerate(("r1", "r2", "r3")):
        apply(kept, FIRED, at, nodes(3, rack))
    assert len(top(kept)) == 3
    apply(kept, FIRED, 5, nodes(5, "r4"))
    (storm,) = top(kept)
    assert len(storm.members) == 14
    groups = [one for one in kept.open if one.entity.group and one.group == storm.id]
    assert [one.entity.group for one in groups] == ["rack=r1", "rack=r2", "rack=r3"]
    every = [
        node
        for rack, count in (("r1", 3), ("r2", 3), ("r3", 3), ("r4", 5))
        for node in nodes(count, rack)
    ]
    apply(kept, CLEARED, 100, every)
    kept.step([], START + 101)
    changed = kept.step([], START + 800)
    assert {one.id for one in changed if not one.is_open} == {storm.id, *(one.id for one in groups)}
    assert kept.open == []


def test_members_close_singly_and_the_last_one_ends_it() -> None:
    kept = manager()
    apply(kept, FIRED, 0, nodes(10))
    (storm,) = top(kept)
    apply(kept, CLEARED, 10, nodes(9))
    kept.step([], START + 5000)
    assert [one.id for one in top(kept)] == [storm.id]
    assert kept.close(storm.members[9], START + 5001, "operator", "known") is not None
    kept.step([], START + 5002)
    kept.step([], START + 5602)
    assert kept.open == []


def test_a_person_can_close_it_and_it_does_not_reopen_at_once() -> None:
    kept = manager()
    apply(kept, FIRED, 0, nodes(10))
    (storm,) = top(kept)
    closed = kept.close(storm.id, START + 5, "operator", "known")
    assert closed is not None
    assert not closed.is_open
    apply(kept, FIRED, 6, ["other"])
    assert not any(one.storm for one in kept.open)


@pytest.mark.parametrize("group", [None, BY_NODE, BY_FLEET])
def test_those_that_come_back_within_their_cool_down_are_one_again(group: Grouping | None) -> None:
    kept = manager(rule(group=group, cooldown_s=3600.0))
    apply(kept, FIRED, 0, nodes(50))
    (before,) = top(kept)
    apply(kept, CLEARED, 10, nodes(50))
    kept.step([], START + 20)
    kept.step([], START + 700)
    assert kept.open == []
    apply(kept, FIRED, 1000, nodes(50))
    (storm,) = top(kept)
    assert storm.id != before.id
    assert len(storm.members) == 50
    assert {one.reopened for one in kept.open if not one.members} == {1}


def test_those_that_came_back_long_ago_do_not_count() -> None:
    kept = manager(rule(cooldown_s=3600.0))
    apply(kept, FIRED, 0, nodes(9))
    apply(kept, CLEARED, 10, nodes(9))
    apply(kept, FIRED, 400, nodes(9))
    apply(kept, FIRED, 701, ["late"])
    assert not any(one.storm for one in kept.open)


def test_it_goes_on_after_a_restart_and_so_do_groups_in_it() -> None:
    first = manager(rule(group=BY_RACK))
    for at, rack in enumerate(("r1", "r2", "r3", "r4")):
        apply(first, FIRED, at, nodes(3, rack))
    (storm,) = top(first)
    again = manager(rule(group=BY_RACK), incidents=tuple(first.open))
    assert {one.id for one in again.open} == {one.id for one in first.open}
    apply(again, FIRED, 3600, ["r9-1"])
    (grown,) = top(again)
    assert grown.id == storm.id
    assert len(grown.members) == 13
    apply(
        again, CLEARED, 3700, [*(node for at in range(1, 5) for node in nodes(3, f"r{at}")), "r9-1"]
    )
    again.step([], START + 4400)
    assert again.open == []


def test_an_orphan_in_it_keeps_it_open_until_a_person_closes_that() -> None:
    kept = manager()
    apply(kept, FIRED, 0, nodes(10))
    (storm,) = top(kept)
    kept.set_rules({}, START + 10)
    kept.step([], START + 2000)
    assert [one.id for one in top(kept)] == [storm.id]
    for member in storm.members:
        kept.close(member, START + 2001, "operator", "known")
    kept.step([], START + 2002)
    kept.step([], START + 2700)
    assert kept.open == []
