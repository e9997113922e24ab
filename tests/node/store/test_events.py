from typing import Any

import pytest

from accelwatch.node.store.events import RING, SAME_FAULT_S, UNRESOLVED_S, EventStore
from accelwatch.schema.event import Category, ErrorEvent

DEVICES = {"0000:65:00.0": "n:0"}


def event(
    code: str = "xid_79", time: float = 100.0, source: str = "nvml", **more: Any
) -> ErrorEvent:
    fields: dict[str, Any] = {"device_id": "n:0", "text": "", **more}
    return ErrorEvent(code=code, category=Category.BUS, time=time, source=source, **fields)


def book(devices: dict[str, str] | None = None) -> EventStore:
    known = DEVICES if devices is None else devices
    return EventStore(lambda subject: known.get(subject, ""))


def test_one_fault_reported_by_two_sources_is_one_event_and_the_richer_text_stays() -> None:
    kept = book()
    assert kept.add([event(source="nvml", time=101.0)], 0.0)
    rich = event(source="kernel_log", text="NVRM: Xid 79", detail={"pid": "7"}, time=100.0)
    assert not kept.add([rich], 0.0)
    (found,) = kept.events()
    assert (found.text, found.detail, found.time) == ("NVRM: Xid 79", {"pid": "7"}, 100.0)
    assert [count.total for count in kept.counts_of("n:0")] == [1]


def test_the_poorer_telling_after_the_richer_changes_nothing() -> None:
    kept = book()
    kept.add([event(source="kernel_log", text="NVRM: Xid 79", detail={"pid": "7"})], 0.0)
    kept.add([event(source="nvml")], 0.0)
    assert [e.text for e in kept.events()] == ["NVRM: Xid 79"]


def test_a_repetition_by_one_source_is_counted() -> None:
    kept = book()
    kept.add([event(), event(), event(source="kernel_log"), event(source="kernel_log")], 0.0)
    assert [count.total for count in kept.counts_of("n:0")] == [2]


def test_faults_apart_in_time_device_or_code_are_different() -> None:
    kept = book()
    kept.add(
        [
            event(),
            event(source="kernel_log", time=106.0),
            event(source="kernel_log", device_id="n:1"),
            event(source="kernel_log", code="xid_48"),
        ],
        0.0,
    )
    assert len(kept.events()) == 4


def test_what_user_space_wrote_is_remembered_but_neither_counted_nor_merged() -> None:
    kept = book()
    assert not kept.add([event(trusted=False, source="kernel_log")], 0.0)
    assert kept.add([event()], 0.0)
    assert len(kept.events()) == 2
    assert [count.total for count in kept.counts_of("n:0")] == [1]


def test_a_subject_is_resolved_to_its_device_once_that_is_known() -> None:
    known: dict[str, str] = {}
    kept = EventStore(lambda subject: known.get(subject, ""))
    kept.add([event(device_id="", subject="0000:65:00.0")], 0.0)
    assert [e.device_id for e in kept.events()] == [""]
    assert kept.counts == {}
    known.update(DEVICES)
    assert kept.settle(1.0)
    assert [e.device_id for e in kept.events()] == ["n:0"]
    assert [count.total for count in kept.counts_of("n:0")] == [1]


def test_a_subject_that_stays_unknown_belongs_to_the_node() -> None:
    kept = book({})
    kept.add([event(device_id="", subject="nfs-server")], 0.0)
    assert not kept.settle(UNRESOLVED_S - 1)
    assert kept.settle(UNRESOLVED_S)
    assert [count.code for count in kept.counts_of("")] == ["xid_79"]


def test_memory_is_bounded_in_events_codes_and_devices() -> None:
    kept = book()
    kept.add([event(code=f"xid_{n}", time=float(n)) for n in range(1000)], 0.0)
    kept.add([event(device_id=f"d{n}", time=5000.0 + n) for n in range(1000)], 0.0)
    kept.add([event(device_id="", subject="?") for _ in range(1000)], 0.0)
    assert len(kept.events()) <= RING + 256
    assert len(kept.counts_of("n:0")) == 65
    assert sum(count.total for count in kept.counts_of("n:0")) == 1000
    assert len(kept.counts) == 256


@pytest.mark.parametrize("apart_s", [SAME_FAULT_S, -SAME_FAULT_S])
def test_two_sources_report_one_fault_up_to_the_limit_and_no_longer(apart_s: float) -> None:
    kept = book()
    kept.add([event(), event(source="kernel_log", time=100.0 + apart_s)], 0.0)
    assert len(kept.events()) == 1
    kept = book()
    kept.add([event(), event(source="kernel_log", time=100.0 + 1.25 * apart_s)], 0.0)
    assert len(kept.events()) == 2


def test_the_last_time_of_a_count_never_goes_back() -> None:
    kept = book()
    kept.add([event(time=200.0), event(time=100.0)], 0.0)
    assert [(count.total, count.last_time) for count in kept.counts_of("n:0")] == [(2, 200.0)]
    kept.add([event(time=300.0)], 0.0)
    assert [(count.total, count.last_time) for count in kept.counts_of("n:0")] == [(3, 300.0)]


@pytest.mark.parametrize(
    ("rich", "poor", "kept"), [("a", "", "a"), ("", "b", "b"), ("a", "b", "a"), ("", "", "")]
)
@pytest.mark.parametrize("rich_first", [True, False])
def test_the_subject_of_a_fault_is_that_of_the_richer_telling_or_of_the_other(
    rich: str, poor: str, kept: str, rich_first: bool
) -> None:
    events = [event(text="long", subject=rich), event(source="kernel_log", subject=poor)]
    store = book()
    store.add(events if rich_first else events[::-1], 0.0)
    assert [found.subject for found in store.events()] == [kept]
