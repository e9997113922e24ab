import pytest

from accelwatch.detection.channels.log import Log
from accelwatch.detection.evidence import Evidence, Subject, Weight
from accelwatch.detection.frame import FrameEvent
from accelwatch.schema.event import Category, ErrorEvent, severity
from support.detection.restarts import restore
from support.detection.ticks import Ticks, only


def event(
    ticks: Ticks,
    code: str,
    category: Category,
    *,
    after_s: float = 10.0,
    device: int = 6,
    trusted: bool = True,
    node: int = 1,
    detail: dict[str, str] | None = None,
) -> FrameEvent:
    made = ErrorEvent(
        code=code,
        category=category,
        time=ticks.now + after_s,
        text="",
        source="kernel_log",
        trusted=trusted,
        detail=detail or {},
    )
    return FrameEvent(node, device, made, severity(made))


def run(ticks: Ticks, log: Log, *events: FrameEvent) -> list[Evidence]:
    return log.evidence(ticks.after(events=events))


@pytest.mark.parametrize(
    ("code", "category", "family", "advice"),
    [
        ("xid_79", Category.BUS, "pcie", "reboot"),
        ("xid_145", Category.LINK_FATAL, "nvlink", "reset"),
        ("xid_119", Category.FIRMWARE, "other", "reset"),
        ("xid_48", Category.MEMORY_FATAL, "ecc", "reset"),
        ("xid_64", Category.MEMORY_FATAL, "ecc", "replace"),
        ("xid_94", Category.MEMORY_CONTAINED, "ecc", "restart"),
    ],
)
def test_what_is_critical_is_decisive(
    code: str, category: Category, family: str, advice: str
) -> None:
    ticks, log = Ticks(), Log()
    found = only(run(ticks, log, event(ticks, code, category)))
    assert (found.weight, found.family, found.advice, found.cause) == (
        Weight.DECISIVE,
        family,
        advice,
        code,
    )
    assert (found.subject, found.rows.tolist()) == (Subject.DEVICE, [6])


@pytest.mark.parametrize("category", [Category.LINK, Category.THERMAL, Category.OTHER])
def test_a_warning_confirms(category: Category) -> None:
    ticks, log = Ticks(), Log()
    assert only(run(ticks, log, event(ticks, "x", category))).weight is Weight.CONFIRMING


def test_an_applications_fault_never_excludes() -> None:
    ticks, log = Ticks(), Log()
    found = only(run(ticks, log, event(ticks, "xid_31", Category.APPLICATION)))
    assert (found.weight, found.advice) == (Weight.CONFIRMING, "restart")


def test_an_event_of_the_node() -> None:
    ticks, log = Ticks(), Log()
    found = only(run(ticks, log, event(ticks, "mce", Category.MEMORY_FATAL, device=-1)))
    assert (found.subject, found.rows.tolist()) == (Subject.NODE, [1])


def test_the_first_code_of_a_burst_is_its_cause() -> None:
    ticks, log = Ticks(), Log()
    run(ticks, log, event(ticks, "xid_145", Category.LINK_FATAL))
    found = run(ticks, log, event(ticks, "xid_79", Category.BUS, after_s=0.0))
    assert only(found).cause == "xid_145"
    for _ in range(8):
        run(ticks, log)
    found = run(ticks, log, event(ticks, "xid_79", Category.BUS))
    assert only(found).cause == "xid_79"


def test_a_fault_of_hardware_after_one_of_an_application_is_the_cause() -> None:
    ticks, log = Ticks(), Log()
    run(ticks, log, event(ticks, "xid_31", Category.APPLICATION))
    found = only(run(ticks, log, event(ticks, "xid_79", Category.BUS)))
    assert (found.cause, found.weight) == ("xid_79", Weight.DECISIVE)


def test_an_applications_fault_after_one_of_hardware_changes_nothing() -> None:
    ticks, log = Ticks(), Log()
    run(ticks, log, event(ticks, "xid_79", Category.BUS))
    found = only(run(ticks, log, event(ticks, "xid_31", Category.APPLICATION)))
    assert (found.cause, found.weight) == ("xid_79", Weight.DECISIVE)


def test_a_burst_stands_for_a_while_and_ends() -> None:
    ticks, log = Ticks(), Log()
    run(ticks, log, event(ticks, "xid_79", Category.BUS))
    for _ in range(25):
        assert run(ticks, log)
    for _ in range(3):
        run(ticks, log)
    assert run(ticks, log) == []


def test_what_is_untrusted_or_over_says_nothing() -> None:
    ticks, log = Ticks(), Log()
    untrusted = event(ticks, "xid_79", Category.BUS, trusted=False)
    over = event(ticks, "device_recovered", Category.OTHER)
    assert run(ticks, log, untrusted, over) == []


def test_a_node_in_maintenance_may_say_what_it_likes() -> None:
    ticks, log = Ticks(maintenance={1}), Log()
    assert run(ticks, log, event(ticks, "xid_79", Category.BUS)) == []


def test_a_restart_goes_on_and_a_new_generation_starts_anew() -> None:
    import numpy as np

    ticks, log, other = Ticks(), Log(), Log()
    run(ticks, log, event(ticks, "xid_79", Category.BUS))
    restore(log.state_arrays(), other, (16, 4))
    assert only(run(ticks, other)).cause == "xid_79"
    other.void(np.array([6]), np.array([], dtype=np.intp))
    assert run(ticks, other) == []


@pytest.mark.parametrize("after_s", [-1200.0, 1200.0])
def test_a_clock_that_is_off_by_minutes_neither_loses_an_event_nor_keeps_it(after_s: float) -> None:
    ticks, log = Ticks(), Log()
    found = only(run(ticks, log, event(ticks, "xid_79", Category.BUS, after_s=after_s)))
    assert found.since[0] <= ticks.now
    for _ in range(25):
        assert run(ticks, log)
    for _ in range(3):
        run(ticks, log)
    assert run(ticks, log) == []


def test_lines_of_a_clock_that_is_behind_are_one_burst() -> None:
    ticks, log = Ticks(), Log()
    run(ticks, log, event(ticks, "xid_145", Category.LINK_FATAL, after_s=-900.0))
    found = only(run(ticks, log, event(ticks, "xid_79", Category.BUS, after_s=-900.0)))
    assert found.cause == "xid_145"


@pytest.mark.parametrize(
    ("code", "detail"),
    [("edac_ce", {}), ("xid_92", {}), ("ras_umc", {"severity": "correctable"})],
)
def test_an_error_that_was_corrected_only_confirms(code: str, detail: dict[str, str]) -> None:
    ticks, log = Ticks(), Log()
    found = only(run(ticks, log, event(ticks, code, Category.MEMORY_CONTAINED, detail=detail)))
    assert found.weight is Weight.CONFIRMING


def test_a_fatal_line_after_a_warning_is_the_cause() -> None:
    ticks, log = Ticks(), Log()
    run(ticks, log, event(ticks, "xid_145", Category.LINK))
    found = only(run(ticks, log, event(ticks, "xid_149", Category.LINK_FATAL)))
    assert (found.cause, found.advice, found.weight) == ("xid_149", "reset", Weight.DECISIVE)


@pytest.mark.parametrize(
    ("code", "category", "family", "advice"),
    [
        ("nfs_not_responding", Category.OTHER, "storage", ""),
        ("mlx5_link_down", Category.LINK, "fabric", ""),
        ("pcie_corrected", Category.LINK, "pcie", ""),
        ("soft_lockup", Category.HANG, "host", "reboot"),
        ("hung_task", Category.HANG, "host", ""),
    ],
)
def test_lines_of_the_hosts_kernel_are_about_what_they_name(
    code: str, category: Category, family: str, advice: str
) -> None:
    ticks, log = Ticks(), Log()
    found = only(run(ticks, log, event(ticks, code, category, device=-1)))
    assert (found.family, found.advice) == (family, advice)


def test_tasks_that_wait_for_a_file_server_are_its_matter() -> None:
    ticks, log = Ticks(), Log()
    run(ticks, log, event(ticks, "hung_task", Category.HANG, device=-1))
    run(ticks, log, event(ticks, "nfs_not_responding", Category.OTHER, device=-1))
    found = only(run(ticks, log, event(ticks, "hung_task", Category.HANG, device=-1)))
    assert (found.cause, found.weight) == ("nfs_not_responding", Weight.CONFIRMING)


def test_a_file_server_is_silent_until_the_kernel_says_that_it_answers() -> None:
    ticks, log = Ticks(), Log()
    run(ticks, log, event(ticks, "nfs_not_responding", Category.OTHER, device=-1))
    for _ in range(60):
        assert run(ticks, log)
    assert run(ticks, log, event(ticks, "nfs_ok", Category.OTHER, device=-1)) == []


def test_a_file_server_that_answers_ends_nothing_else() -> None:
    ticks, log = Ticks(), Log()
    run(ticks, log, event(ticks, "soft_lockup", Category.HANG, device=-1))
    assert run(ticks, log, event(ticks, "nfs_ok", Category.OTHER, device=-1))


def test_storage_that_is_silent_for_many_is_waited_for() -> None:
    ticks, log = Ticks(), Log()
    one = run(ticks, log, event(ticks, "nfs_not_responding", Category.OTHER, device=-1))
    assert [piece.advice for piece in one] == [""]
    more = event(ticks, "nfs_not_responding", Category.OTHER, device=-1, node=2)
    assert [piece.advice for piece in run(ticks, log, more)] == ["wait", "wait"]


@pytest.mark.parametrize(
    ("code", "category"),
    [
        ("pcie_corrected", Category.LINK),
        ("edac_ce", Category.MEMORY_CONTAINED),
        ("xid_31", Category.APPLICATION),
        ("oom_kill", Category.APPLICATION),
    ],
)
@pytest.mark.parametrize("after_s", [-1200.0, 10.0])
def test_a_warning_that_is_not_repeated_has_not_lasted(
    code: str, category: Category, after_s: float
) -> None:
    ticks, log = Ticks(), Log()
    found = run(ticks, log, event(ticks, code, category, device=-1, after_s=after_s))
    for _ in range(25):
        assert only(found).sustained_s.tolist() == [0.0]
        found = run(ticks, log)


def test_a_warning_has_lasted_as_long_as_it_is_repeated() -> None:
    ticks, log = Ticks(), Log()
    for _ in range(11):
        run(ticks, log, event(ticks, "pcie_corrected", Category.LINK, device=-1))
        found = run(ticks, log)
    assert only(found).sustained_s.tolist() == [600.0]


def test_another_warning_in_a_burst_lasts_with_the_first() -> None:
    ticks, log = Ticks(), Log()
    run(ticks, log, event(ticks, "oom_kill", Category.APPLICATION, device=-1))
    found = run(ticks, log, event(ticks, "pcie_corrected", Category.LINK, device=-1))
    assert (only(found).cause, only(found).sustained_s.tolist()) == ("pcie_corrected", [30.0])


@pytest.mark.parametrize(
    ("code", "category"),
    [("xid_79", Category.BUS), ("nfs_not_responding", Category.OTHER)],
)
def test_what_stands_lasts_without_being_repeated(code: str, category: Category) -> None:
    ticks, log = Ticks(), Log()
    run(ticks, log, event(ticks, code, category, device=-1, after_s=0.0))
    for _ in range(9):
        found = run(ticks, log)
    assert only(found).sustained_s.tolist() == [300.0]
