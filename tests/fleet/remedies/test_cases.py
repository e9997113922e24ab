"""What the engine receives of incidents: what has changed, and everything that was not sent yet."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.rule import Rule
from accelwatch.fleet.remedies.cases import Cases
from accelwatch.remediation.policy.state.changes import CaseChanged
from remediation.test_remedies_of_an_incident import rule
from support.incidents.incident_samples import START, incident, later, over, storm


class Rules:
    """Incidents as a runner has them."""

    def __init__(self, *incidents: Incident) -> None:
        self.known = {one.id: one for one in incidents}
        self.muted: dict[str, str] = {}
        self.looked_at: list[str] = []
        self.rule = rule()
        self.rules = SimpleNamespace(rules=self)

    def __contains__(self, name: str) -> bool:
        return True

    def __getitem__(self, name: str) -> Rule:
        self.looked_at.append(name)
        return self.rule

    @property
    def open(self) -> list[Incident]:
        return [one for one in self.known.values() if one.is_open]

    def incident(self, id_: str) -> Incident | None:
        return self.known.get(id_)

    def mute_of(self, one: Incident) -> object:
        id_ = self.muted.get(one.id)
        return None if id_ is None else SimpleNamespace(id=id_)

    def put(self, *incidents: Incident) -> list[Incident]:
        self.known.update({one.id: one for one in incidents})
        return list(incidents)


def cases(rules: Rules) -> Cases:
    return Cases(cast("RuleRunner", rules))


def changes_of(changes: list[CaseChanged]) -> list[tuple[str, bool, str]]:
    return [(one.case.incident, one.case.open, one.case.group) for one in changes]


def test_only_what_has_changed_is_checked_and_notified() -> None:
    rules = Rules(*(incident(number) for number in range(1, 100)))
    known = cases(rules)
    assert len(known.all_changed()) == 99
    assert known.all_changed() == []
    rules.looked_at.clear()
    noted = later(rules.known["i7"], START + 1)
    assert known.changed(rules.put(noted)) == []
    assert len(rules.looked_at) == 1
    worse = later(rules.known["i8"], START + 2, since=START + 2)
    assert changes_of(known.changed(rules.put(worse))) == [("i8", True, "")]


def test_the_end_of_an_incident_is_reported_once_and_that_of_an_unknown_one_not_at_all() -> None:
    rules = Rules(incident(1))
    known = cases(rules)
    known.all_changed()
    closed = over(rules.known["i1"], START + 5)
    assert changes_of(known.changed(rules.put(closed))) == [("i1", False, "")]
    assert known.changed([closed]) == known.all_changed() == []
    assert known.changed(rules.put(over(incident(2), START))) == []


def test_what_ended_while_nobody_was_here_is_notified() -> None:
    rules = Rules(incident(1))
    known = cases(rules)
    known.all_changed()
    rules.known.clear()
    assert changes_of(known.all_changed()) == [("i1", False, "")]


def test_members_get_the_start_and_the_end_of_their_group() -> None:
    rules = Rules(*(incident(number) for number in (1, 2, 3)))
    known = cases(rules)
    known.all_changed()
    *members, group = storm(3)
    grouped = [("i1", True, "i99"), ("i2", True, "i99"), ("i3", True, "i99")]
    assert changes_of(known.changed(rules.put(*members, group))) == grouped
    alone = [("i1", True, ""), ("i2", True, ""), ("i3", True, "")]
    assert changes_of(known.changed(rules.put(over(group, START + 900)))) == alone


def test_a_member_that_changes_by_itself_is_published_with_its_group() -> None:
    *members, group = storm(3)
    rules = Rules(*members, group)
    known = cases(rules)
    known.all_changed()
    worse = later(members[0], START + 2, since=START + 2)
    assert changes_of(known.changed(rules.put(worse))) == [("i1", True, "i99")]


def test_who_is_muted_or_has_another_rule_is_published_again() -> None:
    rules = Rules(incident(1), incident(2))
    known = cases(rules)
    known.all_changed()
    rules.muted["i1"] = "s1"
    assert [one.case.muted for one in known.changed([rules.known["i1"]])] == ["s1"]
    rules.rule = replace(rules.rule, digest="e")
    assert [one.case.policy.digest for one in known.all_changed()] == ["e", "e"]
