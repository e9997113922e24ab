"""A detector goes on in another process, by names and not by rows."""

import stat
from pathlib import Path

import pytest

from accelwatch.archive.detector.detector_memory import (
    AWAITED_S,
    FILE,
    MOST_ASIDE,
    SAVED_EVERY_S,
    DetectorMemory,
)
from accelwatch.detection.detector import Detector
from accelwatch.detection.findings.finding import Finding
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import DeviceView
from accelwatch.system.files.damaged import damaged_files
from support.fleet.detector_process import (
    INTERVAL_S,
    LEARNED_S,
    LOST,
    A,
    B,
    Process,
    gpu,
    next_process,
    stopped,
    written,
)
from support.machines import composed as machines


def test_snapshots_that_cannot_be_used_do_not_pile_up(tmp_path: Path) -> None:
    for number in range(MOST_ASIDE + 3):
        (tmp_path / FILE).write_bytes(b"of another version %d" % number)
        DetectorMemory(tmp_path / FILE).load()
    assert len(damaged_files(tmp_path)) == MOST_ASIDE


@pytest.mark.parametrize("gap_s", [0.0, 3600.0])
def test_another_process_goes_on(
    tmp_path: Path, gap_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    after = next_process(tmp_path, gap_s)
    # In another order.
    changed = [*after.tick(b=B[::-1], a=[LOST, A[0]])]
    for _ in range(9):
        changed += after.tick(b=B[::-1], a=[LOST, A[0]])

    assert after.frame.names.devices != ("gpu0", "gpu1", "gpu0", "gpu1", "gpu2")
    (finding,) = after.detector.findings.values()
    other = written().finding
    assert (finding.key, finding.onset, finding.opened) == (other.key, other.onset, other.opened)
    assert changed == []
    assert min(after.learned_s().values()) > LEARNED_S
    for _ in range(60):
        changed += after.tick(b=B[::-1], a=A[::-1])
    assert [each.cleared is None for each in changed] == [False]
    assert caplog.messages == []


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    stopped(tmp_path)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_it_is_saved_every_ten_minutes(tmp_path: Path) -> None:
    process = Process(tmp_path)
    due: list[float] = []
    for _ in range(130):
        process.tick(a=A, b=B)
        if process.memory.is_due(process.frame.now):
            due.append(process.frame.now - machines.NOW - INTERVAL_S)
            assert process.save() == ""
    assert due == [SAVED_EVERY_S, 2 * SAVED_EVERY_S]
    assert Process(tmp_path, process.clock.wall()).tick(a=A, b=B) == ()


@pytest.mark.parametrize(
    ("nodes", "anew"),
    [
        ({"a": [A[0]], "b": B}, set()),
        (
            {"a": [A[0], gpu("a", 1, uuid="GPU-new", state=DeviceState.LOST)], "b": B},
            {("a", "gpu1")},
        ),
        ({"a": [gpu("a", 0, uuid="GPU-new"), LOST], "b": B}, {("a", "gpu0")}),
        # It says less than it did, which makes it no other.
        ({"a": [gpu("a", 0, uuid=None), LOST], "b": B}, set()),
        ({"a": [gpu("a", 0, serial="17"), LOST], "b": B}, set()),
    ],
    ids=["gone", "replaced-when-lost", "replaced", "silent", "says-more"],
)
def test_who_is_another_starts_over(
    tmp_path: Path, nodes: dict[str, list[DeviceView]], anew: set[tuple[str, str]]
) -> None:
    after = next_process(tmp_path)
    after.tick(**nodes)
    found = {who for who, seconds in after.learned_s().items() if seconds <= 3 * INTERVAL_S}
    assert found == anew


def test_a_serial_number_makes_another_as_well(tmp_path: Path) -> None:
    before = Process(tmp_path)
    for _ in range(40):
        before.tick(a=[gpu("a", 0, uuid=None, serial="17")], b=B)
    before.save()
    after = Process(tmp_path, before.clock.wall())
    after.tick(a=[gpu("a", 0, uuid=None, serial="18")], b=B)
    assert after.learned_s()["a", "gpu0"] <= 3 * INTERVAL_S
    assert after.learned_s()["b", "gpu0"] > LEARNED_S


def test_a_node_that_was_rebooted_starts_over_with_its_devices(tmp_path: Path) -> None:
    after = next_process(tmp_path, 600.0)
    after.booted_at["a"] = written().now + 300.0
    (ended,) = after.tick(a=A, b=B)
    assert (ended.device, ended.cleared) == ("gpu1", after.frame.now)
    learned = after.learned_s()
    assert {node for (node, _), seconds in learned.items() if seconds <= 3 * INTERVAL_S} == {"a"}
    assert learned["b", "gpu2"] > LEARNED_S


@pytest.mark.parametrize("other", [True, False])
def test_what_is_silent_at_first_may_turn_out_to_be_another(tmp_path: Path, *, other: bool) -> None:
    after = next_process(tmp_path)
    after.tick(a=[gpu("a", 0, uuid=None), LOST], b=B)
    assert after.learned_s()["a", "gpu0"] > LEARNED_S
    after.tick(a=[gpu("a", 0, uuid="GPU-new") if other else A[0], LOST], b=B)
    assert (after.learned_s()["a", "gpu0"] <= 3 * INTERVAL_S) == other


def test_a_node_that_comes_late_goes_on_and_nothing_is_written_before(tmp_path: Path) -> None:
    after = next_process(tmp_path)
    changed = [*after.tick(b=B)]
    assert after.save() == ""
    assert (tmp_path / FILE).read_bytes() == written().data
    changed += after.tick(b=B)
    changed += after.tick(a=[A[0], LOST], b=B)
    changed += after.tick(a=[A[0], LOST], b=B)
    assert changed == []
    assert after.detector.findings.keys() == {written().finding.key}
    assert min(after.learned_s().values()) > LEARNED_S
    assert after.save() == ""
    assert (tmp_path / FILE).read_bytes() != written().data


def test_a_node_that_does_not_come_is_forgotten(tmp_path: Path) -> None:
    after = next_process(tmp_path)
    changed: list[Finding] = []
    while not changed:
        changed += after.tick(b=B)
    (ended,) = changed
    assert (ended.node, ended.cleared) == ("a", after.frame.now)
    first = after.frame.now - AWAITED_S
    assert first == pytest.approx(ended.opened + 4 * INTERVAL_S, abs=2 * INTERVAL_S)
    assert after.save() == ""
    again = Process(tmp_path, after.clock.wall())
    again.tick(a=A, b=B)
    assert again.learned_s()["a", "gpu0"] <= 3 * INTERVAL_S
    assert again.learned_s()["b", "gpu0"] > LEARNED_S


def test_a_detector_that_failed_and_starts_over_gets_no_half_of_a_past(tmp_path: Path) -> None:
    after = next_process(tmp_path)
    after.tick(b=B)
    after.detector = Detector()
    after.tick(a=A, b=B)
    assert max(after.learned_s().values()) <= 3 * INTERVAL_S
    assert not after.detector.findings
    assert after.save() == ""


def test_a_clock_that_is_a_little_behind_is_of_no_matter(tmp_path: Path) -> None:
    after = next_process(tmp_path, -30.0)
    after.tick(a=A, b=B)
    assert min(after.learned_s().values()) > LEARNED_S


def test_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    process = Process(tmp_path)
    process.memory = DetectorMemory(None)
    process.memory.load()
    process.tick(a=A, b=B)
    assert process.save() == process.memory.problem == ""
    assert list(tmp_path.iterdir()) == []


def test_before_the_first_tick_there_is_nothing_to_write(tmp_path: Path) -> None:
    process = Process(tmp_path)
    assert not process.memory.is_due(1e12)
    assert process.save() == ""
    assert list(tmp_path.iterdir()) == []
