"""No node is taken out for what befalls many at once, as long as that goes on."""

from collections.abc import Iterable

import msgspec

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.remediation.policy.guards.denial import PERMIT, Denial, DenialKind
from accelwatch.remediation.policy.guards.group_guard import across_nodes, may_act
from support.incidents.incident_samples import incident, over, storm


def known(incidents: Iterable[Incident]) -> dict[str, Incident]:
    return {one.id: one for one in incidents}


def test_an_incident_of_its_own_speaks_for_its_node() -> None:
    alone = incident(1)
    assert may_act(alone, known([alone])) == PERMIT
    assert may_act(alone, {}) == PERMIT


def test_a_member_of_a_group_does_not_and_neither_does_the_group() -> None:
    members = storm(5)
    for one in members:
        answer = may_act(one, known(members))
        assert isinstance(answer, Denial)
        assert answer.why is DenialKind.GROUP
        assert "5 nodes at once (rack=r7)" in answer.text


def test_a_member_speaks_for_its_node_again_when_the_group_is_over() -> None:
    *members, group = storm(3)
    ended = over(group, group.opened + 900)
    assert may_act(members[0], known([*members, ended])) == PERMIT
    assert may_act(members[0], known(members)) == PERMIT


def test_several_devices_of_one_node_have_their_cause_on_it() -> None:
    *members, group = storm(3)
    on_node = msgspec.structs.replace(group, entity=Entity(scope=Scope.NODE, group="node=n1"))
    assert not across_nodes(on_node)
    assert may_act(members[0], known([*members, on_node])) == PERMIT
    assert may_act(on_node, known([on_node])) == PERMIT


def test_a_group_of_a_node_that_is_part_of_a_storm_is_held_by_it() -> None:
    *members, group = storm(3)
    on_node = incident(50, entity=Entity(scope=Scope.NODE, group="node=n1"), group=group.id)
    member = msgspec.structs.replace(members[0], group=on_node.id)
    answer = may_act(member, known([member, on_node, group]))
    assert isinstance(answer, Denial)
    assert group.id in answer.text


def test_a_storm_is_one_whatever_its_entity_says() -> None:
    assert across_nodes(incident(1, storm=True))
    assert not across_nodes(incident(1))


def test_groups_that_name_each_other_do_not_hang() -> None:
    one = incident(1, group="i2", entity=Entity(scope=Scope.NODE, group="node=n1"))
    other = incident(2, group="i1", entity=Entity(scope=Scope.NODE, group="node=n2"))
    assert may_act(one, known([one, other])) == PERMIT
