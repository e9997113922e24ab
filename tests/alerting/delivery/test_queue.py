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


class Bench:
    """A queue, and a receiver of each sink that takes what comes, unless it is told not to."""

    def __init__(self, *routes: Route, edits: bool = False, **more: Any) -> None:
        self.now = START
        self.sent: list[Notice] = []
        self.references: list[str] = []
        self.lost: list[Lost] = []
        self.outcome = TAKEN
        names = more.pop("names", ("a",))
        sinks = tuple(SinkSettings(name=name, type="x") for name in names)
        alerts = Alerts(sinks=sinks, routes=routes)
        self.traits = {name: Traits(edits, more.get("repeat_s")) for name in names}
        self.requested = ""
        self.soon_s = 0.0
        self.decided = False
        self.end_wait_s = 0.0
        self.queue = Queue(
            Routes(alerts),
            self.traits,
            _described,
            storm_wait_s=10.0,
            outlook=Outlook(
                request_names=lambda _: self.requested,
                decides_within_s=lambda _: self.soon_s,
                is_decided=lambda _: self.decided,
                resolve_wait_s=lambda _: self.end_wait_s,
            ),
        )

    def report(self, *incidents: Incident, muted: bool = False) -> "Bench":
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
        self.sent.append(sent)
        self.references.append(message.reference)
        lost = self.queue.settle(message, sent, outcome, self.now)
        self.lost += [] if lost is None else [lost]

    def after(self, seconds: float) -> "Bench":
        self.now += seconds
        return self


def _described(one: Incident, kind: NoticeKind, sequence: int) -> Notice:
    return notice_of(one, kind, sequence=sequence)


def test_an_incident_is_sent_at_once_and_once() -> None:
    bench = Bench().report(incident())
    assert bench.send() == ["opened i1"]
    assert bench.report(incident()).after(3600).send() == []


def test_its_end_is_sent() -> None:
    bench = Bench().report(incident())
    bench.send()
    ended = over(incident(), bench.after(60).now)
    assert bench.report(ended).send() == ["closed i1"]
    assert bench.report(ended).send() == []
    assert [one.sequence for one in bench.sent] == [1, 2]


def test_what_was_over_before_it_was_sent_is_not_sent() -> None:
    bench = Bench().report(incident(), over(incident(), START + 1))
    assert bench.send() == []
    assert bench.queue.messages.due_at("a", bench.now) == NEVER


def test_an_end_is_sent_where_the_start_may_have_arrived() -> None:
    bench = Bench().report(incident())
    bench.outcome = NOT_NOW
    bench.send()
    bench.outcome = TAKEN
    assert bench.report(over(incident(), START + 1)).send() == ["closed i1"]


def test_the_end_of_what_is_being_sent_right_now_is_sent() -> None:
    bench = Bench().report(incident())
    message = bench.queue.next("a", bench.now)
    assert message is not None
    sent = message.notice
    bench.report(over(incident(), START + 1))
    bench.settle(message, TAKEN, sent)
    assert bench.send() == ["closed i1"]


@pytest.mark.parametrize(("edits", "sent"), [(False, []), (True, ["updated i1"])])
def test_small_news_are_for_sinks_that_edit(edits: bool, sent: list[str]) -> None:
    bench = Bench(edits=edits).report(incident())
    bench.send()
    bench.report(later(incident(), START + 1, title="other"))
    assert bench.send() == []
    assert bench.after(EDIT_EVERY_S).send() == sent


def test_a_rise_is_sent_to_all() -> None:
    low = incident(severity=Severity.WARNING)
    bench = Bench().report(low)
    bench.send()
    assert bench.report(later(low, START + 1, severity=Severity.CRITICAL)).send() == ["updated i1"]
    assert bench.report(later(low, START + 2, severity=Severity.WARNING)).send() == []


def test_the_latest_wins_while_it_waits() -> None:
    bench = Bench().report(incident())
    bench.outcome = NOT_NOW
    bench.send()
    bench.outcome = TAKEN
    bench.report(later(incident(), START + 1, title="second"))
    bench.report(later(incident(), START + 2, title="third"))
    assert bench.after(60).send() == ["opened i1"]
    assert bench.sent[-1].title == "third"


def test_members_of_a_group_are_not_sent_one_by_one() -> None:
    bench = Bench().report(*storm(30))
    assert bench.send() == ["opened i99"]
    assert len(bench.sent[0].nodes) == 30
    bench.after(600).report(*(over(one, bench.now) for one in storm(30)))
    assert bench.send() == ["closed i99"]
    assert len(bench.sent) == 2


def test_of_a_storm_that_comes_one_by_one_the_first_and_the_group_are_sent() -> None:
    bench = Bench()
    for number in range(1, 31):
        alone = incident(number, at=bench.now)
        bench.report(alone)
        bench.send()
        bench.after(0.2)
    bench.report(*storm(30, bench.now))
    assert bench.after(60).send() == ["opened i99"]
    assert len(bench.sent) == 2


def test_a_second_incident_waits_for_what_it_may_be_part_of() -> None:
    bench = Bench().report(incident(1), incident(2))
    assert bench.send() == ["opened i1"]
    assert bench.after(9.9).send() == []
    assert bench.after(0.2).send() == ["opened i2"]


def test_what_waits_waits_on_while_others_of_its_family_start() -> None:
    bench = Bench().report(incident(1))
    assert bench.send() == ["opened i1"]
    for number in range(2, 6):
        bench.after(6.0).report(incident(number))
        assert bench.send() == []
    sent = bench.after(10.0).send()
    assert sorted(sent) == [f"opened i{number}" for number in range(2, 6)]


def test_those_of_another_family_keep_nobody_waiting() -> None:
    bench = Bench().report(incident(1), incident(2))
    bench.send()
    bench.after(6.0).report(incident(3, family="other"))
    assert bench.after(4.1).send() == ["opened i2"]


def test_nothing_waits_for_more_than_a_minute() -> None:
    bench = Bench().report(incident(1))
    bench.send()
    for number in range(2, 14):
        bench.after(5.0).report(incident(number))
        assert bench.send() == []
    assert bench.after(5.0).report(incident(14)).send() == ["opened i2"]


def test_what_becomes_worse_while_it_waits_waits_no_more() -> None:
    low = incident(2, severity=Severity.WARNING)
    bench = Bench().report(incident(1), low)
    bench.send()
    bench.after(6.0).report(incident(3))
    assert bench.report(later(low, bench.now, severity=Severity.CRITICAL)).send() == ["opened i2"]


def test_a_group_of_the_fleet_waits_for_nobody() -> None:
    (group,) = storm(30)[-1:]
    wide = later(group, START, entity=Entity(scope=Scope.DEVICE, group="fleet"))
    bench = Bench().report(incident(1), wide)
    assert sorted(bench.send()) == ["opened i1", "opened i99"]


def test_a_storm_waits_until_its_nodes_are_counted() -> None:
    (group,) = storm(30)[-1:]
    entity = Entity(scope=Scope.NODE, group="fleet")
    wide = later(group, START, entity=entity, storm=True)
    bench = Bench().report(wide)
    assert bench.send() == []
    bench.after(2.0).report(later(wide, START + 2, title="200 nodes at once"))
    assert bench.after(7.0).send() == []
    assert bench.after(1.0).send() == ["opened i99"]
    assert bench.sent[-1].title == "200 nodes at once"


def test_a_smaller_group_may_become_part_of_another() -> None:
    bench = Bench().report(incident(1), *storm(3)[-1:])
    assert bench.send() == ["opened i1"]
    bench.report(later(storm(3)[-1], START + 1, group="i100"))
    assert bench.after(60).send() == []


def test_what_is_muted_is_not_sent_until_it_is_unmuted() -> None:
    bench = Bench().report(incident(), muted=True)
    assert bench.send() == []
    assert bench.report(incident()).send() == ["opened i1"]


def test_what_waits_is_not_sent_when_it_is_muted_meanwhile() -> None:
    bench = Bench().report(incident())
    assert bench.report(incident(), muted=True).send() == []


def test_a_rise_waits_while_it_is_muted_and_is_sent_afterwards() -> None:
    low = incident(severity=Severity.WARNING)
    bench = Bench().report(low)
    assert bench.send() == ["opened i1"]
    worse = later(low, START + 1, severity=Severity.CRITICAL)
    bench.after(1).report(worse).report(worse, muted=True)
    assert bench.after(3600).send() == []
    assert bench.report(worse).send() == ["updated i1"]


def test_what_was_sent_is_not_sent_again_because_it_was_muted_meanwhile() -> None:
    bench = Bench().report(incident())
    assert bench.send() == ["opened i1"]
    bench.report(incident(), muted=True)
    assert bench.report(incident()).after(3600).send() == []


def test_the_end_of_what_was_sent_is_sent_though_it_is_muted() -> None:
    bench = Bench().report(incident())
    bench.send()
    assert bench.report(over(incident(), START + 9), muted=True).send() == ["closed i1"]


def test_what_comes_back_and_goes_while_it_is_muted_is_not_sent() -> None:
    bench = Bench().report(incident())
    bench.send()
    bench.after(60).report(over(incident(), bench.now))
    bench.send()
    bench.after(60).report(later(incident(), bench.now, reopened=1), muted=True)
    again = later(over(incident(), bench.now + 60), bench.now + 60, reopened=1)
    assert bench.after(60).report(again, muted=True).send() == []


def test_one_that_comes_back_is_sent_and_has_a_message_of_its_own() -> None:
    bench = Bench(edits=True).report(incident())
    bench.send()
    bench.after(60).report(over(incident(), bench.now))
    bench.send()
    bench.after(60).report(later(incident(), bench.now, reopened=1))
    assert bench.send() == ["opened i1"]
    assert bench.references == ["", "m1", ""]
    bench.after(60).report(later(over(incident(), bench.now), bench.now, reopened=1))
    assert bench.send() == ["closed i1"]


def test_routes_choose_by_severity_and_labels() -> None:
    pool = Route(sinks=("a",), match=("pool=train",))
    all_ = Route(sinks=("b",), min_severity="info")
    bench = Bench(pool, all_, names=("a", "b"))
    bench.report(incident(1, severity=Severity.INFO))
    assert (bench.send("a"), bench.send("b")) == ([], ["opened i1"])
    bench.after(60).report(incident(2, severity=Severity.WARNING))
    assert (bench.send("a"), bench.send("b")) == (["opened i2"], ["opened i2"])
    facts = msgspec.structs.replace(incident().facts, labels={"pool": "test"})
    bench.after(60).report(incident(3, facts=facts))
    assert (bench.send("a"), bench.send("b")) == ([], ["opened i3"])


def test_without_a_route_a_warning_is_sent_and_a_note_is_not() -> None:
    bench = Bench().report(
        incident(1, severity=Severity.INFO), incident(2, severity=Severity.WARNING)
    )
    assert bench.send() == ["opened i2"]


def test_a_later_sink_does_not_get_what_is_over_by_then() -> None:
    boss = Route(sinks=("boss",), after_s=1800.0)
    bench = Bench(Route(sinks=("a",)), boss, names=("a", "boss")).report(incident(1))
    bench.after(60).report(incident(2, at=bench.now))
    assert (len(bench.send("a")), bench.send("boss")) == (2, [])
    bench.report(over(incident(1), bench.now))
    assert bench.after(1800).send("boss") == ["opened i2"]


def test_reminders_as_long_as_it_is_open() -> None:
    bench = Bench(Route(remind_s=3600.0)).report(incident())
    bench.send()
    assert bench.after(3599).send() == []
    assert bench.after(1).send() == ["reminder i1"]
    assert bench.after(3600).send() == ["reminder i1"]
    bench.report(incident(), muted=True)
    assert bench.after(7200).send() == []
    bench.report(incident())
    assert bench.send() == ["reminder i1"]
    bench.report(over(incident(), bench.now))
    assert bench.send() == ["closed i1"]
    assert bench.after(7200).send() == []


def test_a_receiver_that_forgets_is_notified_again() -> None:
    bench = Bench(repeat_s=60.0, edits=True).report(incident())
    bench.send()
    assert bench.after(60).send() == ["updated i1"]
    assert bench.after(60).send() == ["updated i1"]
    assert [one.sequence for one in bench.sent] == [1, 2, 3]
    bench.report(over(incident(), bench.now))
    bench.send()
    assert bench.after(120).send() == []


QUIET = QuietHours(start="22:00", end="07:00", zone="Asia/Seoul")


def test_at_night_what_is_not_urgent_waits_for_the_morning() -> None:
    # 12:14 in Seoul; it becomes 22:14 there.
    bench = Bench(Route(quiet=QUIET)).after(10 * 3600)
    bench.report(incident(1, severity=Severity.WARNING, at=bench.now))
    assert bench.send() == []
    bench.after(60).report(incident(2, at=bench.now))
    assert bench.after(60).send() == ["opened i2"]
    assert bench.after(8 * 3600 + 46 * 60 - 120).send() == ["opened i1"]


def test_a_reminder_waits_for_the_end_of_quiet_hours() -> None:
    # Told at 20:14:07 in Seoul.
    bench = Bench(Route(remind_s=4 * 3600.0, quiet=QUIET)).after(8 * 3600)
    low = incident(severity=Severity.WARNING, at=bench.now)
    assert bench.report(low).send() == ["opened i1"]
    morning = bench.now + 10 * 3600 + 45 * 60 + 53
    assert bench.queue.messages.due_at("a", bench.now) == morning
    assert bench.after(4 * 3600).report(low).send() == []
    bench.now = morning
    assert bench.send() == ["reminder i1"]
    assert bench.after(4 * 3600).send() == ["reminder i1"]


def test_what_is_urgent_is_reminded_of_at_night() -> None:
    bench = Bench(Route(remind_s=4 * 3600.0, quiet=QUIET)).after(8 * 3600)
    bench.report(incident(at=bench.now)).send()
    assert bench.after(4 * 3600).send() == ["reminder i1"]


def test_a_receiver_that_forgets_is_notified_again_at_night_and_not_reminded() -> None:
    bench = Bench(Route(remind_s=4 * 3600.0, quiet=QUIET), repeat_s=3600.0).after(8 * 3600)
    bench.report(incident(severity=Severity.WARNING, at=bench.now)).send()
    sent = [line for _ in range(11) for line in bench.after(3600).send()]
    assert sent == ["updated i1"] * 10 + ["reminder i1"]


def test_of_two_routes_the_earlier_reminder_rings() -> None:
    always = Route(remind_s=8 * 3600.0)
    bench = Bench(Route(remind_s=4 * 3600.0, quiet=QUIET), always).after(8 * 3600)
    bench.report(incident(severity=Severity.WARNING, at=bench.now)).send()
    assert bench.after(8 * 3600 - 1).send() == []
    assert bench.after(1).send() == ["reminder i1"]


def test_a_route_that_reminds_of_nothing_has_no_part_in_it() -> None:
    bench = Bench(Route(remind_s=3600.0), Route(quiet=QUIET)).report(incident())
    bench.send()
    assert bench.after(3599).send() == []
    assert bench.after(1).send() == ["reminder i1"]


def _evening(*, edits: bool = False, severity: Severity = Severity.WARNING) -> Bench:
    """A minute before the quiet hours something has begun that the sink does not take."""
    bench = Bench(Route(quiet=QUIET), edits=edits).after(9 * 3600 + 45 * 60 - 7)
    bench.outcome = NOT_NOW
    bench.report(incident(severity=severity, at=bench.now)).send()
    bench.outcome = TAKEN
    return bench


def test_what_was_not_taken_in_the_evening_waits_for_the_morning_too() -> None:
    bench = _evening()
    assert bench.after(120).send() == []
    assert bench.after(9 * 3600 - 61).send() == []
    assert bench.after(1).send() == ["opened i1"]


def test_what_was_not_taken_and_is_urgent_is_tried_again_at_night() -> None:
    assert _evening(severity=Severity.CRITICAL).after(120).send() == ["opened i1"]


def test_an_edit_that_was_not_taken_is_tried_again_at_night() -> None:
    bench = Bench(Route(quiet=QUIET), edits=True).after(9 * 3600 + 40 * 60)
    low = incident(severity=Severity.WARNING, at=bench.now)
    bench.report(low).send()
    bench.after(60).report(later(low, bench.now))
    bench.outcome = NOT_NOW
    assert bench.send() == ["updated i1"]
    bench.outcome = TAKEN
    assert bench.after(600).send() == ["updated i1"]


def test_a_call_that_was_not_taken_in_the_evening_waits_for_the_morning() -> None:
    bench = Bench(Route(quiet=QUIET)).after(9 * 3600 + 45 * 60 - 7)
    bench.outcome = NOT_NOW
    bench.queue.call(incident(severity=Severity.WARNING, at=bench.now), bench.now)
    assert bench.send() == ["called i1"]
    bench.outcome = TAKEN
    assert bench.after(120).send() == []
    assert bench.after(9 * 3600 - 60).send() == ["called i1"]


def test_what_becomes_urgent_at_night_does_not_wait() -> None:
    bench = Bench(Route(quiet=QUIET)).after(10 * 3600)
    low = incident(1, severity=Severity.WARNING, at=bench.now)
    bench.report(low)
    bench.send()
    assert bench.report(later(low, bench.now + 1, severity=Severity.CRITICAL)).send() == [
        "opened i1"
    ]


def test_one_that_fails_is_tried_less_and_less_often() -> None:
    bench = Bench().report(incident())
    bench.outcome = NOT_NOW
    pauses = []
    for _ in range(12):
        bench.send()
        due = bench.queue.messages.due_at("a", bench.now)
        pauses.append(due - bench.now)
        bench.now = due
    assert pauses[:4] == [2.0, 4.0, 8.0, 16.0]
    assert pauses[-1] == 600.0


def test_a_receiver_says_when_to_come_back() -> None:
    bench = Bench().report(incident())
    bench.outcome = Outcome(status=Status.RETRY, retry_after_s=1234.0)
    bench.send()
    assert bench.queue.messages.due_at("a", bench.now) == bench.now + 1234.0


def test_after_a_day_it_is_given_up() -> None:
    bench = Bench().report(incident())
    bench.outcome = NOT_NOW
    bench.send()
    assert bench.lost == []
    bench.after(GIVE_UP_AFTER_S).send()
    ((sink, notice, reason),) = bench.lost
    assert (sink, notice.key, reason) == ("a", "i1", "not accepted for a day")
    assert bench.queue.messages.due_at("a", bench.now) == NEVER


def test_what_is_refused_is_given_up_at_once_and_the_next_is_sent() -> None:
    bench = Bench().report(incident())
    bench.outcome = Outcome(status=Status.REFUSED, message="answered 413")
    bench.send()
    assert bench.lost[0].reason == "answered 413"
    bench.outcome = TAKEN
    assert bench.after(60).report(incident(2)).send() == ["opened i2"]


def test_newer_news_are_sent_though_the_older_were_refused() -> None:
    bench = Bench().report(incident())
    message = bench.queue.next("a", bench.now)
    assert message is not None
    sent = message.notice
    bench.report(over(incident(), START + 1))
    bench.settle(message, Outcome(status=Status.REFUSED), sent)
    assert bench.send() == ["closed i1"]


def test_a_restart_goes_on_where_it_was() -> None:
    bench = Bench(edits=True).report(incident(1), incident(2))
    bench.send()
    rows = [row for row in bench.queue.messages.drain_changes().values() if row is not None]
    anew = Bench(edits=True)
    anew.queue.messages.restore([*rows, b"\xc1 no row"], anew.now)
    anew.report(incident(1), incident(2))
    assert anew.after(10).send() == ["opened i2"]
    anew.report(over(incident(1), anew.now))
    assert anew.send() == ["closed i1"]
    assert anew.references == ["", "m1"]


def test_rows_of_a_sink_that_is_gone_are_dropped() -> None:
    bench = Bench(names=("old",)).report(incident())
    rows = [row for row in bench.queue.messages.drain_changes().values() if row is not None]
    anew = Bench()
    anew.queue.messages.restore(rows, anew.now)
    assert anew.send() == []


def test_what_is_over_and_sent_is_forgotten_after_a_day() -> None:
    bench = Bench().report(incident())
    bench.send()
    bench.report(over(incident(), START + 1))
    bench.send()
    bench.queue.messages.drain_changes()
    assert bench.after(KEPT_S).send() == []
    assert bench.queue.messages.drain_changes() == {("i1", "a"): None}


def test_changes_that_could_not_be_written_are_written_with_the_next() -> None:
    bench = Bench().report(incident())
    changes = bench.queue.messages.drain_changes()
    assert bench.queue.messages.drain_changes() == {}
    bench.queue.messages.restore_changes(changes)
    assert bench.queue.messages.drain_changes() == changes


def test_a_clock_that_is_set_back_does_not_hold_anything_back() -> None:
    bench = Bench().report(incident(1), incident(2))
    bench.send()
    bench.after(-3600)
    assert bench.queue.messages.due_at("a", bench.now) == bench.now + 10.0
    assert bench.after(10).send() == ["opened i2"]


def test_a_clock_that_is_set_back_makes_no_edit_of_a_reminder() -> None:
    bench = Bench(Route(remind_s=3600.0)).report(incident())
    bench.send()
    bench.after(600).after(-7200)
    assert bench.send() == []
    assert bench.after(3599).send() == []
    assert bench.after(1).send() == ["reminder i1"]
    assert bench.after(3600).send() == ["reminder i1"]


def test_a_clock_that_is_set_back_holds_no_reminder_back_behind_what_is_repeated() -> None:
    bench = Bench(Route(remind_s=3600.0), repeat_s=1500.0).report(incident())
    bench.send()
    assert bench.after(-86400).send() == []
    sent = [bench.after(1500).send(), bench.after(1500).send(), bench.after(600).send()]
    assert sent == [["updated i1"], ["updated i1"], ["reminder i1"]]


def test_a_process_that_starts_on_a_clock_that_was_set_back_reminds_in_time() -> None:
    bench = Bench(Route(remind_s=3600.0)).report(incident())
    bench.send()
    rows = [row for row in bench.queue.messages.drain_changes().values() if row is not None]
    after = Bench(Route(remind_s=3600.0)).after(-86400)
    after.queue.messages.restore(rows, after.now)
    assert after.after(3599).send() == []
    assert after.after(1).send() == ["reminder i1"]


def test_a_reminder_waits_for_the_end_of_quiet_hours_on_a_clock_that_is_set_back() -> None:
    # Told at 20:14:07 in Seoul, due at 7:00, which is 6:00 once it is set back by an hour.
    bench = Bench(Route(remind_s=4 * 3600.0, quiet=QUIET)).after(8 * 3600)
    bench.report(incident(severity=Severity.WARNING, at=bench.now)).send()
    assert bench.after(-3600).send() == []
    assert bench.after(10 * 3600 + 45 * 60 + 53).send() == []
    assert bench.after(3600).send() == ["reminder i1"]


def test_a_flood_is_bounded_and_counted() -> None:
    bench = Bench()
    for number in range(MOST_MESSAGES + 5):
        bench.report(incident(number, at=START))
    assert bench.queue.messages.dropped == 5
    assert len(bench.after(60).send()) == MOST_MESSAGES


def test_a_notice_that_is_of_no_incident_replaces_itself() -> None:
    bench = Bench()
    sent = notice_of(incident(), NoticeKind.OPENED, sequence=1)
    bench.queue.post("a", "undelivered:b", sent, bench.now)
    assert len(bench.send()) == 1
    bench.queue.post("a", "undelivered:b", sent, bench.now)
    assert len(bench.send()) == 1
    assert [one.sequence for one in bench.sent] == [1, 2]


def spoken(text: str = "the spare n4 failed quick", node: str = "n4") -> Incident:
    return call_of(text, entity_of(node), Facts(), START)


def test_a_call_without_an_incident_goes_the_way_of_incidents() -> None:
    night = QuietHours(start="00:00", end="23:59")
    bench = Bench(
        Route(match=("node=n4",), sinks=("a",)),
        Route(min_severity="critical", sinks=("b",)),
        Route(match=("rule=accelwatch.remediation",), sinks=("c",), quiet=night),
        names=("a", "b", "c"),
    )
    assert bench.queue.call(spoken(), bench.now) == {"a", "c"}
    assert [bench.send(sink) for sink in "abc"] == [[f"called {spoken().id}"], [], []]
    (sent,) = bench.sent
    assert headline(sent) == "WARNING needs a person: the spare n4 failed quick: n4"
    assert bench.queue.call(spoken("job 7 has died of itself", ""), bench.now) == {"c"}
    bench.now = bench.queue.messages.due_at("c", bench.now)
    bench.send("c")
    assert headline(bench.sent[-1]).endswith("job 7 has died of itself: the cluster")


def test_the_same_call_is_one_message_and_another_one_is_another() -> None:
    bench = Bench()
    for one in (spoken(), spoken(), spoken("the spare n4 failed long")):
        bench.queue.call(one, bench.now)
    assert len(bench.send()) == 2
    bench.queue.call(spoken(), bench.now)
    assert [one.sequence for one in bench.sent] == [2, 1]
    assert len(bench.send()) == 1, "it is called again when it is so again"


def test_calls_are_bounded_as_incidents_are_and_those_that_are_known_find_room() -> None:
    bench = Bench()
    for number in range(MOST_MESSAGES + 5):
        bench.queue.call(spoken(f"job {number}"), bench.now)
    assert bench.queue.call(spoken("job 0"), bench.now) == {"a"}
    assert bench.queue.messages.dropped == 5


def test_what_is_no_incident_is_not_repeated_and_is_forgotten_after_a_day() -> None:
    bench = Bench(repeat_s=60.0, edits=True)
    sent = notice_of(incident(), NoticeKind.OPENED, sequence=1)
    bench.queue.post("a", "undelivered:b", sent, bench.now)
    assert len(bench.send()) == 1
    assert bench.after(3600).send() == []
    bench.queue.messages.drain_changes()
    assert bench.after(KEPT_S).send() == []
    assert bench.queue.messages.drain_changes() == {("undelivered:b", "a"): None}


@pytest.mark.parametrize("edits", [True, False])
def test_approval_is_requested_at_once_and_once(edits: bool) -> None:
    bench = Bench(edits=edits).report(incident())
    assert bench.send() == ["opened i1"]
    bench.requested = "p1@1.0"
    assert bench.after(0.2).report(later(incident(), START + 0.2)).send() == ["asked i1"]
    assert bench.report(later(incident(), START + 0.3)).after(60.0).send() != ["asked i1"]
    bench.requested = ""
    decided = bench.report(later(incident(), START + 70.0)).after(60.0).send()
    assert decided == (["updated i1"] if edits else [])
    bench.requested = "p2@2.0"
    assert bench.report(later(incident(), START + 200.0)).send() == ["asked i1"]


def test_what_is_requested_before_the_first_notice_is_sent_with_it() -> None:
    bench = Bench().report(incident())
    bench.requested = "p1@1.0"
    bench.report(later(incident(), START + 0.1))
    assert bench.send() == ["opened i1"]
    assert bench.report(later(incident(), START + 0.2)).send() == []


def test_a_new_incident_waits_briefly_for_its_approval_request() -> None:
    bench = Bench()
    bench.soon_s = 2.0
    assert bench.report(incident()).send() == []
    bench.after(0.2).requested = "p1@1.0"
    assert bench.report(later(incident(), START + 0.2)).send() == ["opened i1"], "one message"
    other = Bench()
    other.soon_s = 2.0
    assert other.report(incident()).send() == []
    assert other.after(2.0).send() == ["opened i1"], "nothing was asked"


def test_what_is_requested_while_the_start_is_being_sent_is_sent_after_it() -> None:
    bench = Bench().report(incident())
    flying = bench.queue.next("a", bench.now)
    assert flying is not None
    sent = flying.notice
    bench.requested = "p1@1.0"
    bench.report(later(incident(), START + 0.1))
    bench.settle(flying, TAKEN, sent)
    assert bench.send() == ["asked i1"]


@pytest.mark.parametrize(("soon_s", "sent"), [(0.0, ["asked i1"]), (2.0, ["opened i1"])])
def test_what_is_requested_at_the_very_time_of_another_change_is_not_missed(
    soon_s: float, sent: list[str]
) -> None:
    bench = Bench()
    bench.soon_s = soon_s
    bench.report(incident()).send()
    bench.requested = "p1@1.0"
    assert bench.report(incident()).send() == sent
    assert bench.report(incident()).after(5.0).send() == []


def test_an_unanswered_request_is_reported_with_the_end() -> None:
    bench = Bench()
    bench.soon_s = 2.0
    bench.report(incident()).requested = "p1@1.0"
    bench.report(later(called(START + 0.1), START + 0.1))
    assert bench.send() == ["opened i1"], "the first message is the question"
    bench.requested = ""
    line = TimelineEntry(START + 1800.0, TimelineKind.NOTE, "nobody approved in time")
    known = called(START + 0.1)
    known = later(known, START + 1800.0, timeline=(*known.timeline, line))
    assert bench.after(1800.0).report(known).send() == []
    assert bench.after(60.0).report(over(known, bench.now)).send() == ["closed i1"]
    assert "nobody approved in time" in bench.sent[-1].done[-1]


def test_no_approval_is_requested_for_what_is_muted() -> None:
    bench = Bench().report(incident())
    bench.send()
    bench.requested = "p1@1.0"
    assert bench.report(later(incident(), START + 1.0), muted=True).send() == []
    assert bench.report(later(incident(), START + 1.0)).send() == ["asked i1"]


def test_what_was_requested_before_a_restart_is_not_requested_again() -> None:
    bench = Bench()
    bench.requested = "p1@1.0"
    bench.report(incident())
    bench.send()
    rows = [row for row in bench.queue.messages.drain_changes().values() if row is not None]
    after = Bench()
    after.requested = "p1@1.0"
    after.queue.messages.restore(rows, START + 5.0)
    assert after.report(later(incident(), START + 5.0)).send() == []


def called(at: float) -> Incident:
    """The incident, after a person was called at a moment."""
    known = incident()
    line = TimelineEntry(at, TimelineKind.CALL, "no spare replaces n1")
    return later(known, at, timeline=(*known.timeline, line))


@pytest.mark.parametrize("edits", [True, False])
def test_what_needs_a_person_rings_once(edits: bool) -> None:
    bench = Bench(edits=edits).report(incident())
    assert bench.send() == ["opened i1"]
    assert bench.after(1.0).report(called(START + 1.0)).send() == ["called i1"]
    assert "no spare replaces n1" in bench.sent[-1].done[-1]
    again = msgspec.structs.replace(called(START + 1.0), updated=START + 90.0)
    assert bench.after(60.0).report(again).send() == (["updated i1"] if edits else [])
    assert bench.report(called(START + 200.0)).send() == ["called i1"]


def test_a_call_before_the_first_notice_is_sent_with_it() -> None:
    bench = Bench().report(called(START))
    assert bench.send() == ["opened i1"]
    assert bench.report(later(called(START), START + 0.2)).send() == []


def test_nobody_is_called_of_what_is_muted() -> None:
    bench = Bench().report(incident())
    bench.send()
    assert bench.report(called(START + 1.0), muted=True).send() == []
    assert bench.report(later(called(START + 1.0), START + 2.0)).send() == ["called i1"]


def test_a_person_is_called_for_what_is_left_to_do_after_the_end() -> None:
    bench = Bench().report(incident())
    bench.send()
    assert bench.after(60.0).report(over(incident(), START + 60.0)).send() == ["closed i1"]
    late = over(called(START + 90.0), START + 60.0)
    left = later(late, START + 90.0)
    assert bench.after(30.0).report(left).send() == ["called i1"]
    assert bench.report(later(left, START + 91.0)).after(60.0).send() == []
    assert bench.report(later(left, START + 92.0), muted=True).send() == []


def left_to_do(at: float) -> Incident:
    """An incident that was over a minute ago, and for which a person is called now."""
    return later(over(called(at), START + 60.0), at)


def test_a_person_is_called_once_for_what_the_sink_has_forgotten_or_never_got() -> None:
    bench = Bench()
    bench.report(later(over(incident(), START + 60.0), START + 60.0))
    left = left_to_do(START + 90.0)
    assert bench.after(90.0).report(left).send() == ["called i1"]
    assert bench.sent[-1].closed == START + 60.0
    assert bench.report(left, left).after(60.0).send() == []
    again = later(left_to_do(START + 200.0), START + 200.0)
    assert bench.report(again).send() == ["called i1"]


def test_a_person_is_called_for_what_was_over_before_anybody_was_notified() -> None:
    bench = Bench().report(incident(2), incident())
    assert bench.send() == ["opened i2"]
    left = left_to_do(START + 90.0)
    assert bench.report(left, left).send() == ["called i1"]
    assert bench.report(left).after(60.0).send() == []


def test_nobody_is_called_late_of_what_is_muted_or_was_done_meanwhile() -> None:
    left = left_to_do(START + 90.0)
    done = TimelineEntry(START + 95.0, TimelineKind.NOTE, "n1 takes work again")
    bench = Bench().report(left, muted=True)
    assert bench.send() == []
    over_now = later(left, START + 95.0, timeline=(*left.timeline, done))
    assert bench.report(left, over_now).send() == []
    assert left.left_to_do == "no spare replaces n1"
    assert over_now.left_to_do == ""


def _flaps(bench: Bench, times: int) -> Incident:
    """It is over and comes back so many times, a minute each; as it stands, open."""
    one = incident()
    for number in range(1, times + 1):
        one = over(one, bench.after(60).now)
        bench.report(one).send()
        one = later(
            one, bench.after(60).now, state=IncidentState.OPEN, closed=None, reopened=number
        )
        bench.report(one).send()
    return one


def test_what_flaps_is_sent_once_and_its_end_once() -> None:
    bench = Bench()
    bench.end_wait_s = 300.0
    bench.report(incident()).send()
    one = _flaps(bench, 5)
    bench.report(over(one, bench.after(60).now)).send()
    assert bench.after(300).send() == []
    bench.end_wait_s = 0.0
    assert bench.after(300).send() == ["closed i1"]
    assert [sent.kind.value for sent in bench.sent] == ["opened", "closed"]
    assert bench.after(86_000).send() == []


def test_a_sink_that_edits_sees_that_it_is_back_without_a_bell() -> None:
    bench = Bench(edits=True)
    bench.end_wait_s = 300.0
    bench.report(incident()).send()
    _flaps(bench, 1)
    assert [sent.kind.value for sent in bench.sent] == ["opened", "updated"]
    assert bench.references == ["", "m1"], "the same message"


def test_a_receiver_that_forgets_is_notified_of_the_end_at_once() -> None:
    bench = Bench(repeat_s=60.0, edits=True).report(incident())
    bench.send()
    bench.end_wait_s = 300.0
    assert bench.report(over(incident(), bench.after(9).now)).send() == ["closed i1"]


def test_the_end_waits_anew_for_as_long_as_it_is_to() -> None:
    bench = Bench().report(incident())
    bench.send()
    bench.end_wait_s = 5.0
    bench.report(over(incident(), bench.now))
    for _ in range(20):
        assert bench.after(5).send() == []
    bench.end_wait_s = 0.0
    assert bench.after(5).send() == ["closed i1"]


def test_the_end_says_what_was_done_until_it_is_sent() -> None:
    bench = Bench().report(incident())
    bench.send()
    bench.end_wait_s = 5.0
    ended = over(incident(), bench.now)
    bench.report(ended)
    bench.report(later(ended, bench.now + 60, title="given back"))
    bench.end_wait_s = 0.0
    assert bench.after(60).send() == ["closed i1"]
    assert bench.sent[-1].title == "given back"


def test_a_call_while_the_end_waits_is_sent_at_once_and_is_the_end() -> None:
    bench = Bench().report(incident())
    bench.send()
    bench.end_wait_s = 300.0
    ended = over(incident(), bench.now)
    bench.report(ended)
    call = TimelineEntry(bench.now + 1, TimelineKind.CALL, "look")
    called = later(ended, bench.now + 1, timeline=(*ended.timeline, call))
    assert bench.report(called).send() == ["called i1"]
    bench.end_wait_s = 0.0
    assert bench.after(600).send() == []


@pytest.mark.parametrize("what", ["called", "rose", "first"])
def test_what_was_not_sent_is_not_lost_when_the_end_is_taken_back(what: str) -> None:
    bench = Bench()
    one = incident(severity=Severity.WARNING)
    if what != "first":
        bench.report(one).send()
    bench.outcome = NOT_NOW
    bench.after(10)
    if what == "called":
        call = TimelineEntry(bench.now, TimelineKind.CALL, "look")
        one = later(one, bench.now, timeline=(*one.timeline, call))
    if what == "rose":
        one = later(one, bench.now, severity=Severity.CRITICAL)
    bench.report(one).send()
    bench.outcome = TAKEN
    bench.end_wait_s = 300.0
    ended = over(one, bench.after(60).now)
    assert bench.report(ended).send() == []
    back = later(ended, bench.after(60).now, state=IncidentState.OPEN, closed=None, reopened=1)
    expected = {"called": "called i1", "rose": "updated i1", "first": "opened i1"}[what]
    assert bench.report(back).send() == [expected]


def test_what_comes_back_muted_while_its_end_waits_is_open_when_it_is_unmuted() -> None:
    bench = Bench().report(incident())
    bench.send()
    bench.end_wait_s = 300.0
    ended = over(incident(), bench.after(60).now)
    bench.report(ended)
    back = later(ended, bench.after(60).now, state=IncidentState.OPEN, closed=None, reopened=1)
    bench.report(back, muted=True)
    bench.end_wait_s = 0.0
    assert bench.report(back).after(600).send() == []
    assert bench.report(over(back, bench.now)).send() == ["closed i1"]


def test_a_plan_that_is_known_is_waited_for_no_more() -> None:
    bench = Bench()
    bench.soon_s = 2.0
    bench.report(incident())
    assert bench.send() == []
    bench.decided = True
    assert bench.report(later(incident(), START + 0.2)).after(0.2).send() == ["opened i1"]


def test_rows_are_written_in_the_words_of_earlier_versions() -> None:
    bench = Bench().report(incident())
    bench.requested = "n1@1.0"
    bench.send()
    (row,) = [row for row in bench.queue.messages.drain_changes().values() if row is not None]
    fields = msgspec.msgpack.decode(row)
    assert {name for name in fields if name not in ("notice", "cadences")} == {
        *("incident", "sink", "waits", "due", "placed", "queued", "seen", "reference", "attempts"),
        *("error", "told_at", "rung_at", "told_severity", "told_closed", "reopened", "asked"),
        *("called", "once"),
    }
    assert (fields["told_at"], fields["waits"], fields["once"]) == (bench.now, False, False)
