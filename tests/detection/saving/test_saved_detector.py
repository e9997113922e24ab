"""A detector that is restarted finds what it would have found, whatever numbers its rows have."""

import copy
import functools
from collections.abc import Callable, Iterable, Set

import msgspec
import numpy as np
import pytest

from accelwatch.detection.baselines.state_arrays import Moves
from accelwatch.detection.detector import Detector
from accelwatch.detection.findings.finding import Finding
from accelwatch.detection.frame import Frame
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from support.detection.restarts import Numbering, read, saved
from support.detection.simulated import INTERRUPTS, Fleet, node_at

# Baselines of 70 minutes.
LEARNED = 140
NODES, DEVICES = 4, 32
SLOW = 5


def straight() -> Numbering:
    return Numbering(range(DEVICES), range(NODES))


def mixed(*gone: int) -> Numbering:
    rng = np.random.default_rng(5)
    devices = [row for row in rng.permutation(DEVICES).tolist() if row not in gone]
    return Numbering(devices, rng.permutation(NODES).tolist())


def run(detector: Detector, fleet: Fleet, ticks: int) -> None:
    for _ in range(ticks):
        detector.detect(fleet.frame())


@functools.cache
def _learned() -> tuple[Detector, Fleet]:
    detector, fleet = Detector(), Fleet(NODES)
    run(detector, fleet, LEARNED)
    assert not detector.findings
    return detector, fleet


def learned() -> tuple[Detector, Fleet]:
    """One of its own for each test."""
    return copy.deepcopy(_learned())


def restarted(
    detector: Detector,
    frame: Frame,
    numbering: Numbering,
    void: tuple[Iterable[int], Iterable[int]] = ((), ()),
    awaited: Set[str] = frozenset(),
) -> Detector:
    """Another process's, before its first frame; `void` are rows of before that are another's now."""
    after, past = Detector(), read(saved(detector))
    moves = numbering.moves(past.devices, past.nodes)
    for positions, rows in zip(moves, void, strict=True):
        positions[list(rows)] = -1
    past.restore(after, frame, moves, awaited)
    return after


def exactly(findings: Iterable[Finding]) -> object:
    return {finding.key: finding for finding in findings}


def alike(findings: Iterable[Finding]) -> object:
    """Without what the order of rows decides: who is named first of those that are equally bad."""
    return {
        finding.key: msgspec.structs.replace(
            finding,
            score=round(finding.score, 6),
            nodes=tuple(sorted(finding.nodes)),
            channels=tuple(sorted(finding.channels)),
            signals=(),
            sentence="",
        )
        for finding in findings
    }


def slow_device(fleet: Fleet) -> None:
    fleet.watts[SLOW] *= 0.85


def slow_node(fleet: Fleet) -> None:
    fleet.watts[8:16] *= 0.85


def hung(fleet: Fleet) -> None:
    fleet.watts[:] = 200.0
    fleet.traffic[:] = 0.0


@pytest.mark.parametrize(
    ("numbering", "compared"), [(straight(), exactly), (mixed(), alike)], ids=["straight", "mixed"]
)
@pytest.mark.parametrize("spoil", [slow_device, slow_node, hung])
@pytest.mark.parametrize("stop", [0, 3, 9, 20])
def test_an_incident_goes_on_as_without_a_restart(
    numbering: Numbering,
    compared: Callable[[Iterable[Finding]], object],
    spoil: Callable[[Fleet], None],
    stop: int,
) -> None:
    detector, fleet = learned()
    watts = fleet.watts.copy()
    spoil(fleet)
    run(detector, fleet, stop)
    after, found = None, set()
    for tick in range(60):
        if tick == 30:
            fleet.watts[:], fleet.traffic[:] = watts, 1e11
        frame = fleet.frame()
        numbered = numbering.frame(frame)
        after = after or restarted(detector, numbered, numbering)
        expected, changed = detector.detect(frame), after.detect(numbered)
        assert compared(changed) == compared(expected)
        assert compared(after.findings.values()) == compared(detector.findings.values())
        found |= set(after.findings)
    assert found
    assert after is not None
    assert not after.findings


def test_a_long_past_is_as_good_as_none_lost() -> None:
    """Seconds after a restart a device stands out that would take a new detector half an hour."""
    detector, fleet = learned()
    slow_device(fleet)
    frame = fleet.frame()
    after, fresh = restarted(detector, frame, straight()), Detector()
    after.detect(frame)
    fresh.detect(frame)
    for _ in range(9):
        frame = fleet.frame()
        after.detect(frame)
        fresh.detect(frame)
    assert [finding.node for finding in after.findings.values()] == ["node0"]
    assert not fresh.findings


@pytest.mark.parametrize(
    ("gone", "void"),
    [
        ((SLOW,), ((), ())),
        # Replaced; rebooted with all its devices.
        ((), ((SLOW,), ())),
        ((), (range(8), (0,))),
    ],
    ids=["gone", "replaced", "rebooted"],
)
def test_who_has_gone_is_forgotten_and_who_is_another_starts_anew(
    gone: tuple[int, ...], void: tuple[Iterable[int], Iterable[int]]
) -> None:
    detector, fleet = learned()
    slow_device(fleet)
    run(detector, fleet, 12)
    assert [finding.device for finding in detector.findings.values()] == ["gpu5"]
    numbering = mixed(*gone)
    frame = numbering.frame(fleet.frame())
    after = restarted(detector, frame, numbering, void)
    (ended,) = after.detect(frame)

    assert (ended.device, ended.cleared) == ("gpu5", frame.now)
    assert not after.findings
    anew = after.rows.devices.rows.learned_s.sum(axis=0) <= 30.0
    assert anew.tolist() == np.isin(numbering.devices, list(void[0])).tolist()
    anew = after.rows.nodes.rows.learned_s.sum(axis=0) <= 30.0
    assert anew.tolist() == np.isin(numbering.nodes, list(void[1])).tolist()


def test_a_restart_in_an_incident_opens_nothing_twice() -> None:
    detector, fleet = learned()
    slow_device(fleet)
    run(detector, fleet, 12)
    (before,) = detector.findings.values()
    fleet.now += 3600.0 * 5
    frame = fleet.frame()
    after = restarted(detector, frame, straight())
    changed = list(after.detect(frame))
    for _ in range(40):
        changed += after.detect(fleet.frame())

    (finding,) = after.findings.values()
    assert (finding.key, finding.onset, finding.opened) == (before.key, before.onset, before.opened)
    assert all(each.cleared is None for each in changed)
    fleet.watts[SLOW] = 600.0
    for _ in range(40):
        changed += after.detect(fleet.frame())
    assert [each.key for each in changed if each.cleared is not None] == [before.key]


@pytest.mark.parametrize("gap_s", [240.0, 1800.0, 6 * 3600.0, 3 * 86400.0])
@pytest.mark.parametrize("spoil", [slow_device, hung])
@pytest.mark.parametrize("warmer", [False, True])
def test_no_false_alarm_after_a_gap(
    gap_s: float, spoil: Callable[[Fleet], None], *, warmer: bool
) -> None:
    """What was bad for a moment before the stop and for a moment after it has not lasted."""
    detector, fleet = learned()
    watts = fleet.watts.copy()
    spoil(fleet)
    run(detector, fleet, 3)
    assert not detector.findings
    fleet.now += gap_s
    if warmer:
        # Another time of the day: all devices alike.
        fleet.heat += 6.0
        fleet.watts *= 1.02
        watts *= 1.02
    after = None
    for tick in range(60):
        frame = fleet.frame()
        after = after or restarted(detector, frame, straight())
        assert after.detect(frame) == ()
        if tick == 0:
            fleet.watts[:], fleet.traffic[:] = watts, 1e11


# Of a gap only the sample after it belongs to the pause.
@pytest.mark.parametrize(("gap_s", "longest_s"), [(0.0, 150.0), (6 * 3600.0, 30.0)])
def test_a_pause_that_nobody_saw_the_whole_of_is_no_habit_of_a_job(
    gap_s: float, longest_s: float
) -> None:
    detector, fleet = learned()
    watts = fleet.watts.copy()
    hung(fleet)
    run(detector, fleet, 3)
    fleet.now += gap_s
    fleet.watts[:], fleet.traffic[:] = watts, 1e11
    frame = fleet.frame()
    after = restarted(detector, frame, straight())
    after.detect(frame)
    run(after, fleet, 3)
    pauses = after.channels.state_arrays().devices["hang.pauses"]
    assert 0.0 < pauses[1].max() <= longest_s


def test_a_node_that_comes_late_goes_on_where_it_was() -> None:
    """The first tick after a restart has those that have answered by then."""
    detector, fleet = learned()
    slow_device(fleet)
    run(detector, fleet, 12)
    (before,) = detector.findings.values()
    early = Numbering(range(8, DEVICES), range(1, NODES))
    late = Numbering([*range(8, DEVICES), *range(8)], [*range(1, NODES), 0])
    after, past = Detector(), read(saved(detector))
    changed: list[Finding] = []
    frame = early.frame(fleet.frame())
    past.restore(after, frame, early.moves(DEVICES, NODES), {"node0"})
    for _ in range(12):
        changed += after.detect(frame)
        frame = early.frame(fleet.frame())
    assert changed == []
    frame = late.frame(fleet.frame())
    moves = late.moves(DEVICES, NODES)
    only = Moves(
        np.where(np.arange(DEVICES) < 8, moves.devices, -1),
        np.where(np.arange(NODES) < 1, moves.nodes, -1),
    )
    past.restore(after, frame, only, frozenset())
    for _ in range(20):
        changed += after.detect(frame)
        frame = late.frame(fleet.frame())

    assert all(each.cleared is None for each in changed)
    (finding,) = after.findings.values()
    assert (finding.key, finding.onset, finding.opened) == (before.key, before.onset, before.opened)
    assert (after.rows.devices.rows.learned_s.sum(axis=0) > 3600.0).all()


def test_the_findings_of_a_node_that_does_not_come_end() -> None:
    detector, fleet = learned()
    slow_device(fleet)
    run(detector, fleet, 12)
    numbering = Numbering(range(8, DEVICES), range(1, NODES))
    frame = numbering.frame(fleet.frame())
    after = restarted(detector, frame, numbering, awaited={"node0"})
    assert after.detect(frame) == ()
    frame = numbering.frame(fleet.frame())
    nobody = Moves(np.full(DEVICES, -1), np.full(NODES, -1))
    read(saved(detector)).restore(after, frame, nobody, frozenset())
    (ended,) = after.detect(frame)
    assert (ended.node, ended.cleared) == ("node0", frame.now)


def test_an_exporter_that_repeats_itself_is_noticed_by_the_next_process() -> None:
    detector, fleet = learned()
    last = fleet.frame()
    detector.detect(last)
    again = fleet.frame()
    rows = again.node_of == 1
    again.devices[:, rows] = last.devices[:, rows]
    after = restarted(detector, again, straight())
    after.detect(again)
    assert after.tick is not None
    assert after.tick.repeated is not None
    assert after.tick.repeated.tolist() == [False, True, False, False]


def test_a_counter_that_only_the_frames_of_before_can_go_on_with_starts_anew() -> None:
    detector, fleet = learned()
    counter = node_at(INTERRUPTS)
    shifted = np.zeros((len(NODE_SIGNALS), NODES), dtype=np.bool_)
    shifted[counter, 2] = True
    past = read(saved(detector, shifted))
    after = Detector()
    unknown = []
    for _ in range(2):
        frame = fleet.frame()
        # What was left out of the sum before is in it now: as many counts as in three years.
        frame.nodes[counter, 2] += 1e12
        if after.tick is None:
            moves = straight().moves(past.devices, past.nodes)
            past.restore(after, frame, moves, frozenset())
        after.detect(frame)
        assert after.tick is not None
        unknown.append(np.isnan(after.tick.node_increase[counter]).tolist())
    assert unknown == [[False, False, True, False], [False] * 4]
    assert not after.findings
