"""What is said of an incident, and how it reads."""

from typing import Any

import msgspec
import pytest

from accelwatch.alerting.delivery.formatting.notice import notice_of
from accelwatch.alerting.delivery.formatting.text import body, fitted, headline, lasting
from accelwatch.alerting.incidents.model.incident import (
    Facts,
    Incident,
    TimelineEntry,
    TimelineKind,
)
from accelwatch.alerting.rules.document import Advice, Confidence, Scope, Severity
from accelwatch.alerting.rules.verdict import (
    Entity,
    Evidence,
)
from accelwatch.alerting.sink import ApprovalRequest, Notice, NoticeKind, Planned

START = 1_795_317_247.0
LOST = Incident(
    id="i42",
    family="nvidia.gpu.lost",
    rule="nvidia.gpu.lost",
    rules=("nvidia.gpu.lost",),
    rule_digest="d",
    title="GPU has fallen off the bus",
    entity=Entity(scope=Scope.DEVICE, node="n12", device="nvidia:GPU-1"),
    facts=Facts(
        device_name="nvidia3",
        model="NVIDIA H100 80GB HBM3",
        serial="1652923012345",
        vendor="nvidia",
        labels={"rack": "r7", "pool": "train"},
        jobs=("4711",),
        users=("ana",),
    ),
    severity=Severity.CRITICAL,
    confidence=Confidence.HIGH,
    advice=Advice.REBOOT,
    since=START,
    opened=START + 10,
    updated=START + 10,
    evidence=(
        Evidence(signal="device_up", text="device_up is 0 since 10 s"),
        Evidence(signal="xid_79", text="Xid 79, fallen off the bus"),
        Evidence(signal="c", text="third"),
        Evidence(signal="d", text="fourth"),
    ),
    nodes=("n12",),
    what_to_do="reboot the node; a second time within 30 days: reseat or replace the board",
    runbook="https://example.org/xid79",
    source="NVIDIA Xid catalog",
    timeline=(TimelineEntry(START + 10, TimelineKind.OPENED, "GPU has fallen off the bus"),),
)


def changed(**fields: object) -> Incident:
    import msgspec

    return msgspec.structs.replace(LOST, **fields)


def notice(incident: Incident = LOST, kind: NoticeKind = NoticeKind.OPENED) -> Notice:
    return notice_of(incident, kind, sequence=1, hub="west", link="https://hub/i42")


def test_it_reads_like_this() -> None:
    assert headline(notice()) == (
        "CRITICAL GPU has fallen off the bus: "
        "n12 nvidia3 (serial 1652923012345, NVIDIA H100 80GB HBM3, rack r7)"
    )
    assert body(notice()) == (
        "since 2026-11-22 03:14:07 UTC, for 10 s\n"
        "- device_up is 0 since 10 s\n"
        "- Xid 79, fallen off the bus\n"
        "- third\n"
        "job 4711 of ana\n"
        "what to do: reboot the node; a second time within 30 days: reseat or replace the board\n"
        "runbook: https://example.org/xid79\n"
        "rule nvidia.gpu.lost (NVIDIA Xid catalog)\n"
        "incident west/i42: https://hub/i42"
    )


def test_what_is_not_known_leaves_no_hole() -> None:
    bare = changed(facts=Facts(), evidence=(), what_to_do="", runbook="", source="")
    sent = notice_of(bare, NoticeKind.OPENED, sequence=1)
    assert headline(sent) == "CRITICAL GPU has fallen off the bus: n12 nvidia:GPU-1"
    assert body(sent) == (
        "since 2026-11-22 03:14:07 UTC, for 10 s\nrule nvidia.gpu.lost\nincident i42"
    )


def test_one_that_is_over_says_how_long_it_was() -> None:
    over = notice(changed(closed=START + 3720, updated=START + 3720), NoticeKind.CLOSED)
    assert headline(over).startswith("CRITICAL over: GPU has")
    assert body(over).splitlines()[0] == "since 2026-11-22 03:14:07 UTC, over after 62 min"
    assert "what to do" not in body(over)


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [
        (NoticeKind.UPDATED, "CRITICAL update: GPU"),
        (NoticeKind.REMINDER, "CRITICAL still open: GPU"),
        (NoticeKind.TEST, "CRITICAL test: GPU"),
    ],
)
def test_the_headline_says_why_it_is_sent(kind: NoticeKind, prefix: str) -> None:
    assert headline(notice(kind=kind)).startswith(prefix)


def test_many_nodes_are_counted_and_some_are_named() -> None:
    nodes = tuple(f"n{at}" for at in range(1, 31))
    group = changed(entity=Entity(scope=Scope.DEVICE, group="rack=r7"), nodes=nodes)
    assert notice(group).where == "n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12 and 18 more"
    empty = changed(entity=Entity(scope=Scope.DEVICE, group="rack=r7"), nodes=())
    assert notice(empty).where == "rack=r7"
    job = changed(entity=Entity(scope=Scope.JOB, job="4711"), nodes=("n1", "n2"))
    assert notice(job).where == "job 4711: n1, n2"
    nowhere = changed(entity=Entity(scope=Scope.NODE), nodes=())
    assert notice(nowhere).where == "node"


def test_many_jobs_are_counted() -> None:
    facts = Facts(jobs=tuple(str(at) for at in range(7)), users=("ana", "bo"))
    assert "job 0, 1, 2, 3, 4 and 2 more of ana, bo" in body(notice(changed(facts=facts)))


def test_what_may_be_forged_is_labelled() -> None:
    assert "untrusted:" in body(notice(changed(trusted=False)))
    assert "untrusted" not in body(notice())


def test_names_that_move_a_cursor_are_harmless() -> None:
    facts = Facts(device_name="\x1b[2Jnvidia0", labels={"rack": "r\u202e7"}, jobs=("\x07",))
    sent = notice(changed(facts=facts, evidence=(Evidence(signal="a", text="x\ny\x1b]0;z"),)))
    assert (headline(sent) + body(sent)).replace("\n", "").isprintable()
    assert "\n- x?y" in body(sent)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 s"),
        (119.4, "119 s"),
        (120, "2 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (12_000, "3 h 20 min"),
        (2 * 86_400 - 1, "47 h 59 min"),
        (2 * 86_400, "2 d"),
        (187_200, "2 d 4 h"),
    ],
)
def test_durations_for_people(seconds: float, text: str) -> None:
    assert lasting(seconds) == text


@pytest.mark.parametrize("most", range(12))
def test_a_text_is_cut_between_letters_and_within_its_bytes(most: int) -> None:
    cut = fitted("가나다라", most)
    assert len(cut.encode()) <= most
    assert cut == "" or cut.endswith("…")


def test_a_text_that_fits_stays() -> None:
    assert fitted("가나다라", 12) == "가나다라"
    assert fitted("가나다라", 11) == "가나…"


REQUEST = ApprovalRequest(
    node="n12",
    plan="554dd877c172041b",
    steps=("take n12 out of the pool", "reboot n12"),
    at=START,
    until=START + 1800.0,
)


def test_what_waits_for_a_yes_stands_first_with_the_way_to_say_it() -> None:
    notice = notice_of(LOST, NoticeKind.APPROVAL, sequence=2, requests=(REQUEST,))
    assert headline(notice).startswith("CRITICAL needs your yes or no: GPU has fallen off the bus")
    lines = body(notice).split("\n")
    assert lines[1] == (
        "waits for a yes: take n12 out of the pool; reboot n12, until 2026-11-22 03:44:07 UTC"
    )
    assert lines[2] == (
        "decide: accelwatch remedy approve n12 --plan 554dd877c172041b --reason WHY (or deny)"
    )
    dated = msgspec.structs.replace(REQUEST, as_of=START - 4.0)
    notice = notice_of(LOST, NoticeKind.APPROVAL, sequence=2, requests=(dated,))
    assert body(notice).split("\n")[2].startswith("as of 2026-11-22 03:14:03 UTC; ")
    linked = msgspec.structs.replace(REQUEST, link="https://hub/incidents/i42?link=x")
    notice = notice_of(LOST, NoticeKind.APPROVAL, sequence=2, requests=(linked,))
    assert "decide: https://hub/incidents/i42?link=x" in body(notice).split("\n")


def notice_with(plan: Planned) -> Notice:
    sent = notice_of(LOST, NoticeKind.OPENED, sequence=1)
    return msgspec.structs.replace(sent, plans=(plan,))


@pytest.mark.parametrize(
    ("fields", "when"),
    [
        ({}, "now"),
        ({"at": 1_795_317_265.0}, "at 2026-11-22 03:14:25 UTC"),
        ({"held_back": "too many are out"}, "held back (too many are out)"),
        (
            {"held_back": "too many are out", "at": 1_795_317_265.0},
            "held back (too many are out) until 2026-11-22 03:14:25 UTC",
        ),
    ],
)
def test_what_will_be_done_says_when_and_how_it_is_stopped(
    fields: dict[str, Any], when: str
) -> None:
    plan = Planned(node="n12", steps=("take n12 out", "reboot n12"), **fields)
    sent = body(notice_with(plan)).split("\n")
    assert f"will be done {when}: take n12 out; reboot n12" in sent
    assert "to stop it: accelwatch remedy hold n12 --reason WHY" in sent


def test_what_acting_now_saves_is_reported_where_it_is_known() -> None:
    plan = Planned(node="n12", steps=("take n12 out",), saved_gpu_hours=12.3456)
    sent = body(notice_with(plan))
    assert "take n12 out; saves about 12.3 GPU-hours" in sent


@pytest.mark.parametrize(("returns", "text"), [(1, "came back once"), (3, "came back 3 times")])
def test_how_often_it_came_back_is_reported(returns: int, text: str) -> None:
    back = msgspec.structs.replace(LOST, reopened=returns)
    assert text in body(notice_of(back, NoticeKind.UPDATED, sequence=2))
    assert "came back" not in body(notice_of(LOST, NoticeKind.OPENED, sequence=1))


def test_the_latest_of_what_was_done_is_reported_with_its_source() -> None:
    noted = [
        TimelineEntry(START + at, TimelineKind.NOTE, f"note {at}\x1b[2J", "kim") for at in range(5)
    ]
    opened = TimelineEntry(START, TimelineKind.OPENED, "it begins")
    done = msgspec.structs.replace(LOST, timeline=(opened, *noted))
    sent = notice_of(done, NoticeKind.UPDATED, sequence=2)
    assert sent.done == tuple(f"03:14:{7 + at:02} UTC note {at}?[2J" for at in (2, 3, 4))
    assert "done: 03:14:11 UTC note 4?[2J" in body(sent).split("\n")
    ended = notice_of(done, NoticeKind.CLOSED, sequence=3)
    assert len(ended.done) == 5, "what is over tells the whole way"
