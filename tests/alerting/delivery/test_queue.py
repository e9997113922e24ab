"""What is said, to whom and when: no loop, no clock, no sink."""

from typing import Any

import msgspec
import pytest

from accelwatch.alerting.delivery.formatting.notice import notice_of
from accelwatch.alerting.delivery.formatting.person_call import call_of, entity_of
from accelwatch.alerting.delivery.formatting.text import headline
from accelwatch.alerting.delivery.messages.message import NEVER, Message, Traits
from accelwatch.alerting.delivery.messages.message_store import MOST_MESSAGES
from accelwatch.alerting.delivery.messages.outlook import Outlook
from accelwatch.alerting.delivery.queue import Queue
from accelwatch.alerting.delivery.routing import Routes
from accelwatch.alerting.delivery.stages.dedup import EDIT_EVERY_S
from accelwatch.alerting.delivery.stages.retry import GIVE_UP_AFTER_S, Lost
from accelwatch.alerting.delivery.stages.set_notifies import KEPT_S
from accelwatch.alerting.incidents.model.incident import (
    Facts,
    Incident,
    IncidentState,
    TimelineEntry,
    TimelineKind,
)
from accelwatch.alerting.rules.document import Scope, Severity
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.alerting.sink import Notice, NoticeKind, Outcome, Status
from accelwatch.config.alerts import Alerts, QuietHours, Route, SinkSettings
from support.incidents.incident_samples import START, incident, later, over, storm

TAKEN = Outcome(status=Status.DELIVERED, reference="m1")
NOT_NOW = Outcome(status=Status.RETRY, message="answered 500")


class Scene:
    """A queue, and a receiver of each sink that takes what comes, unless it is told not to."""

    def __init__(self, *routes: Route, edits: bool = False, **more: Any) -> None:
        self.now = START
        self.said: list[Notice] = []
        self.references: list[str] = []
        self.lost: list[Lost] = []
        self.outcome = TAKEN
        names = more.pop("names", ("a",))
        sinks = tuple(SinkSettings(name=name, type="x") for name in names)
        alerts = Alerts(sinks=sinks, routes=routes)
        self.traits = {name: Traits(edits, more.get("repeat_s")) for name in names}
        self.asks = ""
        self.soon_s = 0.0
        self.decided = False
        self.end_wait_s = 0.0
        self.queue = Queue(
            Routes(alerts),
            self.traits,
            _described,
            storm_wait_s=10.0,
            outlook=Outlook(
                request_names=lambda _: self.asks,
                decides_within_s=lambda _: self.soon_s,
                is_decided=lambda _: self.decided,
                resolve_wait_s=lambda _: self.end_wait_s,
            ),
        )

    def tell(self, *incidents: Incident, muted: bool = False) -> "Scene":
        for one in incidents:
            self.queue.changed(one, muted, self.now)
        return self

    def send(self, sink: str = "a") -> list[str]:
        """Everything that is due now, as kind and id."""
        kinds = []
        while (message := self.queue.next(sink, self.now)) is not None:
            kinds.append(f"{message.notice.kind.value} {message.incident}")
            self.settle(message, self.outcome)
        return kinds

    def settle(self, message: Message, outcome: Outcome, sent: Notice | None = None) -> None:
        sent = sent or message.notice
        self.said.append(sent)
        self.references.append(message.reference)
        lost = self.queue.settle(message, sent, outcome, self.now)
        self.lost += [] if lost is None else [lost]

    def after(self, seconds: float) -> "Scene":
        self.now += seconds
        return self


def _described(one: Incident, kind: NoticeKind, sequence: int) -> Notice:
    return notice_of(one, kind, sequence=sequence)


def test_an_incident_is_told_at_once_and_once() -> None:
    scene = Scene().tell(incident())
    assert scene.send() == ["opened i1"]
    assert scene.tell(incident()).after(3600).send() == []


def test_its_end_is_told() -> None:
    scene = Scene().tell(incident())
    scene.send()
    ended = over(incident(), scene.after(60).now)
    assert scene.tell(ended).send() == ["closed i1"]
    assert scene.tell(ended).send() == []
    assert [one.sequence for one in scene.said] == [1, 2]


def test_what_was_over_before_anybody_heard_of_it_is_not_told() -> None:
    scene = Scene().tell(incident(), over(incident(), START + 1))
    assert scene.send() == []
    assert scene.queue.messages.due_at("a", scene.now) == NEVER


def test_an_end_is_told_where_the_beginning_may_have_arrived() -> None:
    scene = Scene().tell(incident())
    scene.outcome = NOT_NOW
    scene.send()
    scene.outcome = TAKEN
    assert scene.tell(over(incident(), START + 1)).send() == ["closed i1"]


def test_an_end_is_told_of_what_is_being_sent_right_now() -> None:
    scene = Scene().tell(incident())
    message = scene.queue.next("a", scene.now)
    assert message is not None
    sent = message.notice
    scene.tell(over(incident(), START + 1))
    scene.settle(message, TAKEN, sent)
    assert scene.send() == ["closed i1"]


@pytest.mark.parametrize(("edits", "said"), [(False, []), (True, ["updated i1"])])
def test_small_news_are_for_sinks_that_edit(edits: bool, said: list[str]) -> None:
    scene = Scene(edits=edits).tell(incident())
    scene.send()
    scene.tell(later(incident(), START + 1, title="other"))
    assert scene.send() == []
    assert scene.after(EDIT_EVERY_S).send() == said


def test_a_rise_is_told_to_all() -> None:
    low = incident(severity=Severity.WARNING)
    scene = Scene().tell(low)
    scene.send()
    assert scene.tell(later(low, START + 1, severity=Severity.CRITICAL)).send() == ["updated i1"]
    assert scene.tell(later(low, START + 2, severity=Severity.WARNING)).send() == []


def test_the_latest_wins_while_it_waits() -> None:
    scene = Scene().tell(incident())
    scene.outcome = NOT_NOW
    scene.send()
    scene.outcome = TAKEN
    scene.tell(later(incident(), START + 1, title="second"))
    scene.tell(later(incident(), START + 2, title="third"))
    assert scene.after(60).send() == ["opened i1"]
    assert scene.said[-1].title == "third"


def test_members_of_a_group_are_not_told_one_by_one() -> None:
    scene = Scene().tell(*storm(30))
    assert scene.send() == ["opened i99"]
    assert len(scene.said[0].nodes) == 30
    scene.after(600).tell(*(over(one, scene.now) for one in storm(30)))
    assert scene.send() == ["closed i99"]
    assert len(scene.said) == 2


def test_of_a_storm_that_comes_one_by_one_the_first_and_the_group_are_told() -> None:
    scene = Scene()
    for number in range(1, 31):
        alone = incident(number, at=scene.now)
        scene.tell(alone)
        scene.send()
        scene.after(0.2)
    scene.tell(*storm(30, scene.now))
    assert scene.after(60).send() == ["opened i99"]
    assert len(scene.said) == 2


def test_a_second_incident_waits_for_what_it_may_be_part_of() -> None:
    scene = Scene().tell(incident(1), incident(2))
    assert scene.send() == ["opened i1"]
    assert scene.after(9.9).send() == []
    assert scene.after(0.2).send() == ["opened i2"]


def test_what_waits_waits_on_while_others_of_its_family_begin() -> None:
    scene = Scene().tell(incident(1))
    assert scene.send() == ["opened i1"]
    for number in range(2, 6):
        scene.after(6.0).tell(incident(number))
        assert scene.send() == []
    said = scene.after(10.0).send()
    assert sorted(said) == [f"opened i{number}" for number in range(2, 6)]


def test_those_of_another_family_keep_nobody_waiting() -> None:
    scene = Scene().tell(incident(1), incident(2))
    scene.send()
    scene.after(6.0).tell(incident(3, family="other"))
    assert scene.after(4.1).send() == ["opened i2"]


def test_nothing_waits_for_more_than_a_minute() -> None:
    scene = Scene().tell(incident(1))
    scene.send()
    for number in range(2, 14):
        scene.after(5.0).tell(incident(number))
        assert scene.send() == []
    assert scene.after(5.0).tell(incident(14)).send() == ["opened i2"]


def test_what_becomes_worse_while_it_waits_waits_no_more() -> None:
    low = incident(2, severity=Severity.WARNING)
    scene = Scene().tell(incident(1), low)
    scene.send()
    scene.after(6.0).tell(incident(3))
    assert scene.tell(later(low, scene.now, severity=Severity.CRITICAL)).send() == ["opened i2"]


def test_a_group_of_the_fleet_waits_for_nobody() -> None:
    (group,) = storm(30)[-1:]
    wide = later(group, START, entity=Entity(scope=Scope.DEVICE, group="fleet"))
    scene = Scene().tell(incident(1), wide)
    assert sorted(scene.send()) == ["opened i1", "opened i99"]


def test_a_storm_waits_until_its_nodes_are_counted() -> None:
    (group,) = storm(30)[-1:]
    entity = Entity(scope=Scope.NODE, group="fleet")
    wide = later(group, START, entity=entity, storm=True)
    scene = Scene().tell(wide)
    assert scene.send() == []
    scene.after(2.0).tell(later(wide, START + 2, title="200 nodes at once"))
    assert scene.after(7.0).send() == []
    assert scene.after(1.0).send() == ["opened i99"]
    assert scene.said[-1].title == "200 nodes at once"


def test_a_smaller_group_may_become_part_of_another() -> None:
    scene = Scene().tell(incident(1), *storm(3)[-1:])
    assert scene.send() == ["opened i1"]
    scene.tell(later(storm(3)[-1], START + 1, group="i100"))
    assert scene.after(60).send() == []


def test_what_is_muted_is_not_told_until_it_is_heard_again() -> None:
    scene = Scene().tell(incident(), muted=True)
    assert scene.send() == []
    assert scene.tell(incident()).send() == ["opened i1"]


def test_what_waits_is_not_told_when_it_is_muted_meanwhile() -> None:
    scene = Scene().tell(incident())
    assert scene.tell(incident(), muted=True).send() == []


def test_the_end_of_what_was_told_is_told_though_it_is_muted() -> None:
    scene = Scene().tell(incident())
    scene.send()
    assert scene.tell(over(incident(), START + 9), muted=True).send() == ["closed i1"]


def test_what_comes_back_and_goes_while_it_is_muted_is_not_told() -> None:
    scene = Scene().tell(incident())
    scene.send()
    scene.after(60).tell(over(incident(), scene.now))
    scene.send()
    scene.after(60).tell(later(incident(), scene.now, reopened=1), muted=True)
    again = later(over(incident(), scene.now + 60), scene.now + 60, reopened=1)
    assert scene.after(60).tell(again, muted=True).send() == []


def test_one_that_comes_back_is_heard_and_has_a_message_of_its_own() -> None:
    scene = Scene(edits=True).tell(incident())
    scene.send()
    scene.after(60).tell(over(incident(), scene.now))
    scene.send()
    scene.after(60).tell(later(incident(), scene.now, reopened=1))
    assert scene.send() == ["opened i1"]
    assert scene.references == ["", "m1", ""]
    scene.after(60).tell(later(over(incident(), scene.now), scene.now, reopened=1))
    assert scene.send() == ["closed i1"]


def test_routes_choose_by_severity_and_labels() -> None:
    pool = Route(sinks=("a",), match=("pool=train",))
    all_ = Route(sinks=("b",), min_severity="info")
    scene = Scene(pool, all_, names=("a", "b"))
    scene.tell(incident(1, severity=Severity.INFO))
    assert (scene.send("a"), scene.send("b")) == ([], ["opened i1"])
    scene.after(60).tell(incident(2, severity=Severity.WARNING))
    assert (scene.send("a"), scene.send("b")) == (["opened i2"], ["opened i2"])
    facts = msgspec.structs.replace(incident().facts, labels={"pool": "test"})
    scene.after(60).tell(incident(3, facts=facts))
    assert (scene.send("a"), scene.send("b")) == ([], ["opened i3"])


def test_without_a_route_a_warning_is_told_and_a_note_is_not() -> None:
    scene = Scene().tell(
        incident(1, severity=Severity.INFO), incident(2, severity=Severity.WARNING)
    )
    assert scene.send() == ["opened i2"]


def test_who_is_told_later_is_not_told_of_what_is_over_by_then() -> None:
    boss = Route(sinks=("boss",), after_s=1800.0)
    scene = Scene(Route(sinks=("a",)), boss, names=("a", "boss")).tell(incident(1))
    scene.after(60).tell(incident(2, at=scene.now))
    assert (len(scene.send("a")), scene.send("boss")) == (2, [])
    scene.tell(over(incident(1), scene.now))
    assert scene.after(1800).send("boss") == ["opened i2"]


def test_reminders_as_long_as_it_is_open() -> None:
    scene = Scene(Route(remind_s=3600.0)).tell(incident())
    scene.send()
    assert scene.after(3599).send() == []
    assert scene.after(1).send() == ["reminder i1"]
    assert scene.after(3600).send() == ["reminder i1"]
    scene.tell(incident(), muted=True)
    assert scene.after(7200).send() == []
    scene.tell(incident())
    assert scene.send() == ["reminder i1"]
    scene.tell(over(incident(), scene.now))
    assert scene.send() == ["closed i1"]
    assert scene.after(7200).send() == []


def test_a_receiver_that_forgets_is_told_again() -> None:
    scene = Scene(repeat_s=60.0, edits=True).tell(incident())
    scene.send()
    assert scene.after(60).send() == ["updated i1"]
    assert scene.after(60).send() == ["updated i1"]
    assert [one.sequence for one in scene.said] == [1, 2, 3]
    scene.tell(over(incident(), scene.now))
    scene.send()
    assert scene.after(120).send() == []


QUIET = QuietHours(start="22:00", end="07:00", zone="Asia/Seoul")


def test_at_night_what_is_not_urgent_waits_for_the_morning() -> None:
    # 12:14 in Seoul; it becomes 22:14 there.
    scene = Scene(Route(quiet=QUIET)).after(10 * 3600)
    scene.tell(incident(1, severity=Severity.WARNING, at=scene.now))
    assert scene.send() == []
    scene.after(60).tell(incident(2, at=scene.now))
    assert scene.after(60).send() == ["opened i2"]
    assert scene.after(8 * 3600 + 46 * 60 - 120).send() == ["opened i1"]


def test_a_reminder_waits_for_the_end_of_quiet_hours() -> None:
    # Told at 20:14:07 in Seoul.
    scene = Scene(Route(remind_s=4 * 3600.0, quiet=QUIET)).after(8 * 3600)
    low = incident(severity=Severity.WARNING, at=scene.now)
    assert scene.tell(low).send() == ["opened i1"]
    morning = scene.now + 10 * 3600 + 45 * 60 + 53
    assert scene.queue.messages.due_at("a", scene.now) == morning
    assert scene.after(4 * 3600).tell(low).send() == []
    scene.now = morning
    assert scene.send() == ["reminder i1"]
    assert scene.after(4 * 3600).send() == ["reminder i1"]


def test_what_is_urgent_is_reminded_of_at_night() -> None:
    scene = Scene(Route(remind_s=4 * 3600.0, quiet=QUIET)).after(8 * 3600)
    scene.tell(incident(at=scene.now)).send()
    assert scene.after(4 * 3600).send() == ["reminder i1"]


def test_a_receiver_that_forgets_is_told_again_at_night_and_not_reminded() -> None:
    scene = Scene(Route(remind_s=4 * 3600.0, quiet=QUIET), repeat_s=3600.0).after(8 * 3600)
    scene.tell(incident(severity=Severity.WARNING, at=scene.now)).send()
    said = [line for _ in range(11) for line in scene.after(3600).send()]
    assert said == ["updated i1"] * 10 + ["reminder i1"]


def test_of_two_routes_the_earlier_reminder_rings() -> None:
    always = Route(remind_s=8 * 3600.0)
    scene = Scene(Route(remind_s=4 * 3600.0, quiet=QUIET), always).after(8 * 3600)
    scene.tell(incident(severity=Severity.WARNING, at=scene.now)).send()
    assert scene.after(8 * 3600 - 1).send() == []
    assert scene.after(1).send() == ["reminder i1"]


def test_a_route_that_reminds_of_nothing_has_no_part_in_it() -> None:
    scene = Scene(Route(remind_s=3600.0), Route(quiet=QUIET)).tell(incident())
    scene.send()
    assert scene.after(3599).send() == []
    assert scene.after(1).send() == ["reminder i1"]


def _evening(*, edits: bool = False, severity: Severity = Severity.WARNING) -> Scene:
    """A minute before the quiet hours something has begun that the sink does not take."""
    scene = Scene(Route(quiet=QUIET), edits=edits).after(9 * 3600 + 45 * 60 - 7)
    scene.outcome = NOT_NOW
    scene.tell(incident(severity=severity, at=scene.now)).send()
    scene.outcome = TAKEN
    return scene


def test_what_was_not_taken_in_the_evening_waits_for_the_morning_too() -> None:
    scene = _evening()
    assert scene.after(120).send() == []
    assert scene.after(9 * 3600 - 61).send() == []
    assert scene.after(1).send() == ["opened i1"]


def test_what_was_not_taken_and_is_urgent_is_tried_again_at_night() -> None:
    assert _evening(severity=Severity.CRITICAL).after(120).send() == ["opened i1"]


def test_an_edit_that_was_not_taken_is_tried_again_at_night() -> None:
    scene = Scene(Route(quiet=QUIET), edits=True).after(9 * 3600 + 40 * 60)
    low = incident(severity=Severity.WARNING, at=scene.now)
    scene.tell(low).send()
    scene.after(60).tell(later(low, scene.now))
    scene.outcome = NOT_NOW
    assert scene.send() == ["updated i1"]
    scene.outcome = TAKEN
    assert scene.after(600).send() == ["updated i1"]


def test_a_call_that_was_not_taken_in_the_evening_waits_for_the_morning() -> None:
    scene = Scene(Route(quiet=QUIET)).after(9 * 3600 + 45 * 60 - 7)
    scene.outcome = NOT_NOW
    scene.queue.call(incident(severity=Severity.WARNING, at=scene.now), scene.now)
    assert scene.send() == ["called i1"]
    scene.outcome = TAKEN
    assert scene.after(120).send() == []
    assert scene.after(9 * 3600 - 60).send() == ["called i1"]


def test_what_becomes_urgent_at_night_does_not_wait() -> None:
    scene = Scene(Route(quiet=QUIET)).after(10 * 3600)
    low = incident(1, severity=Severity.WARNING, at=scene.now)
    scene.tell(low)
    scene.send()
    assert scene.tell(later(low, scene.now + 1, severity=Severity.CRITICAL)).send() == ["opened i1"]


def test_one_that_fails_is_tried_less_and_less_often() -> None:
    scene = Scene().tell(incident())
    scene.outcome = NOT_NOW
    pauses = []
    for _ in range(12):
        scene.send()
        due = scene.queue.messages.due_at("a", scene.now)
        pauses.append(due - scene.now)
        scene.now = due
    assert pauses[:4] == [2.0, 4.0, 8.0, 16.0]
    assert pauses[-1] == 600.0


def test_a_receiver_says_when_to_come_back() -> None:
    scene = Scene().tell(incident())
    scene.outcome = Outcome(status=Status.RETRY, retry_after_s=1234.0)
    scene.send()
    assert scene.queue.messages.due_at("a", scene.now) == scene.now + 1234.0


def test_after_a_day_it_is_given_up() -> None:
    scene = Scene().tell(incident())
    scene.outcome = NOT_NOW
    scene.send()
    assert scene.lost == []
    scene.after(GIVE_UP_AFTER_S).send()
    ((sink, notice, reason),) = scene.lost
    assert (sink, notice.key, reason) == ("a", "i1", "not accepted for a day")
    assert scene.queue.messages.due_at("a", scene.now) == NEVER


def test_what_is_refused_is_given_up_at_once_and_the_next_is_told() -> None:
    scene = Scene().tell(incident())
    scene.outcome = Outcome(status=Status.REFUSED, message="answered 413")
    scene.send()
    assert scene.lost[0].reason == "answered 413"
    scene.outcome = TAKEN
    assert scene.after(60).tell(incident(2)).send() == ["opened i2"]


def test_newer_news_are_sent_though_the_older_were_refused() -> None:
    scene = Scene().tell(incident())
    message = scene.queue.next("a", scene.now)
    assert message is not None
    sent = message.notice
    scene.tell(over(incident(), START + 1))
    scene.settle(message, Outcome(status=Status.REFUSED), sent)
    assert scene.send() == ["closed i1"]


def test_a_restart_goes_on_where_it_was() -> None:
    scene = Scene(edits=True).tell(incident(1), incident(2))
    scene.send()
    rows = [row for row in scene.queue.messages.drain_changes().values() if row is not None]
    anew = Scene(edits=True)
    anew.queue.messages.restore([*rows, b"\xc1 no row"], anew.now)
    anew.tell(incident(1), incident(2))
    assert anew.after(10).send() == ["opened i2"]
    anew.tell(over(incident(1), anew.now))
    assert anew.send() == ["closed i1"]
    assert anew.references == ["", "m1"]


def test_rows_of_a_sink_that_is_gone_are_dropped() -> None:
    scene = Scene(names=("old",)).tell(incident())
    rows = [row for row in scene.queue.messages.drain_changes().values() if row is not None]
    anew = Scene()
    anew.queue.messages.restore(rows, anew.now)
    assert anew.send() == []


def test_what_is_over_and_told_is_forgotten_after_a_day() -> None:
    scene = Scene().tell(incident())
    scene.send()
    scene.tell(over(incident(), START + 1))
    scene.send()
    scene.queue.messages.drain_changes()
    assert scene.after(KEPT_S).send() == []
    assert scene.queue.messages.drain_changes() == {("i1", "a"): None}


def test_changes_that_could_not_be_written_are_written_with_the_next() -> None:
    scene = Scene().tell(incident())
    changes = scene.queue.messages.drain_changes()
    assert scene.queue.messages.drain_changes() == {}
    scene.queue.messages.restore_changes(changes)
    assert scene.queue.messages.drain_changes() == changes


def test_a_clock_that_is_set_back_does_not_hold_anything_back() -> None:
    scene = Scene().tell(incident(1), incident(2))
    scene.send()
    scene.after(-3600)
    assert scene.queue.messages.due_at("a", scene.now) == scene.now + 10.0
    assert scene.after(10).send() == ["opened i2"]


def test_a_clock_that_is_set_back_makes_no_edit_of_a_reminder() -> None:
    scene = Scene(Route(remind_s=3600.0)).tell(incident())
    scene.send()
    scene.after(600).after(-7200)
    assert scene.send() == []
    assert scene.after(3599).send() == []
    assert scene.after(1).send() == ["reminder i1"]
    assert scene.after(3600).send() == ["reminder i1"]


def test_a_clock_that_is_set_back_holds_no_reminder_back_behind_what_is_repeated() -> None:
    scene = Scene(Route(remind_s=3600.0), repeat_s=1500.0).tell(incident())
    scene.send()
    assert scene.after(-86400).send() == []
    said = [scene.after(1500).send(), scene.after(1500).send(), scene.after(600).send()]
    assert said == [["updated i1"], ["updated i1"], ["reminder i1"]]


def test_a_process_that_begins_on_a_clock_that_was_set_back_reminds_in_time() -> None:
    scene = Scene(Route(remind_s=3600.0)).tell(incident())
    scene.send()
    rows = [row for row in scene.queue.messages.drain_changes().values() if row is not None]
    after = Scene(Route(remind_s=3600.0)).after(-86400)
    after.queue.messages.restore(rows, after.now)
    assert after.after(3599).send() == []
    assert after.after(1).send() == ["reminder i1"]


def test_a_reminder_waits_for_the_end_of_quiet_hours_on_a_clock_that_is_set_back() -> None:
    # Told at 20:14:07 in Seoul, due at 7:00, which is 6:00 once it is set back by an hour.
    scene = Scene(Route(remind_s=4 * 3600.0, quiet=QUIET)).after(8 * 3600)
    scene.tell(incident(severity=Severity.WARNING, at=scene.now)).send()
    assert scene.after(-3600).send() == []
    assert scene.after(10 * 3600 + 45 * 60 + 53).send() == []
    assert scene.after(3600).send() == ["reminder i1"]


def test_a_flood_is_bounded_and_counted() -> None:
    scene = Scene()
    for number in range(MOST_MESSAGES + 5):
        scene.tell(incident(number, at=START))
    assert scene.queue.messages.dropped == 5
    assert len(scene.after(60).send()) == MOST_MESSAGES


def test_what_is_said_besides_incidents_replaces_itself() -> None:
    scene = Scene()
    said = notice_of(incident(), NoticeKind.OPENED, sequence=1)
    scene.queue.post("a", "undelivered:b", said, scene.now)
    assert len(scene.send()) == 1
    scene.queue.post("a", "undelivered:b", said, scene.now)
    assert len(scene.send()) == 1
    assert [one.sequence for one in scene.said] == [1, 2]


def spoken(text: str = "the spare n4 failed quick", node: str = "n4") -> Incident:
    return call_of(text, entity_of(node), Facts(), START)


def test_a_call_without_an_incident_goes_the_way_of_incidents() -> None:
    night = QuietHours(start="00:00", end="23:59")
    scene = Scene(
        Route(match=("node=n4",), sinks=("a",)),
        Route(min_severity="critical", sinks=("b",)),
        Route(match=("rule=accelwatch.remediation",), sinks=("c",), quiet=night),
        names=("a", "b", "c"),
    )
    assert scene.queue.call(spoken(), scene.now) == {"a", "c"}
    assert [scene.send(sink) for sink in "abc"] == [[f"called {spoken().id}"], [], []]
    (said,) = scene.said
    assert headline(said) == "WARNING needs a person: the spare n4 failed quick: n4"
    assert scene.queue.call(spoken("job 7 has died of itself", ""), scene.now) == {"c"}
    scene.now = scene.queue.messages.due_at("c", scene.now)
    scene.send("c")
    assert headline(scene.said[-1]).endswith("job 7 has died of itself: the cluster")


def test_the_same_call_is_one_message_and_another_one_is_another() -> None:
    scene = Scene()
    for one in (spoken(), spoken(), spoken("the spare n4 failed long")):
        scene.queue.call(one, scene.now)
    assert len(scene.send()) == 2
    scene.queue.call(spoken(), scene.now)
    assert [one.sequence for one in scene.said] == [2, 1]
    assert len(scene.send()) == 1, "it is called again when it is so again"


def test_calls_are_bounded_as_incidents_are_and_those_that_are_known_find_room() -> None:
    scene = Scene()
    for number in range(MOST_MESSAGES + 5):
        scene.queue.call(spoken(f"job {number}"), scene.now)
    assert scene.queue.call(spoken("job 0"), scene.now) == {"a"}
    assert scene.queue.messages.dropped == 5


def test_what_is_no_incident_is_not_repeated_and_is_forgotten_after_a_day() -> None:
    scene = Scene(repeat_s=60.0, edits=True)
    said = notice_of(incident(), NoticeKind.OPENED, sequence=1)
    scene.queue.post("a", "undelivered:b", said, scene.now)
    assert len(scene.send()) == 1
    assert scene.after(3600).send() == []
    scene.queue.messages.drain_changes()
    assert scene.after(KEPT_S).send() == []
    assert scene.queue.messages.drain_changes() == {("undelivered:b", "a"): None}


@pytest.mark.parametrize("edits", [True, False])
def test_who_has_to_decide_is_asked_at_once_and_once(edits: bool) -> None:
    scene = Scene(edits=edits).tell(incident())
    assert scene.send() == ["opened i1"]
    scene.asks = "p1@1.0"
    assert scene.after(0.2).tell(later(incident(), START + 0.2)).send() == ["asked i1"]
    assert scene.tell(later(incident(), START + 0.3)).after(60.0).send() != ["asked i1"]
    scene.asks = ""
    decided = scene.tell(later(incident(), START + 70.0)).after(60.0).send()
    assert decided == (["updated i1"] if edits else [])
    scene.asks = "p2@2.0"
    assert scene.tell(later(incident(), START + 200.0)).send() == ["asked i1"]


def test_what_is_asked_before_anybody_was_told_is_told_with_it() -> None:
    scene = Scene().tell(incident())
    scene.asks = "p1@1.0"
    scene.tell(later(incident(), START + 0.1))
    assert scene.send() == ["opened i1"]
    assert scene.tell(later(incident(), START + 0.2)).send() == []


def test_what_begins_waits_a_moment_for_what_will_be_asked_about_it() -> None:
    scene = Scene()
    scene.soon_s = 2.0
    assert scene.tell(incident()).send() == []
    scene.after(0.2).asks = "p1@1.0"
    assert scene.tell(later(incident(), START + 0.2)).send() == ["opened i1"], "one message"
    other = Scene()
    other.soon_s = 2.0
    assert other.tell(incident()).send() == []
    assert other.after(2.0).send() == ["opened i1"], "nothing was asked"


def test_what_is_asked_while_the_beginning_is_being_sent_is_asked_after_it() -> None:
    scene = Scene().tell(incident())
    flying = scene.queue.next("a", scene.now)
    assert flying is not None
    sent = flying.notice
    scene.asks = "p1@1.0"
    scene.tell(later(incident(), START + 0.1))
    scene.settle(flying, TAKEN, sent)
    assert scene.send() == ["asked i1"]


@pytest.mark.parametrize(("soon_s", "said"), [(0.0, ["asked i1"]), (2.0, ["opened i1"])])
def test_what_is_asked_at_the_very_moment_of_another_change_is_not_missed(
    soon_s: float, said: list[str]
) -> None:
    scene = Scene()
    scene.soon_s = soon_s
    scene.tell(incident()).send()
    scene.asks = "p1@1.0"
    assert scene.tell(incident()).send() == said
    assert scene.tell(incident()).after(5.0).send() == []


def test_a_question_that_nobody_answers_is_told_of_with_the_end() -> None:
    scene = Scene()
    scene.soon_s = 2.0
    scene.tell(incident()).asks = "p1@1.0"
    scene.tell(later(called(START + 0.1), START + 0.1))
    assert scene.send() == ["opened i1"], "the first message is the question"
    scene.asks = ""
    line = TimelineEntry(START + 1800.0, TimelineKind.NOTE, "nobody approved in time")
    known = called(START + 0.1)
    known = later(known, START + 1800.0, timeline=(*known.timeline, line))
    assert scene.after(1800.0).tell(known).send() == []
    assert scene.after(60.0).tell(over(known, scene.now)).send() == ["closed i1"]
    assert "nobody approved in time" in scene.said[-1].done[-1]


def test_nobody_is_asked_of_what_is_muted() -> None:
    scene = Scene().tell(incident())
    scene.send()
    scene.asks = "p1@1.0"
    assert scene.tell(later(incident(), START + 1.0), muted=True).send() == []
    assert scene.tell(later(incident(), START + 1.0)).send() == ["asked i1"]


def test_who_was_asked_before_a_restart_is_not_asked_again() -> None:
    scene = Scene()
    scene.asks = "p1@1.0"
    scene.tell(incident())
    scene.send()
    rows = [row for row in scene.queue.messages.drain_changes().values() if row is not None]
    after = Scene()
    after.asks = "p1@1.0"
    after.queue.messages.restore(rows, START + 5.0)
    assert after.tell(later(incident(), START + 5.0)).send() == []


def called(at: float) -> Incident:
    """The incident, after a person was called at a moment."""
    known = incident()
    line = TimelineEntry(at, TimelineKind.CALL, "no spare stands in for n1")
    return later(known, at, timeline=(*known.timeline, line))


@pytest.mark.parametrize("edits", [True, False])
def test_what_needs_a_person_rings_once(edits: bool) -> None:
    scene = Scene(edits=edits).tell(incident())
    assert scene.send() == ["opened i1"]
    assert scene.after(1.0).tell(called(START + 1.0)).send() == ["called i1"]
    assert "no spare stands in for n1" in scene.said[-1].done[-1]
    again = msgspec.structs.replace(called(START + 1.0), updated=START + 90.0)
    assert scene.after(60.0).tell(again).send() == (["updated i1"] if edits else [])
    assert scene.tell(called(START + 200.0)).send() == ["called i1"]


def test_a_call_before_anybody_was_told_is_told_with_the_beginning() -> None:
    scene = Scene().tell(called(START))
    assert scene.send() == ["opened i1"]
    assert scene.tell(later(called(START), START + 0.2)).send() == []


def test_nobody_is_called_of_what_is_muted() -> None:
    scene = Scene().tell(incident())
    scene.send()
    assert scene.tell(called(START + 1.0), muted=True).send() == []
    assert scene.tell(later(called(START + 1.0), START + 2.0)).send() == ["called i1"]


def test_a_person_is_called_for_what_is_left_to_do_after_the_end() -> None:
    scene = Scene().tell(incident())
    scene.send()
    assert scene.after(60.0).tell(over(incident(), START + 60.0)).send() == ["closed i1"]
    late = over(called(START + 90.0), START + 60.0)
    left = later(late, START + 90.0)
    assert scene.after(30.0).tell(left).send() == ["called i1"]
    assert scene.tell(later(left, START + 91.0)).after(60.0).send() == []
    assert scene.tell(later(left, START + 92.0), muted=True).send() == []


def left_to_do(at: float) -> Incident:
    """An incident that was over a minute ago, and for which a person is called now."""
    return later(over(called(at), START + 60.0), at)


def test_a_person_is_called_once_for_what_the_sink_has_forgotten_or_was_never_told_of() -> None:
    scene = Scene()
    scene.tell(later(over(incident(), START + 60.0), START + 60.0))
    left = left_to_do(START + 90.0)
    assert scene.after(90.0).tell(left).send() == ["called i1"]
    assert scene.said[-1].closed == START + 60.0
    assert scene.tell(left, left).after(60.0).send() == []
    again = later(left_to_do(START + 200.0), START + 200.0)
    assert scene.tell(again).send() == ["called i1"]


def test_a_person_is_called_for_what_was_over_before_anybody_was_told() -> None:
    scene = Scene().tell(incident(2), incident())
    assert scene.send() == ["opened i2"]
    left = left_to_do(START + 90.0)
    assert scene.tell(left, left).send() == ["called i1"]
    assert scene.tell(left).after(60.0).send() == []


def test_nobody_is_called_late_of_what_is_muted_or_was_done_meanwhile() -> None:
    left = left_to_do(START + 90.0)
    done = TimelineEntry(START + 95.0, TimelineKind.NOTE, "n1 takes work again")
    scene = Scene().tell(left, muted=True)
    assert scene.send() == []
    over_now = later(left, START + 95.0, timeline=(*left.timeline, done))
    assert scene.tell(left, over_now).send() == []
    assert left.left_to_do == "no spare stands in for n1"
    assert over_now.left_to_do == ""


def _flaps(scene: Scene, times: int) -> Incident:
    """It is over and comes back so many times, a minute each; as it stands, open."""
    one = incident()
    for number in range(1, times + 1):
        one = over(one, scene.after(60).now)
        scene.tell(one).send()
        one = later(
            one, scene.after(60).now, state=IncidentState.OPEN, closed=None, reopened=number
        )
        scene.tell(one).send()
    return one


def test_what_flaps_is_told_once_and_its_end_once() -> None:
    scene = Scene()
    scene.end_wait_s = 300.0
    scene.tell(incident()).send()
    one = _flaps(scene, 5)
    scene.tell(over(one, scene.after(60).now)).send()
    assert scene.after(300).send() == []
    scene.end_wait_s = 0.0
    assert scene.after(300).send() == ["closed i1"]
    assert [said.kind.value for said in scene.said] == ["opened", "closed"]
    assert scene.after(86_000).send() == []


def test_a_sink_that_edits_sees_that_it_is_back_without_a_bell() -> None:
    scene = Scene(edits=True)
    scene.end_wait_s = 300.0
    scene.tell(incident()).send()
    _flaps(scene, 1)
    assert [said.kind.value for said in scene.said] == ["opened", "updated"]
    assert scene.references == ["", "m1"], "the same message"


def test_a_receiver_that_forgets_is_told_of_the_end_at_once() -> None:
    scene = Scene(repeat_s=60.0, edits=True).tell(incident())
    scene.send()
    scene.end_wait_s = 300.0
    assert scene.tell(over(incident(), scene.after(9).now)).send() == ["closed i1"]


def test_the_end_waits_anew_for_as_long_as_it_is_to() -> None:
    scene = Scene().tell(incident())
    scene.send()
    scene.end_wait_s = 5.0
    scene.tell(over(incident(), scene.now))
    for _ in range(20):
        assert scene.after(5).send() == []
    scene.end_wait_s = 0.0
    assert scene.after(5).send() == ["closed i1"]


def test_the_end_says_what_was_done_until_it_is_told() -> None:
    scene = Scene().tell(incident())
    scene.send()
    scene.end_wait_s = 5.0
    ended = over(incident(), scene.now)
    scene.tell(ended)
    scene.tell(later(ended, scene.now + 60, title="given back"))
    scene.end_wait_s = 0.0
    assert scene.after(60).send() == ["closed i1"]
    assert scene.said[-1].title == "given back"


def test_a_call_while_the_end_waits_is_told_at_once_and_is_the_end() -> None:
    scene = Scene().tell(incident())
    scene.send()
    scene.end_wait_s = 300.0
    ended = over(incident(), scene.now)
    scene.tell(ended)
    call = TimelineEntry(scene.now + 1, TimelineKind.CALL, "look")
    called = later(ended, scene.now + 1, timeline=(*ended.timeline, call))
    assert scene.tell(called).send() == ["called i1"]
    scene.end_wait_s = 0.0
    assert scene.after(600).send() == []


@pytest.mark.parametrize("what", ["called", "rose", "first"])
def test_what_nobody_has_heard_is_not_lost_when_the_end_is_taken_back(what: str) -> None:
    scene = Scene()
    one = incident(severity=Severity.WARNING)
    if what != "first":
        scene.tell(one).send()
    scene.outcome = NOT_NOW
    scene.after(10)
    if what == "called":
        call = TimelineEntry(scene.now, TimelineKind.CALL, "look")
        one = later(one, scene.now, timeline=(*one.timeline, call))
    if what == "rose":
        one = later(one, scene.now, severity=Severity.CRITICAL)
    scene.tell(one).send()
    scene.outcome = TAKEN
    scene.end_wait_s = 300.0
    ended = over(one, scene.after(60).now)
    assert scene.tell(ended).send() == []
    back = later(ended, scene.after(60).now, state=IncidentState.OPEN, closed=None, reopened=1)
    expected = {"called": "called i1", "rose": "updated i1", "first": "opened i1"}[what]
    assert scene.tell(back).send() == [expected]


def test_what_comes_back_muted_while_its_end_waits_is_open_when_it_is_heard_again() -> None:
    scene = Scene().tell(incident())
    scene.send()
    scene.end_wait_s = 300.0
    ended = over(incident(), scene.after(60).now)
    scene.tell(ended)
    back = later(ended, scene.after(60).now, state=IncidentState.OPEN, closed=None, reopened=1)
    scene.tell(back, muted=True)
    scene.end_wait_s = 0.0
    assert scene.tell(back).after(600).send() == []
    assert scene.tell(over(back, scene.now)).send() == ["closed i1"]


def test_a_plan_that_is_known_is_waited_for_no_more() -> None:
    scene = Scene()
    scene.soon_s = 2.0
    scene.tell(incident())
    assert scene.send() == []
    scene.decided = True
    assert scene.tell(later(incident(), START + 0.2)).after(0.2).send() == ["opened i1"]


def test_rows_are_written_in_the_words_of_earlier_versions() -> None:
    scene = Scene().tell(incident())
    scene.asks = "n1@1.0"
    scene.send()
    (row,) = [row for row in scene.queue.messages.drain_changes().values() if row is not None]
    fields = msgspec.msgpack.decode(row)
    assert {name for name in fields if name not in ("notice", "cadences")} == {
        *("incident", "sink", "waits", "due", "placed", "queued", "seen", "reference", "attempts"),
        *("error", "told_at", "rung_at", "told_severity", "told_closed", "reopened", "asked"),
        *("called", "once"),
    }
    assert (fields["told_at"], fields["waits"], fields["once"]) == (scene.now, False, False)
