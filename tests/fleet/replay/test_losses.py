"""A read that failed is no loss, neither in a recorded moment nor in a back-test."""

from pathlib import Path

import pytest

from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.archive.history.rows import EventRow
from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.backtest.run import final_lines
from accelwatch.fleet.replay.archive import ReplayedArchive
from support.archives.history_archives import DAY, HEAT, Sample, write
from support.archives.replay_archives import UP

S = 1000
# From here on reads of the first device fail.
FAILS = DAY + 600 * S
RULE = """\
version: 1
rules:
- id: site.lost
  title: A device is lost
  when: state == "lost"
  severity: critical
  family: site.lost
  what_to_do: look at it
  tests:
  - name: fires
    given: [{device: nvidia0, vendor: nvidia, state: lost}]
    expect: {fires: {nvidia0: 0s}}
"""


def failing(folder: Path, code: str, at: int, seconds: int = 130) -> Path:
    """Two devices a sample each 10 s; an event of the one whose reads fail for some seconds."""
    samples: list[Sample] = []
    for time in range(DAY, FAILS + 600 * S, 10 * S):
        samples.append((time, "n1", "", {}))
        for device in ("a", "b"):
            fails = device == "a" and FAILS <= time < FAILS + seconds * S
            samples.append((time, "n1", device, {UP: 0} if fails else {UP: 1, HEAT: 40}))
    event = EventRow(time=at, node="n1", device="a", kind="k", code=code, text="t")
    return write(folder / "archive", samples, events=[event] if code else [])


def state(folder: Path, time_ms: int) -> str:
    archive = ReplayedArchive(folder)
    for _ in archive.scan.steps():
        pass
    [now] = [one for one in archive.fleet_at(time_ms)[0].subjects if one.device_slot.id == "a"]
    return now.state


def lost_in_backtest(folder: Path, tmp_path: Path) -> bool:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULE, encoding="utf-8")
    found = Archive(folder)
    return bool(list(final_lines(found, Backtest(found, load([rules]).rules))))


@pytest.mark.parametrize(
    ("code", "at", "lost"),
    [
        ("", 0, False),
        ("xid_79", FAILS - 5 * S, True),
        ("xid_79", FAILS + 5 * S, True),
        ("xid_79", FAILS - 15 * S, False),
        ("nvidia_fallen_off_bus", FAILS + 5 * S, True),
        ("amdgpu_device_lost", FAILS + 5 * S, True),
        ("hygpu_device_lost", FAILS + 5 * S, True),
        ("tenstorrent_off_the_bus", FAILS + 5 * S, True),
        ("device_lost", FAILS + 5 * S, True),
        ("device_missing", FAILS + 5 * S, False),
        ("xid_167", FAILS + 5 * S, False),
        ("pcie_uncorrected_nonfatal", FAILS + 5 * S, False),
        ("pcie_contained", FAILS + 5 * S, False),
        ("neuron_dma_error", FAILS + 5 * S, False),
    ],
)
def test_only_what_says_so_since_the_last_good_read_makes_a_failed_read_a_loss(
    tmp_path: Path, code: str, at: int, lost: bool
) -> None:
    folder = failing(tmp_path, code, at)
    assert state(folder, FAILS + 60 * S) == ("lost" if lost else "degraded")
    assert lost_in_backtest(folder, tmp_path) is lost


@pytest.mark.parametrize(("after", "text"), [(0, "degraded"), (140, "degraded"), (150, "lost")])
def test_reads_that_fail_for_long_are_a_loss_at_a_recorded_time_too(
    tmp_path: Path, after: int, text: str
) -> None:
    folder = failing(tmp_path, "", 0, seconds=300)
    assert state(folder, FAILS + after * S) == text
    assert state(folder, FAILS + 300 * S) == "ok"


def test_reads_that_fail_for_long_are_a_loss_in_a_back_test(tmp_path: Path) -> None:
    assert lost_in_backtest(failing(tmp_path, "", 0, seconds=300), tmp_path)
