"""A hub that keeps a history of simulated nodes."""

import asyncio
import json
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.archive.history.check import check
from accelwatch.archive.history.layout import DEVICES, NODES, ArchiveError
from accelwatch.archive.history.names import series_of
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.archive.history.rows import JobRow, MaintenanceRow
from accelwatch.archive.history.summary import summary
from accelwatch.base.clock import ManualClock, SystemClock
from accelwatch.base.errors import ConfigError
from accelwatch.cli.trial.sim import SimPlan, build_fleet, own_exposition
from accelwatch.config.model import Web
from accelwatch.fleet.archive.jobs import JobBook
from accelwatch.fleet.archive.maintenance import MaintenanceBook
from accelwatch.fleet.archive.recorder import Recorder
from accelwatch.fleet.archive.recording import Recording
from accelwatch.fleet.archive.settings import History
from accelwatch.fleet.hub.model import HubSettings, load_settings
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.targets.settings import Targets
from accelwatch.schema.snapshot import Owner
from accelwatch_lab.simulator.serving.server import SimulatorServer
from accelwatch_lab.simulator.serving.targets import open_sockets, targets
from support.fleet.hub_peers import served_hub


async def recorded(folder: Path, nodes: int = 3, **more: Any) -> None:
    """An archive written by a hub that follows simulated nodes until all were written."""
    clock = SystemClock()
    plan = SimPlan(nodes=nodes, devices=4, vendor="nvidia", listen="127.0.0.1:0", interval="500ms")
    fleet = build_fleet(plan, clock)
    server = SimulatorServer(fleet, clock, own_exposition())
    sockets = open_sockets(plan.listen, fleet, many=True)
    await server.listen(sockets)
    server.start()
    groups: list[dict[str, Any]] = targets(fleet, sockets)
    followed = tuple(group["targets"][0] for group in groups)
    settings = HubSettings(
        targets=Targets(static=followed),
        scrape=Scrape(timeout_s=5.0, max_backoff_s=0.1, interval_s=0.3),
        web=Web(listen_address=("127.0.0.1:0",)),
        history=History(folder=str(folder), interval_s=1.0, **more),
    )
    try:
        async with served_hub(settings, interval_s=0.5) as running:
            recorder = running.hub._recording._recorder
            assert recorder is not None
            taken = recorder._newest_sample
            await running.until(lambda: len(taken) == nodes)
            first = dict(taken)
            await running.until(lambda: all(taken[name] > first[name] for name in first))
            assert running.hub.alive
    finally:
        await server.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    history: Path = tmp_path_factory.mktemp("history") / "fleet"
    asyncio.run(recorded(history))
    return history


def test_a_hub_keeps_devices_nodes_and_jobs(folder: Path) -> None:
    found = summary(folder)
    assert (found.nodes, found.devices) == (3, 12)
    assert found.rows[DEVICES] >= 24
    shares = {column.name: column.share for column in found.device_columns}
    for name in ("device_up", "power_watts", "memory_used_bytes", "temperature_celsius.gpu"):
        assert shares[name] == 1.0
    nodes = {column.name for column in found.node_columns}
    assert {"devices.ok", "devices.lost", "fleet_target_clock_skew_seconds"} <= nodes
    assert all(series_of(name) for name in shares.keys() | nodes)
    assert [finding for finding in check(folder) if finding.mistake] == []


def test_a_hub_goes_on_with_its_archive(tmp_path: Path) -> None:
    for _ in range(2):
        asyncio.run(recorded(tmp_path / "a", nodes=1))
    archive = Archive(tmp_path / "a")
    groups = [*archive.samples(DEVICES).groups()]
    assert len(groups) >= 2
    assert [finding for finding in check(tmp_path / "a") if finding.mistake] == []
    assert [*archive.samples(NODES).groups()]


_OPENED = """
import json, sys
from importlib.util import find_spec
from pathlib import Path
import duckdb, pandas, polars
folder = Path(sys.argv[1])
files = f"{folder}/devices/**/*.parquet"
((count,),) = duckdb.sql(f"SELECT count(*) FROM '{files}' WHERE device_up = 1").fetchall()
parts = [pandas.read_parquet(path) for path in folder.glob("devices/**/*.parquet")]
zone = str(parts[0]["time"].dt.tz)
print(json.dumps([count, sum(map(len, parts)), len(polars.read_parquet(files)), zone]))
"""


class SlowWriter:
    """A writer whose thread is held inside `add`."""

    def __init__(self) -> None:
        self.started, self.free = threading.Event(), threading.Event()
        self.calls: list[str] = []

    def add(self, batch: object) -> None:
        self.calls.append("add")
        self.started.set()
        self.free.wait(10)
        self.calls.append("added")

    def close(self, before: int) -> None:
        self.calls.append("close")


def test_what_a_thread_is_writing_comes_before_the_end(tmp_path: Path) -> None:
    async def ended_while_writing() -> list[str]:
        clock = SystemClock()
        fleet = Fleet(clock, HubSettings().thresholds, None)
        recorder = Recorder(History(folder=str(tmp_path / "a")), fleet, clock)
        recorder._writer.close(0)
        recorder._cut_at = clock.monotonic()
        recorder._writer = writer = SlowWriter()  # type: ignore[assignment]
        running = asyncio.create_task(recorder.run())
        await asyncio.to_thread(writer.started.wait)
        running.cancel()
        await asyncio.wait([running])
        asyncio.get_running_loop().call_later(0.05, writer.free.set)
        await recorder.close()
        fleet.close()
        return writer.calls

    assert asyncio.run(ended_while_writing()) == ["add", "added", "add", "added", "close"]


def test_pandas_duckdb_and_polars_open_it(folder: Path) -> None:
    # In a process of its own: duckdb complains of itself on stderr when its process ends.
    for library in ("duckdb", "pandas", "polars"):
        if find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    rows = summary(folder).rows[DEVICES]
    words = [sys.executable, "-c", _OPENED, str(folder)]
    opened = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(opened.stdout) == [rows, rows, rows, "UTC"]


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    clock = SystemClock()
    fleet = Fleet(clock, HubSettings().thresholds, None)
    recording = Recording(History(folder=str(tmp_path)), fleet, clock)
    with pytest.raises(ArchiveError, match="is not empty"):
        asyncio.run(recording.start())
    fleet.close()


def test_the_settings_are_read_and_checked(tmp_path: Path) -> None:
    file = tmp_path / "hub.yaml"
    file.write_text("history:\n  folder: fleet\n  interval: 1m\n  keep: 30d\n  max_size: 1048576\n")
    history = load_settings(file).history
    assert history.folder == str(tmp_path / "fleet")
    assert (history.interval_s, history.keep_s) == (60.0, 30 * 86400.0)
    file.write_text("history:\n  folder: fleet\n  keep: 1h\n")
    with pytest.raises(ConfigError, match=r"hub\.yaml:3"):
        load_settings(file)


def test_without_pyarrow_the_setting_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    file = tmp_path / "hub.yaml"
    file.write_text("history:\n  folder: fleet\n")
    with pytest.raises(ConfigError, match=r"pip install 'accelwatch\[history\]'"):
        load_settings(file)


def test_nothing_of_it_is_loaded_when_it_is_off() -> None:
    program = (
        "import sys, accelwatch.fleet.hub.serve; from accelwatch.cli.startup.app import build;"
        "list(build().commands.values());"
        "print([n for n in ('pyarrow', 'accelwatch.archive.history.writer') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"


def owner(job: str) -> Owner:
    return Owner(kind="job", job_id=job, user="ada")


def test_jobs_start_and_end_as_their_devices_change_hands() -> None:
    book = JobBook([JobRow(job="1", user="ada", node="a", device="x", start=5)])
    book.observe(10, "a", [("x", owner("1")), ("y", owner("2"))])
    book.observe(20, "a", [("x", owner("3")), ("y", owner("2"))])
    book.observe(20, "b", [])
    rows = book.pop_rows()
    assert rows is not None
    assert {(row.job, row.device, row.start, row.end) for row in rows} == {
        ("1", "x", 5, 10),
        ("2", "y", 10, None),
        ("3", "x", 20, None),
    }
    assert book.pop_rows() is None
    book.forget(11)
    book.observe(30, "a", [])
    assert {row.job for row in book.pop_rows() or []} == {"2", "3"}


def window(starts: float, ends: float, *nodes: str, id_: str = "m1") -> Maintenance:
    return Maintenance(id=id_, nodes=nodes, starts=starts, ends=ends, by="ana", reason="BIOS")


def row(node: str | None, start: int, end: int) -> MaintenanceRow:
    return MaintenanceRow(node, start, end, "BIOS")


def test_maintenance_is_known_from_its_announcement_to_its_true_end() -> None:
    book = MaintenanceBook([row("old", 0, 5_000)])
    announced = window(20.0, 40.0, "n[1-2]")
    book.observe(10_000, [announced])
    assert book.pop_rows() == [
        row("old", 0, 5_000),
        row("n1", 20_000, 40_000),
        row("n2", 20_000, 40_000),
    ]
    book.observe(11_000, [announced])
    assert book.pop_rows() is None
    book.observe(30_000, [])
    assert book.pop_rows() == [
        row("old", 0, 5_000),
        row("n1", 20_000, 30_000),
        row("n2", 20_000, 30_000),
    ]
    book.forget(30_000)
    book.observe(31_000, [window(31.0, 60.0, id_="m2")])
    assert (book.pop_rows() or [])[2:] == [row(None, 31_000, 60_000)]


def test_maintenance_that_is_over_by_itself_ends_as_it_was_announced() -> None:
    book = MaintenanceBook()
    book.observe(10_000, [window(5.0, 20.0, "n1")])
    book.pop_rows()
    book.observe(25_000, [])
    assert book.pop_rows() is None


def test_maintenance_that_is_taken_back_was_none() -> None:
    book = MaintenanceBook()
    book.observe(10_000, [window(20.0, 40.0, "n1")])
    assert book.pop_rows() == [row("n1", 20_000, 40_000)]
    book.observe(15_000, [])
    assert book.pop_rows() == []


def test_a_window_that_goes_on_over_a_restart_is_one() -> None:
    book = MaintenanceBook([row("n1", 5_000, 40_000)])
    book.observe(20_000, [window(5.0, 40.0, "n1")])
    assert book.pop_rows() is None
    book.observe(30_000, [])
    assert book.pop_rows() == [row("n1", 5_000, 30_000)]


def test_windows_are_in_the_archive(tmp_path: Path) -> None:
    async def recorded_with(*windows: Maintenance) -> None:
        clock = SystemClock()
        fleet = Fleet(clock, HubSettings().thresholds, None)
        settings = History(folder=str(tmp_path / "a"))
        recorder = Recorder(settings, fleet, clock, lambda: windows)
        await recorder.round()
        await recorder.close()
        fleet.close()

    asyncio.run(recorded_with(window(1e9, 2e9, "n1"), window(1e9, 2e9, id_="m2")))
    archive = Archive(tmp_path / "a")
    assert archive.maintenance() == [
        row(None, 10**12, 2 * 10**12),
        row("n1", 10**12, 2 * 10**12),
    ]
    assert [finding for finding in check(tmp_path / "a") if finding.mistake] == []


class FullWriter:
    """A writer in which much waits; it notes when it is asked to write."""

    is_backlogged = True
    dropped = 0

    def __init__(self) -> None:
        self.cuts = 0

    def add(self, batch: object) -> None:
        pass

    def cut(self, before: int, events_before: int | None = None) -> None:
        self.cuts += 1


def test_much_that_waits_is_written_before_its_time_but_not_each_round(tmp_path: Path) -> None:
    async def rounds() -> list[int]:
        clock = ManualClock()
        fleet = Fleet(clock, HubSettings().thresholds, None)
        recorder = Recorder(History(folder=str(tmp_path / "a")), fleet, clock)
        recorder._writer.close(0)
        recorder._writer = writer = FullWriter()  # type: ignore[assignment]
        recorder._cut_at = clock.monotonic()
        cuts = []
        for _ in range(4):
            clock.advance(30.0)
            await recorder.round()
            cuts.append(writer.cuts)
        writer.is_backlogged = False
        clock.advance(200.0)
        await recorder.round()
        fleet.close()
        return [*cuts, writer.cuts]

    assert asyncio.run(rounds()) == [0, 1, 1, 2, 2]


def test_memory_is_given_back_after_each_part_and_not_each_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []

    async def rounds() -> list[int]:
        clock = ManualClock()
        fleet = Fleet(clock, HubSettings().thresholds, None)
        recorder = Recorder(History(folder=str(tmp_path / "a")), fleet, clock)
        monkeypatch.setattr("accelwatch.fleet.archive.recorder.give_back", lambda: given.append(1))
        recorder._cut_at = clock.monotonic()
        counts = []
        for _ in range(12):
            clock.advance(60.0)
            await recorder.round()
            counts.append(len(given))
        await recorder.close()
        fleet.close()
        return counts

    assert asyncio.run(rounds()) == [0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2]
