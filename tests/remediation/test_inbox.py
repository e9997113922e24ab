"""What waits for a decision: the newest word on each thing, every end, and nothing is lost."""

from accelwatch.action.intent import IntentKind
from accelwatch.remediation.execution.inbox import MOST_CHANGES, Inbox
from accelwatch.remediation.policy.state.case import Case, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged
from accelwatch.remediation.policy.state.pursued import Poll, Pursued, PursuitResult
from accelwatch.remediation.policy.state.world import NodeStatus
from remediation.bench import intent
from remediation.virtual_time import START, VirtualLoop, run


def case(incident: str, node: str = "n1", title: str = "") -> CaseChanged:
    policy = Policy(rule="gpu.lost")
    known = Case(incident=incident, policy=policy, since=START, evidence_at=START, title=title)
    return CaseChanged(node=node, case=known)


def pursued(text: str) -> Pursued:
    wanted = intent(IntentKind.QUARANTINE)
    return Pursued(intent=wanted, result=PursuitResult.ACHIEVED, time=START, text=text)


def test_a_later_word_replaces_one_that_still_waits() -> None:
    inbox = Inbox()
    inbox.add_changes([case("i1"), case("i2"), case("i1", "n2"), case("i1", title="later")])
    inbox.add_observations([NodeStatus(node="n1", time=1.0), NodeStatus(node="n1", time=2.0)])
    inbox.add_observations([Poll(action="a", time=1.0), Poll(action="b", time=1.0)])
    inbox.add_observations([Poll(action="a", time=2.0)])
    changes, observations = inbox.waiting()
    assert [*changes.values()] == [case("i2"), case("i1", "n2"), case("i1", title="later")]
    assert [*observations.values()] == [
        NodeStatus(node="n1", time=2.0),
        Poll(action="b", time=1.0),
        Poll(action="a", time=2.0),
    ]


def test_every_end_counts() -> None:
    inbox = Inbox()
    inbox.add_observations([pursued("a"), pursued("b")])
    assert [*inbox.waiting()[1].values()] == [pursued("a"), pursued("b")]


def test_what_came_while_it_was_decided_waits_on() -> None:
    inbox = Inbox()
    inbox.add_changes([case("i1"), case("i2")])
    inbox.add_observations([pursued("a"), NodeStatus(node="n1", time=1.0)])
    changes, observations = inbox.waiting()
    inbox.add_changes([case("i1", title="later")])
    inbox.add_observations([pursued("b")])
    inbox.done(changes, observations)
    changes, observations = inbox.waiting()
    assert [*changes.values()] == [case("i1", title="later")]
    assert [*observations.values()] == [pursued("b")]


def test_a_thousand_incidents_are_decided_upon_in_parts() -> None:
    inbox = Inbox()
    changes_in = [case(f"i{number}") for number in range(MOST_CHANGES + 50)]
    inbox.add_changes(changes_in)
    first, observations = inbox.waiting()
    assert [*first.values()] == changes_in[:MOST_CHANGES]
    inbox.done(first, observations)
    second, observations = inbox.waiting()
    assert [*second.values()] == changes_in[MOST_CHANGES:]
    inbox.done(second, observations)
    assert inbox.waiting() == ({}, {})


def test_what_every_tick_brings_wakes_nobody() -> None:
    loop = VirtualLoop()

    async def waited(what: str) -> float:
        inbox = Inbox()
        if what == "case":
            inbox.add_changes([case("i1")])
        elif what == "end":
            inbox.add_observations([pursued("a")])
        elif what == "heard":
            inbox.add_observations([NodeStatus(node="n1", time=1.0)])
        elif what == "urgent":
            inbox.add_observations([NodeStatus(node="n1", time=1.0)], urgent=True)
        started_at = loop.time()
        await inbox.wait(1.0)
        return loop.time() - started_at

    async def play() -> list[float]:
        return [await waited(what) for what in ("case", "end", "urgent", "heard", "")]

    assert run(loop, play()) == [0.0, 0.0, 0.0, 1.0, 1.0]
