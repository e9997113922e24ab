"""Traces of benchmarks/detection: what the truth says is in the columns, and nothing tells the truth."""

import hashlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from accelwatch.archive.history.names import series_of
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.archive.history.reading.samples import Entity
from accelwatch.archive.history.tables import FIXED
from healthy_fleets.folder import START
from traces.arrivals import Arrival, arrivals
from traces.character import Settings, drawn
from traces.classes import CLASSES
from traces.fleet import Trace
from traces.truth import Fault, read_truth

_SMALL = Settings(seed=3, nodes=4, devices=2, days=5 / 24)
_MANY = _SMALL._replace(days=1.0, fault_rate=600.0)
# After the load and before the first save of a job of this seed.
_AT = 5400.0


class Written:
    """A trace with faults of one class, and its columns."""

    def __init__(self, folder: Path, kind: str, precursor: float = 0.0) -> None:
        coming = CLASSES[kind]._replace(precursor=precursor)
        if precursor and kind in ("nvlink", "off_bus"):
            coming = coming._replace(precursor_min=(60, 61))
        Trace(_SMALL, [Arrival(_AT, coming)]).write(folder)
        self.archive = Archive(folder / "archive")
        (self.fault,) = read_truth(folder / "truth.ndjson")
        self._tables: dict[str, Any] = {
            name: pq.read_table(folder / "archive" / name) for name in ("devices", "nodes")
        }
        self.codes = [event.code for event in self.archive.events()]

    def column(
        self,
        name: str,
        start: float,
        end: float,
        node: str | None = None,
        device: str | None = None,
    ) -> np.ndarray:
        """What a node, or a device of it, told of a quantity between two moments after the onset."""
        table = self._tables["devices" if name in self._tables["devices"].column_names else "nodes"]
        onset = self.fault.onset
        times = pc.divide(table["time"].cast(pa.int64()).cast(pa.float64()), 1000.0)
        chosen = pc.and_(pc.greater(times, onset + start), pc.less_equal(times, onset + end))
        if node is not None:
            chosen = pc.and_(chosen, pc.equal(table["node"].cast(pa.string()), node))
        if device is not None:
            chosen = pc.and_(chosen, pc.equal(table["device"].cast(pa.string()), device))
        return np.asarray(table.filter(chosen)[name].cast(pa.float64()).drop_null())

    def devices(self) -> list[Entity]:
        """All devices."""
        samples = self.archive.samples("devices", [("device_up",)])
        for _ in samples.groups():
            pass
        return samples.entities

    def here(self, name: str, start: float, end: float) -> np.ndarray:
        """The same of where the fault is."""
        table = "devices" if name in self._tables["devices"].column_names else "nodes"
        device = self.fault.device if table == "devices" else None
        return self.column(name, start, end, self.fault.node, device)

    def rate(self, name: str, start: float, end: float) -> float:
        """How much a counter grew."""
        values = self.here(name, start, end)
        return float(values[-1] - values[0])


def _ratio(written: Written, name: str) -> float:
    return float(np.mean(written.here(name, 30, 500)) / np.mean(written.here(name, -500, -30)))


def _nvlink(it: Written) -> None:
    assert set(it.here("interconnect_links.nvlink.up", 30, 500)) == {17.0}
    assert set(it.here("interconnect_links.nvlink.up", -500, -30)) == {18.0}
    assert "xid_149" in it.codes
    assert set(it.here("host_runnable_processes", 30, 500)) == {0.0}


def _ecc(it: Written) -> None:
    assert set(it.here("memory_repair_pending", 30, 500)) == {1.0}
    assert set(it.here("memory_remapped_rows.uncorrected", -500, -30)) == {0.0}
    assert set(it.here("memory_remapped_rows.uncorrected", 30, 9000)) == {1.0}
    assert "xid_94" in it.codes


def _lost(it: Written) -> None:
    assert set(it.here("device_up", 30, 500)) <= {0.0}
    assert set(it.here("power_watts", 30, 500)) == set()
    assert set(it.here("devices.ok", 30, 500)) == {1.0}
    assert _ratio(it, "exporter_series") == pytest.approx(0.88, abs=0.001)


def _off_bus(it: Written) -> None:
    _lost(it)
    assert ("xid_79" in it.codes) == (it.fault.xid_time is not None)


def _gpu_lost(it: Written) -> None:
    _lost(it)
    assert "xid_79" not in it.codes


def _gsp(it: Written) -> None:
    assert set(it.here("device_up", 30, 500)) == {0.0}
    assert it.here("collector_duration_seconds.nvidia", 30, 500).min() >= 5.0
    assert it.rate("collector_cycles_total.nvidia.timeout", 30, 500) > 10
    assert "xid_119" in it.codes


def _unreachable(it: Written) -> None:
    assert len(it.here("power_watts", -500, -30))
    assert not len(it.here("power_watts", 30, 500))
    assert not len(it.here("host_load_average.5", 30, 500))


def _slow_clock(it: Written) -> None:
    lost = it.fault.magnitude or 0.0
    assert _ratio(it, "power_watts") == pytest.approx(1 - lost, abs=0.02)
    assert _ratio(it, "clock_hertz.sm") == pytest.approx(1 - lost * 4 / 3, abs=0.02)


def _slow_link(it: Written) -> None:
    name = "host_rdma_bytes_total.mlx5_0.1.transmit"
    after, before = it.rate(name, 60, 2000), it.rate(name, -2000, -60)
    assert after / before < 1 - 0.5 * (it.fault.magnitude or 0.0)


def _hang(it: Written) -> None:
    assert set(it.here("power_watts", 60, 300) < 200) == {True}
    waits = it.column("utilization_ratio", 60, 300)
    culprit = it.column("utilization_ratio", 60, 300, it.fault.node)
    # All but the culprit's device, and but the spare node, are busy.
    assert np.mean(waits > 0.97) > np.mean(culprit > 0.97) > 0.4


def _fan(it: Written) -> None:
    hotter = it.here("temperature_celsius.gpu", 1900, 2400).mean()
    hotter -= it.here("temperature_celsius.gpu", -500, -30).mean()
    assert hotter == pytest.approx(it.fault.magnitude, abs=2.0)


def _psu(it: Written) -> None:
    assert set(it.here("throttle_active.power_brake", 30, 500)) == {1.0}
    assert _ratio(it, "power_watts") == pytest.approx(0.6, abs=0.02)


def _cable(it: Written) -> None:
    assert it.rate("host_rdma_errors_total.mlx5_0.1.link_downed", 0, 1800) >= 2
    assert it.rate("host_rdma_errors_total.mlx5_0.1.link_downed", -1800, 0) == 0
    assert "mlx5_link_down" in it.codes


def _rnic(it: Written) -> None:
    assert set(it.here("host_rdma_port_up.mlx5_0.1", -500, -30)) == {1.0}
    assert set(it.here("host_rdma_port_up.mlx5_0.1", 30, 500)) == {0.0}


def _pcie_width(it: Written) -> None:
    lanes = 16 * (1 - (it.fault.magnitude or 0.0))
    assert set(it.here("pcie_link_width_lanes.current", 30, 500)) == {lanes}


def _slow_reads(it: Written) -> None:
    ratio = _ratio(it, "collector_duration_seconds.nvidia")
    assert ratio == pytest.approx(it.fault.magnitude, rel=0.2)


def _sdc(it: Written) -> None:
    assert not [code for code in it.codes if code.startswith("xid")]


def _app(it: Written) -> None:
    assert it.codes.count("xid_31") == it.codes.count("xid_43") == _SMALL.devices
    waits = (it.fault.xid_time or 0.0) - it.fault.onset
    assert 400 < waits < 720
    assert it.column("utilization_ratio", 30, 300, it.fault.node).max() < 0.1


def _congestion(it: Written) -> None:
    name = "host_rdma_errors_total.mlx5_0.1.np_cnp_sent"
    for node in it.fault.nodes:
        grew = np.diff(it.column(name, 30, 600, node))
        assert grew.min() > 100_000


def _storage(it: Written) -> None:
    assert len(it.fault.nodes) == 3
    for node in it.fault.nodes:
        assert it.column("host_pressure_ratio.io.full", 60, 600, node).min() > 0.85


def _cooling(it: Written) -> None:
    for node in it.fault.nodes:
        hot = it.column("temperature_celsius.gpu", 1750, 1850, node).mean()
        assert hot - it.column("temperature_celsius.gpu", -600, -30, node).mean() > 4


_CHECKS: dict[str, Callable[[Written], None]] = {
    "nvlink": _nvlink,
    "ecc_94": _ecc,
    "off_bus": _off_bus,
    "gsp": _gsp,
    "gpu_lost": _gpu_lost,
    "unreachable": _unreachable,
    "slow_clock": _slow_clock,
    "slow_link": _slow_link,
    "hang": _hang,
    "sdc": _sdc,
    "fan": _fan,
    "psu": _psu,
    "cable": _cable,
    "rnic": _rnic,
    "pcie_width": _pcie_width,
    "slow_reads": _slow_reads,
    "app": _app,
    "congestion": _congestion,
    "storage": _storage,
    "cooling": _cooling,
}


def test_every_class_has_its_check() -> None:
    assert _CHECKS.keys() == CLASSES.keys()


@pytest.mark.parametrize("kind", CLASSES)
def test_what_the_truth_says_is_in_the_columns(kind: str, tmp_path: Path) -> None:
    written = Written(tmp_path, kind)
    assert written.fault.kind == kind
    assert written.fault.onset >= START + _AT
    _CHECKS[kind](written)


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("nvlink", "interconnect_errors_total.nvlink.crc_flit"),
        ("off_bus", "pcie_errors_total.replay"),
        ("gpu_lost", "memory_remapped_rows.corrected"),
        ("storage", "host_nfs_backlog_total./mnt/train"),
    ],
)
def test_a_precursor_is_seen_before_the_onset(kind: str, column: str, tmp_path: Path) -> None:
    written = Written(tmp_path, kind, precursor=1.0)
    fault = written.fault
    assert fault.precursor_signal == column
    assert fault.precursor_start is not None
    start = fault.precursor_start - fault.onset
    node = fault.node or fault.nodes[0]
    seen = written.column(column, start, 0, node, fault.device)
    if kind == "gpu_lost":
        assert seen[-1] > 0
    elif kind == "storage":
        before = written.column(column, 2 * start, start, node)
        assert np.diff(seen).mean() > 2 * np.diff(before).mean()
    else:
        others = [
            np.ptp(written.column(column, start, 0, entity.node, entity.device))
            for entity in written.devices()
            if entity.device != fault.device
        ]
        assert np.ptp(seen) >= 3
        assert np.ptp(seen) > 2 * np.mean(others)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    Trace(_MANY).write(folder)
    return folder


def test_columns_are_those_of_the_catalogue_and_no_more(fleet: Path) -> None:
    for table in ("devices", "nodes"):
        for path in (fleet / "archive" / table).iterdir():
            for name in pq.read_schema(path).names:
                assert name in FIXED[table] or series_of(name), name


def test_the_truth_is_beside_the_archive_and_not_in_it(fleet: Path) -> None:
    assert len(read_truth(fleet / "truth.ndjson")) > 5
    files = {
        path.relative_to(fleet / "archive").parts[0] for path in (fleet / "archive").rglob("*")
    }
    tables = {"devices", "nodes", "events", "jobs.parquet", "maintenance.parquet", "history.json"}
    assert files == tables
    archive = Archive(fleet / "archive")
    assert {job.stage for job in archive.jobs()} == {None}
    assert {window.reason for window in archive.maintenance()} <= {"update", "repair"}
    words = " ".join(f"{event.code} {event.text}" for event in archive.events()).split()
    assert not {*CLASSES, "precursor", "onset"} & set(words)


def _digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest()


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(
    fleet: Path, tmp_path: Path
) -> None:
    Trace(_MANY).write(tmp_path / "again")
    Trace(_MANY._replace(seed=4)).write(tmp_path / "other")
    assert _digest(tmp_path / "again") == _digest(fleet)
    assert _digest(tmp_path / "other") != _digest(fleet)


def test_a_name_says_nothing_of_who_is_a_spare(tmp_path: Path) -> None:
    spares = set()
    for seed in range(8):
        trace = Trace(_SMALL._replace(seed=seed), [])
        spares |= set(range(4)) - set(trace.life.sessions[0].nodes)
    assert spares == {0, 1, 2, 3}


def test_as_many_faults_as_published() -> None:
    counts = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        coming = arrivals(rng, drawn(rng), Settings(seed))
        counts.append(sum(one.kind.scope != "group" and one.kind.name != "app" for one in coming))
    assert 17 < np.mean(counts) < 21


@pytest.mark.parametrize("seed", range(20))
def test_the_life_of_a_fleet_holds_together(seed: int) -> None:
    trace = Trace(Settings(seed, fault_rate=3.0))
    life = trace.life
    for before, after in pairwise(life.sessions):
        assert before.start < before.end < after.start
        assert len(set(after.nodes)) == len(after.nodes) <= 60
    for fault in life.faults:
        assert fault.onset <= fault.until <= fault.end
        assert fault.precursor is None or fault.precursor.start <= fault.onset
        if fault.session is not None:
            assert fault.node in fault.session.nodes
            assert fault.session.start <= fault.onset <= fault.session.end
        if fault.kind.needs_training:
            assert fault.session is not None
            assert fault.session.load_end <= fault.onset
        session = fault.session
        if session is None or session.tail is None or session.tail[0] != fault.onset:
            continue
        if fault.kind.name != "ecc_94":
            # Nothing of it is left in the next job of its node.
            later = [one for one in life.sessions if session.end < one.start < fault.until]
            assert all(fault.node not in one.nodes or one.load_end == one.end for one in later)
    for node, start, end in life.repairs:
        assert not [one for one in life.sessions if start <= one.start < end and node in one.nodes]


def test_row_groups_of_large_fleets_cover_less_time() -> None:
    assert Settings().span_s == 3 * 3600
    assert Settings(nodes=1000).span_s == 3600
    assert Settings(nodes=4000).span_s == 900


def test_truth_outlives_a_round_trip(fleet: Path) -> None:
    assert all(isinstance(fault, Fault) for fault in read_truth(fleet / "truth.ndjson"))
    assert all(
        fault.begin <= fault.onset <= fault.end for fault in read_truth(fleet / "truth.ndjson")
    )
