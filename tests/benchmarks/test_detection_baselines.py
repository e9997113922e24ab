"""The baselines of benchmarks/detection: what each says of a tick, and of a small trace."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from accelwatch.archive.history.reading.reader import Archive
from accelwatch.archive.history.reading.samples import Entity, Frame
from accelwatch.archive.history.rows import EventRow
from accelwatch.schema.metrics import Series
from baselines.limits import ThreeSigma, VendorLimits, XidOnly
from baselines.peers import COUNTERS, GAUGES, Peers, distances, peer_detectors
from baselines.playing import Incidents, View, play
from detection_table import baseline_lines, judged
from scoring.measures import table
from traces.arrivals import Arrival
from traces.character import Settings
from traces.classes import CLASSES
from traces.fleet import Trace

_POWER: Series = ("power_watts",)
_SMALL = Settings(seed=3, nodes=4, devices=2, days=5 / 24)


def _view(
    time: float, columns: Mapping[Series, Sequence[float]], events: Sequence[EventRow] = ()
) -> View:
    size = max((len(values) for values in columns.values()), default=1)
    entities = [Entity(f"n{at}", f"d{at}", "B200") for at in range(size)]
    arrays = {series: np.array(values, dtype=np.float64) for series, values in columns.items()}
    frame = Frame(np.ones(size, dtype=np.bool_), np.zeros(size, dtype=np.int64), arrays)
    return View(time, entities, frame, events, {})


def _event(code: str) -> EventRow:
    return EventRow(time=0, node="n0", device=None, kind="xid", code=code, text="")


def test_xid_only_reports_hardware_and_no_program() -> None:
    signs = XidOnly().signs(_view(30, {}, [_event("xid_79"), _event("xid_31")]))
    assert [sign.signal for sign in signs] == ["xid_79"]


@pytest.mark.parametrize(
    ("series", "healthy", "broken"),
    [
        (("temperature_celsius", "gpu"), 86.0, 87.0),
        (("memory_repair_pending",), 0.0, 1.0),
        (("throttle_active", "power_brake"), 0.0, 1.0),
        (("device_up",), 1.0, 0.0),
        (("interconnect_links", "nvlink", "up"), 18.0, 17.0),
    ],
)
def test_vendor_limits_hold_for_two_minutes(series: Series, healthy: float, broken: float) -> None:
    limits, found = VendorLimits(30.0), []
    for tick, value in enumerate([healthy] * 4 + [broken] * 4):
        found.append(len(limits.signs(_view(30.0 * tick, {series: [value]}))))
    assert found == [0] * 7 + [1]


def test_an_uncorrected_error_is_beyond_its_limit_at_once() -> None:
    limits = VendorLimits(30.0)
    found = [
        len(limits.signs(_view(30.0 * tick, {("ecc_errors_total", "uncorrected"): [value]})))
        for tick, value in enumerate([5.0, 5.0, 6.0, 6.0])
    ]
    assert found == [0, 0, 1, 0]


def test_three_sigma_is_of_a_devices_own_past() -> None:
    own, rng = ThreeSigma([_POWER], 30.0), np.random.default_rng(1)
    for tick in range(240):
        own.signs(_view(30.0 * tick, {_POWER: [float(rng.normal(700, 3))]}))
    assert not own.signs(_view(7200.0, {_POWER: [703.0]}))
    (sign,) = own.signs(_view(7230.0, {_POWER: [750.0]}))
    assert sign.z is not None
    assert sign.z > 3


def test_distances_are_from_the_median_of_the_group_without_what_is_missing() -> None:
    values = np.array([[100.0], [101.0], [99.0], [100.0], [np.nan], [150.0], [7.0]])
    off, scale = distances(values, np.array([0, 0, 0, 0, 0, 0, 1]))
    assert off[5, 0] == 50.0
    assert scale[5, 0] == pytest.approx(1.4826)
    assert np.isnan(off[4, 0])
    assert np.isnan(off[6, 0])


def test_peers_persist_and_any_series_does_not() -> None:
    minder, any_series = peer_detectors(30.0)
    found = []
    for tick in range(8):
        view = _view(30.0 * (tick + 1), {_POWER: [700, 701, 699, 700, 702, 500]})
        found.append((len(minder.signs(view)), len(any_series.signs(view))))
    assert found == [(0, 1)] * 7 + [(1, 1)]


def test_counters_are_compared_by_what_they_grew() -> None:
    peers = Peers()
    for tick in range(1, 3):
        totals = [1e9 * device + 1e3 * tick for device in range(6)]
        distance = peers.at(_view(30.0 * tick, {COUNTERS[0]: totals}))
    assert np.nanmax(np.abs(distance.off[:, len(GAUGES)])) == 0.0


def test_an_incident_ends_when_it_was_quiet_for_two_minutes() -> None:
    incidents = Incidents(XidOnly())
    for tick in range(20):
        events = [_event("xid_79")] if tick in (0, 4, 9) else []
        incidents.step(_view(30.0 * tick, {}, events))
    assert [line.opened for line in incidents.lines] == [0.0, 270.0]
    assert incidents.lines[0].closed == 240.0


def test_what_an_archive_says_is_played_by_the_recorders_clock(tmp_path: Path) -> None:
    Trace(_SMALL, [Arrival(5400.0, CLASSES["nvlink"])]).write(tmp_path)
    archive = Archive(tmp_path / "archive")
    (line,) = play(archive, [XidOnly()], [])["XID only"]
    (fault,) = Trace(_SMALL, [Arrival(5400.0, CLASSES["nvlink"])]).truth()
    assert (line.node, line.device, line.job) == (fault.node, fault.device, fault.job)
    assert fault.xid_time is not None
    assert fault.xid_time <= line.opened <= fault.xid_time + 60.0
    assert set(baseline_lines(archive)) == {
        "XID only",
        "vendor limits",
        "3 sigma",
        "Minder-like",
        "OR of series",
    }


def test_a_trace_is_made_and_judged(tmp_path: Path) -> None:
    outcomes = judged(_SMALL._replace(days=1.0, fault_rate=600.0), tmp_path, ["XID only"])
    found = table([outcomes["XID only"]])
    assert found.recall["xid"].hits == found.recall["xid"].of > 0
    assert found.fleet_days == pytest.approx(4 / 63)
