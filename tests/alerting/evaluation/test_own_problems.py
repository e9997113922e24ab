"""What is wrong with the process itself is notified once by every sink, and so is its end."""

import msgspec
import pytest

from accelwatch.alerting.delivery.formatting.notice import notice_of
from accelwatch.alerting.delivery.formatting.own_problem import OwnProblem, incident_of, is_own
from accelwatch.alerting.delivery.messages.message import Traits
from accelwatch.alerting.delivery.queue import Queue
from accelwatch.alerting.delivery.routing import Routes
from accelwatch.alerting.evaluation.self_check.checks import CHECK_EVERY_S
from accelwatch.alerting.evaluation.self_check.own_problems import (
    NOTIFIED_AFTER_S,
    OwnProblems,
    journal_problem,
)
from accelwatch.alerting.incidents.journal.patient import COMMIT_WAIT_S
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.sink import Notice, NoticeKind, Outcome, Status
from accelwatch.config.alerts import Alerts, QuietHours, Route, SinkSettings
from support.incidents.incident_samples import incident

T = 1_800_000_000.0
SINKS = ("pager", "chat")


def problem(key: str = "journal", text: str = "the disk is full") -> OwnProblem:
    return OwnProblem(key=key, title="nothing is done", text=text, what_to_do="free space")


def queue(*routes: Route) -> Queue:
    alerts = Alerts(sinks=tuple(SinkSettings(name=one) for one in SINKS), routes=routes)

    def described(about: Incident, kind: NoticeKind, sequence: int) -> Notice:
        return notice_of(about, kind, sequence=sequence)

    return Queue(Routes(alerts), dict.fromkeys(SINKS, Traits()), described, storm_wait_s=10.0)


class People:
    """What the sinks of a queue were given."""

    def __init__(self, *routes: Route) -> None:
        self.queue = queue(*routes)
        self.now = T
        self.own = OwnProblems(lambda one: self.queue.changed(one, False, self.now))

    def look(self, *problems: OwnProblem, after: float = 0.0) -> dict[str, list[Notice]]:
        """What each sink is sent when these problems are seen."""
        self.now += after
        self.own.update_problems(problems, self.now, self.now)
        sent: dict[str, list[Notice]] = {name: [] for name in SINKS}
        for name in SINKS:
            while (message := self.queue.next(name, self.now)) is not None:
                sent[name].append(message.notice)
                outcome = Outcome(status=Status.DELIVERED)
                self.queue.settle(message, message.notice, outcome, self.now)
        return sent


def test_it_is_notified_within_half_a_minute() -> None:
    """A look, the wait for a slow disk, and the time for which a problem has to stand."""
    assert CHECK_EVERY_S + COMMIT_WAIT_S + NOTIFIED_AFTER_S < 30.0


def test_every_sink_is_notified_once_and_of_the_end_whatever_the_routes_say() -> None:
    nobody = Route(sinks=("chat",), min_severity="critical", match=("node=other",), after_s=600.0)
    night = Route(quiet=QuietHours(start="00:00", end="23:59", below="critical"))
    people = People(nobody, night)
    assert people.look(problem()) == {"pager": [], "chat": []}
    for sent in people.look(problem(), after=NOTIFIED_AFTER_S).values():
        (notice,) = sent
        assert notice.kind is NoticeKind.OPENED
        assert (notice.title, notice.evidence) == ("nothing is done", ("the disk is full",))
        assert (notice.what_to_do, notice.where) == ("free space", "accelwatch itself")
        assert notice.since == T
    for _ in range(3):
        later = people.look(problem(text="the disk is still full"), after=3600.0)
        assert later == {"pager": [], "chat": []}
    for sent in people.look(after=60.0).values():
        (notice,) = sent
        assert notice.kind is NoticeKind.CLOSED
    assert people.look(after=60.0) == {"pager": [], "chat": []}


def test_what_is_over_at_once_is_notified_to_nobody() -> None:
    people = People()
    people.look(problem())
    people.look(problem(), after=NOTIFIED_AFTER_S - 1.0)
    assert people.look(after=1.0) == {"pager": [], "chat": []}
    people.look(problem(), after=1.0)
    assert people.look(problem(), after=NOTIFIED_AFTER_S - 1.0) == {"pager": [], "chat": []}


def test_each_kind_of_problem_is_notified_for_itself() -> None:
    people = People()
    both = problem(), problem("rules", "a file is broken")
    people.look(*both)
    sent = people.look(*both, after=NOTIFIED_AFTER_S)
    assert [len(notices) for notices in sent.values()] == [2, 2]
    sent = people.look(both[0], after=1.0)
    assert [one.kind for one in sent["chat"]] == [NoticeKind.CLOSED]


def test_an_incident_and_a_problem_of_our_own_do_not_wait_for_each_other() -> None:
    people = People()
    people.queue.changed(incident(), False, T)
    people.queue.next("chat", T)
    people.queue.changed(incident_of(problem(), T), False, T)
    assert people.queue.messages.due_at("chat", T) <= T
    own_first = queue()
    own_first.changed(incident_of(problem(), T), False, T)
    own_first.changed(incident(), False, T)
    assert own_first.next("pager", T) is not None
    assert own_first.next("pager", T) is not None


def test_what_was_wrong_with_an_earlier_process_is_forgotten() -> None:
    people = People()
    people.look(problem())
    people.look(problem(), after=NOTIFIED_AFTER_S)
    rows = [row for row in people.queue.messages.drain_changes().values() if row is not None]
    assert len(rows) == 2
    again = queue()
    again.messages.restore(rows, T)
    assert again.messages.waiting("chat", T) == []
    assert set(again.messages.drain_changes().values()) == {None}


@pytest.mark.parametrize(
    ("stalled", "unkept", "title"),
    [
        ("no journal", "no journal", "nothing is done about incidents"),
        ("", "the disk is full", "incidents are not kept in the journal"),
        ("", "", None),
    ],
)
def test_the_journal_is_a_problem_by_what_it_means(
    stalled: str, unkept: str, title: str | None
) -> None:
    found = journal_problem(stalled, unkept)
    assert (None if found is None else found.title) == title
    if found is not None:
        assert found.text == (stalled or unkept)
        assert ("--force" in found.what_to_do) is bool(stalled)


def test_only_what_is_about_the_process_is_its_own() -> None:
    assert is_own(incident_of(problem(), T))
    assert not is_own(incident())
    assert not is_own(msgspec.structs.replace(incident(), id="i7"))
