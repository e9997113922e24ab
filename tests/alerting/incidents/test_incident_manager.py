"""Verdicts become incidents: one for each entity and family, with its history."""

import itertools
from collections.abc import Sequence

import msgspec
import pytest

from accelwatch.alerting.incidents.incident_manager import IncidentManager
from accelwatch.alerting.incidents.model.incident import (
    ENGINE,
    MOST_TIMELINE_ENTRIES,
    Facts,
    Incident,
    IncidentState,
    TimelineKind,
    notes,
)
from accelwatch.alerting.rules.document import Scope, Severity
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.timing import Transition
from accelwatch.alerting.rules.verdict import (
    Entity,
    Evidence,
)
from alerting.incidents.incident_rules import START, change, device, rule

FIRED, CLEARED = Transition.FIRED, Transition.CLEARED
BLIND, SEEING = Transition.BLIND, Transition.SEEING


def manager(
    *rules: Rule, incidents: Sequence[Incident] = (), facts: Facts | None = None
) -> IncidentManager:
    numbers = itertools.count(1 + len(incidents))
    return IncidentManager(
        {one.id: one for one in rules or (rule(),)},
        lambda _: facts or Facts(device_name="nvidia0", model="H100"),
        lambda: f"i{next(numbers)}",
        incidents,
    )


def kinds(incident: Incident) -> list[TimelineKind]:
    return [entry.kind for entry in incident.timeline]


def test_a_rule_that_fires_opens_an_incident() -> None:
    (incident,) = manager().step([change(FIRED, 10)], START + 10)
    assert (incident.id, incident.rule, incident.title) == ("i1", "gpu.lost", "Title of gpu.lost")
    assert (incident.since, incident.opened) == (START, START + 10)
    assert (incident.nodes, incident.facts.device_name) == (("n1",), "nvidia0")
    assert (incident.state, incident.what_to_do) == (IncidentState.OPEN, "reboot the node")
    assert kinds(incident) == [TimelineKind.OPENED]


def test_an_entity_without_a_node_has_those_of_its_facts() -> None:
    job = Entity(scope=Scope.JOB, job="4711")
    kept = manager(facts=Facts(nodes=("n1", "n2")))
    (incident,) = kept.step([change(FIRED, 0, entity=job)], START)
    assert incident.nodes == ("n1", "n2")


def test_it_is_closed_when_its_rule_clears() -> None:
    kept = manager()
    kept.step([change(FIRED, 0)], START)
    (incident,) = kept.step([change(CLEARED, 90)], START + 90)
    assert (incident.state, incident.closed) == (IncidentState.CLOSED, START + 90)
    assert incident.timeline[-1].text == "cleared after 90 s"
    assert kept.open == []


def test_what_was_never_open_cannot_clear() -> None:
    assert manager().step([change(CLEARED, 0)], START) == []


def test_two_rules_of_a_family_are_one_incident() -> None:
    kept = manager(rule("a", family="f"), rule("b", family="f"))
    kept.step([change(FIRED, 0, rule_id="a")], START)
    (incident,) = kept.step([change(FIRED, 5, rule_id="b")], START + 5)
    assert (incident.id, incident.rules, incident.rule) == ("i1", ("a", "b"), "a")
    (incident,) = kept.step([change(CLEARED, 9, rule_id="a")], START + 9)
    assert incident.is_open
    assert incident.rules == ("b",)
    (incident,) = kept.step([change(CLEARED, 12, rule_id="b")], START + 12)
    assert not incident.is_open


def test_the_worse_rule_leads() -> None:
    kept = manager(rule("a", family="f"), rule("b", family="f", severity=Severity.CRITICAL))
    kept.step([change(FIRED, 0, rule_id="a")], START)
    (incident,) = kept.step([change(FIRED, 5, rule_id="b")], START + 5)
    assert (incident.rule, incident.rules, incident.severity) == ("b", ("b", "a"), "critical")
    assert kinds(incident)[-1] is TimelineKind.ROSE


def test_other_entities_and_other_families_are_other_incidents() -> None:
    kept = manager(rule("a"), rule("b"))
    changes = [
        change(FIRED, 0, rule_id="a"),
        change(FIRED, 0, rule_id="b"),
        change(FIRED, 0, rule_id="a", entity=device(number=1)),
    ]
    assert [one.id for one in kept.step(changes, START)] == ["i1", "i2", "i3"]


def test_within_its_cool_down_it_is_the_same_incident() -> None:
    kept = manager()
    kept.step([change(FIRED, 0)], START)
    kept.step([change(CLEARED, 100)], START + 100)
    (incident,) = kept.step([change(FIRED, 699)], START + 699)
    assert (incident.id, incident.reopened, incident.closed) == ("i1", 1, None)
    assert incident.is_open
    assert kinds(incident)[-1] is TimelineKind.REOPENED


def test_a_rule_that_starts_anew_on_an_open_incident_says_so() -> None:
    kept = manager()
    kept.step([change(FIRED, 0)], START)
    (incident,) = kept.step([change(FIRED, 300)], START + 300)
    assert (incident.id, incident.rules) == ("i1", ("gpu.lost",))
    assert kinds(incident) == [TimelineKind.OPENED, TimelineKind.AGAIN]


def test_after_its_cool_down_it_is_another() -> None:
    kept = manager()
    kept.step([change(FIRED, 0)], START)
    kept.step([change(CLEARED, 100)], START + 100)
    (incident,) = kept.step([change(FIRED, 700)], START + 700)
    assert (incident.id, incident.reopened) == ("i2", 0)


@pytest.mark.parametrize("trusted", [True, False])
def test_what_may_be_forged_is_never_above_info(trusted: bool) -> None:
    evidence = (Evidence(signal="xid_79", text="Xid 79", trusted=trusted),)
    kept = manager(rule(severity=Severity.CRITICAL))
    (incident,) = kept.step([change(FIRED, 0, evidence=evidence)], START)
    assert incident.severity is (Severity.CRITICAL if trusted else Severity.INFO)
    assert incident.trusted is trusted


def test_one_trusted_reading_beside_a_forged_line_is_enough() -> None:
    evidence = (
        Evidence(signal="xid_79", text="Xid 79", trusted=False),
        Evidence(signal="device_up", text="lost", value=0),
    )
    kept = manager(rule(severity=Severity.CRITICAL))
    (incident,) = kept.step([change(FIRED, 0, evidence=evidence)], START)
    assert incident.severity is Severity.CRITICAL


def test_a_trusted_rule_raises_what_a_forged_line_started() -> None:
    forged = (Evidence(signal="xid_79", text="Xid 79", trusted=False),)
    lost = (Evidence(signal="device_up", text="lost", value=0),)
    kept = manager(
        rule("a", family="f", severity=Severity.CRITICAL),
        rule("b", family="f", severity=Severity.WARNING),
    )
    kept.step([change(FIRED, 0, rule_id="a", evidence=forged)], START)
    (incident,) = kept.step([change(FIRED, 5, rule_id="b", evidence=lost)], START + 5)
    assert (incident.rule, incident.severity, incident.trusted) == ("b", "warning", True)
    assert [one.signal for one in incident.evidence] == ["device_up", "xid_79"]


def test_being_blind_is_part_of_the_history_and_closes_nothing() -> None:
    kept = manager()
    kept.step([change(FIRED, 0)], START)
    kept.step([change(BLIND, 700)], START + 700)
    (incident,) = kept.step([change(SEEING, 800)], START + 800)
    assert incident.is_open
    assert kinds(incident) == [TimelineKind.OPENED, TimelineKind.BLIND, TimelineKind.SEEING]


def test_being_blind_before_it_fired_is_no_incident() -> None:
    assert manager().step([change(BLIND, 0)], START) == []


def test_an_incident_whose_rule_is_gone_stays_and_says_so_once() -> None:
    kept = manager()
    kept.step([change(FIRED, 0)], START)
    (incident,) = kept.set_rules({}, START + 60)
    assert incident.is_open
    assert kinds(incident)[-1] is TimelineKind.ORPHANED
    assert kept.set_rules({}, START + 61) == []
    closed = kept.close("i1", START + 90, "operator", "rule removed")
    assert closed is not None
    assert (closed.is_open, closed.timeline[-1].actor) == (False, "operator")
    assert kept.close("i1", START + 91, "operator", "again") is None


def test_a_rule_that_changed_leaves_the_open_incident_its_snapshot() -> None:
    kept = manager(rule(severity=Severity.CRITICAL))
    kept.step([change(FIRED, 0)], START)
    assert kept.set_rules({"gpu.lost": rule(severity=Severity.INFO)}, START + 1) == []
    (incident,) = kept.open
    assert incident.severity is Severity.CRITICAL


def test_open_incidents_go_on_after_a_restart() -> None:
    first = manager()
    first.step([change(FIRED, 0)], START)
    again = manager(incidents=first.open)
    (incident,) = again.step([change(CLEARED, 60)], START + 60)
    assert (incident.id, incident.is_open) == ("i1", False)


def test_a_restart_within_the_cool_down_still_knows_what_was_closed() -> None:
    first = manager()
    first.step([change(FIRED, 0)], START)
    closed = first.step([change(CLEARED, 60)], START + 60)
    (incident,) = manager(incidents=closed).step([change(FIRED, 90)], START + 90)
    assert (incident.id, incident.reopened) == ("i1", 1)


def test_a_long_history_keeps_its_start_and_its_end() -> None:
    kept = manager(rule(cooldown_s=1e9))
    for at in range(200):
        kept.step([change(FIRED, 20 * at)], START + 20 * at)
        kept.step([change(CLEARED, 20 * at + 10)], START + 20 * at + 10)
    (incident,) = kept.step([change(FIRED, 9000)], START + 9000)
    assert len(incident.timeline) == MOST_TIMELINE_ENTRIES
    assert incident.timeline[0].kind is TimelineKind.OPENED
    assert incident.timeline[-1].time == START + 9000


def test_an_incident_survives_being_written_down() -> None:
    evidence = (Evidence(signal="power_watts", text="112 W", value=112.0, expected=418.0, z=-9.5),)
    (incident,) = manager().step([change(FIRED, 0, evidence=evidence)], START)
    assert msgspec.json.decode(msgspec.json.encode(incident), type=Incident) == incident


def test_a_rule_of_several_that_is_gone_leaves_the_incident_to_the_others() -> None:
    kept = manager(rule("a", family="f"), rule("b", family="f"))
    kept.step([change(FIRED, 0, rule_id="a"), change(FIRED, 0, rule_id="b")], START)
    (incident,) = kept.set_rules({"a": rule("a", family="f")}, START + 5)
    assert (incident.rules, kinds(incident)[-1]) == (("a",), TimelineKind.NOTE)
    (incident,) = kept.step([change(CLEARED, 9, rule_id="a")], START + 9)
    assert not incident.is_open


def test_a_rule_that_has_joined_another_family_is_gone_from_its_incident() -> None:
    kept = manager(rule("a", family="f"))
    kept.step([change(FIRED, 0, rule_id="a")], START)
    (incident,) = kept.set_rules({"a": rule("a", family="g")}, START + 5)
    assert kinds(incident)[-1] is TimelineKind.ORPHANED


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_a_clock_that_is_set_does_not_change_what_may_come_back(jump_s: float) -> None:
    kept = manager()
    kept.step([change(FIRED, 0)], START, 0.0)
    kept.step([change(CLEARED, 10)], START + 10, 10.0)
    (incident,) = kept.step([change(FIRED, 20 + jump_s)], START + 20 + jump_s, 20.0)
    assert (incident.id, incident.reopened) == ("i1", 1)
    (incident,) = kept.step([change(CLEARED, 30 + jump_s)], START + 30 + jump_s, 30.0)
    text = incident.timeline[-1].text
    assert text == ("cleared after 3630 s" if jump_s > 0 else "cleared; the clock was set back")
    kept.step([], START + 31 + jump_s, 31.0)
    (incident,) = kept.step([change(FIRED, 700)], START + 700, 700.0)
    assert incident.id == "i2"


def test_notes_of_people_never_fall_out_of_a_long_history() -> None:
    kept = manager(rule(cooldown_s=1e9))
    kept.step([change(FIRED, 0)], START)
    for at in range(1, 200):
        kept.step([change(CLEARED, 20 * at)], START + 20 * at)
        kept.step([change(FIRED, 20 * at + 10)], START + 20 * at + 10)
        kept.note("i1", START + 20 * at + 11, "kim" if at % 10 == 0 else ENGINE, f"note {at}")
    (incident,) = kept.open
    of_people = [entry.text for entry in incident.timeline if entry.actor == "kim"]
    assert of_people == [f"note {at}" for at in range(10, 200, 10)]
    assert len(incident.timeline) == MOST_TIMELINE_ENTRIES
    assert incident.timeline[0].kind is TimelineKind.OPENED
    assert incident.timeline[-1].text == "note 199"
    assert [one.time for one in incident.timeline] == sorted(one.time for one in incident.timeline)


def test_however_many_notes_there_are_the_newest_of_the_engine_stays() -> None:
    kept = manager()
    kept.step([change(FIRED, 0)], START)
    for at in range(MOST_TIMELINE_ENTRIES + 50):
        kept.note("i1", START + at, "kim", f"note {at}")
    for at in range(50):
        kept.note("i1", START + 1000 + at, ENGINE, f"line {at}")
    (incident,) = kept.open
    assert notes(incident) == MOST_TIMELINE_ENTRIES + 50
    of_engine = [entry for entry in incident.timeline if not entry.of_person]
    assert (of_engine[0].kind, of_engine[-1].text) == (TimelineKind.OPENED, "line 49")
