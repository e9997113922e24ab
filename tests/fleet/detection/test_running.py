"""A detector beside rules: in a back-test in place, in a hub beside the loop."""

import asyncio
import math
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

import msgspec
import numpy as np
import pytest

from accelwatch.alerting.rules.loading.pack_files import pack_file
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.archive.detector.detector_memory import FILE, SAVED_EVERY_S, DetectorMemory
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.base.slices import LongWork
from accelwatch.detection.detector import Detector
from accelwatch.detection.findings.finding import Finding, Scope
from accelwatch.detection.frame import Frame
from accelwatch.expr.vocabulary.detector_names import SUBJECTS
from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.backtest.line import Line
from accelwatch.fleet.backtest.run import final_lines
from accelwatch.fleet.detection.frames import Frames
from accelwatch.fleet.detection.hub import HubColumns
from accelwatch.fleet.detection.running import FleetDetector
from accelwatch.fleet.rules.columns.event_history import FleetEventHistory
from accelwatch.fleet.rules.columns.live import FleetColumns
from support.archives.synthetic_fleet import Fault, Plan, archive
from support.detection.findings import finding
from support.fleet.two_nodes import TwoNodes, view

AT = 3607.0


def alerts_of(folder: Path, *faults: Fault) -> tuple[list[Line], list[str]]:
    """What wakes somebody by the detector's rules of twelve nodes of four devices in two hours, and
    the names of the nodes.
    """
    plan = Plan(nodes=12, devices=4, spare=2, seconds=7200, seed=3, sessions=False, faults=faults)
    fleet = archive(folder / "archive", plan)
    read = Archive(folder / "archive")
    lines = final_lines(read, Backtest(read, load([pack_file("detector")]).rules))
    return [line for line in lines if line.level == "alert"], list(fleet.names)


def test_a_healthy_fleet_has_no_alert(tmp_path: Path) -> None:
    assert alerts_of(tmp_path)[0] == []


def test_a_link_that_fails_is_an_alert_on_its_device(tmp_path: Path) -> None:
    [line], names = alerts_of(tmp_path, Fault("nvlink", 5, AT, 1800.0, 2))
    assert (line.scope, line.node, line.nodes) == ("device", names[5], [names[5]])
    assert line.rule.startswith("detector.device.")
    assert "log" in line.channels
    assert line.explanation
    assert "detector" not in {each.signal for each in line.explanation}


class Hub(TwoNodes):
    """Two nodes and a detector that looks at them every ten seconds."""

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        frames = Frames(FleetEventHistory(self.fleet), 10.0)
        memory = DetectorMemory(None if folder is None else folder / FILE)
        self.own = HubColumns(self.fleet, frames)
        self.running = FleetDetector(frames, self.own, memory=memory)
        self.columns = FleetColumns(self.fleet, self.running.needs)
        self.columns.detector_facts = self.running.facts

    async def tick(self) -> None:
        """Ten seconds later; what is looked at has been."""
        self.clock.advance(10.0)
        for node in ("a", "b"):
            now = self.clock.wall()
            self.report(node, view(0, sample_time=now), view(1, sample_time=now))
        await self.columns.refresh(LongWork())
        await self.running.detect(self.columns, LongWork())
        await self.running.stop()


def test_in_a_hub_facts_are_known_after_the_first_frame() -> None:
    async def both() -> tuple[list[float], list[float]]:
        hub = Hub()
        await hub.columns.refresh(LongWork())
        before = hub.columns.number("detector.alert")
        await hub.tick()
        await hub.columns.refresh(LongWork())
        after = hub.columns.number("detector.alert")
        return before.tolist(), after[hub.columns.here].tolist()

    before, after = asyncio.run(both())
    assert all(map(math.isnan, before))
    assert after == [0.0] * 4


def test_it_looks_once_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[float] = []
    detect = Detector.detect

    def recorded(self: Detector, frame: Frame) -> tuple[Finding, ...]:
        frames.append(frame.now)
        return detect(self, frame)

    monkeypatch.setattr(Detector, "detect", recorded)

    async def ticks() -> None:
        hub = Hub()
        await hub.tick()
        hub.clock.advance(5.0)
        await hub.columns.refresh(LongWork())
        await hub.running.detect(hub.columns, LongWork())
        await hub.running.stop()
        hub.clock.advance(-5.0)
        await hub.tick()

    asyncio.run(ticks())
    assert len(frames) == 2


def test_a_detector_that_fails_starts_anew(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    detect = Detector.detect

    def failing(_self: Detector, _frame: Frame) -> tuple[Finding, ...]:
        raise ZeroDivisionError

    async def ticks() -> tuple[Detector, Detector]:
        hub = Hub()
        first = hub.running.detector
        monkeypatch.setattr(Detector, "detect", failing)
        await hub.tick()
        monkeypatch.setattr(Detector, "detect", detect)
        await hub.tick()
        return first, hub.running.detector

    first, second = asyncio.run(ticks())
    assert second is not first
    assert second.tick is not None
    assert "restarts without its baselines" in caplog.text


def test_what_it_knows_outlives_it(tmp_path: Path) -> None:
    async def seconds(after_s: float, ticks: int) -> float:
        hub = Hub(tmp_path)
        hub.clock.advance(after_s)
        for _ in range(ticks):
            await hub.tick()
        return float(hub.running.detector.rows.devices.rows.watched_s.min())

    before = asyncio.run(seconds(0.0, 5))
    assert before >= 30.0
    assert asyncio.run(seconds(50.0, 1)) == before + 10.0


def test_it_is_kept_every_ten_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[float] = []
    monkeypatch.setattr(
        DetectorMemory, "save", lambda _self, detector, _frames: saved.append(detector.rows.now)
    )

    async def due() -> list[bool]:
        hub = Hub(tmp_path)
        await hub.tick()
        saved.clear()
        hub.clock.advance(SAVED_EVERY_S)
        await hub.tick()
        return [hub.clock.wall() == now for now in saved]

    # When it is due, and when it stops.
    assert asyncio.run(due()) == [True, True]


def test_a_file_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    async def problem() -> str:
        (tmp_path / "file").touch()
        hub = Hub(tmp_path / "file")
        await hub.tick()
        return hub.running.problem

    assert str(tmp_path / "file") in asyncio.run(problem())


def test_a_request_between_frames_writes_nothing(tmp_path: Path) -> None:
    async def written() -> tuple[int, int]:
        hub = Hub(tmp_path)
        for _ in range(3):
            await hub.tick()
        file = tmp_path / FILE
        before = file.stat().st_mtime_ns
        await asyncio.gather(*(hub.running.between_frames() for _ in range(4)))
        return before, file.stat().st_mtime_ns

    before, after = asyncio.run(written())
    assert before == after


def test_a_frame_and_the_file_are_never_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    going_on: list[str] = []
    both: list[str] = []

    def alone(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any) -> Any:
            both.extend(going_on)
            going_on.append(name)
            sleep(0.05)
            try:
                return real(*args)
            finally:
                going_on.remove(name)

        return called

    monkeypatch.setattr(Detector, "detect", alone("frame", Detector.detect))
    monkeypatch.setattr(DetectorMemory, "save", alone("file", DetectorMemory.save))

    async def stopped_while_it_looks() -> None:
        hub = Hub(tmp_path)
        await hub.tick()
        stopping = asyncio.create_task(hub.running.stop())
        for _ in range(5):
            await asyncio.sleep(0.01)
            hub.clock.advance(10.0)
            await hub.columns.refresh(LongWork())
            await hub.running.detect(hub.columns, LongWork())
        await stopping
        await hub.running.between_frames()

    asyncio.run(stopped_while_it_looks())
    assert both == []


def test_what_cannot_be_read_fails_no_rule(caplog: pytest.LogCaptureFixture) -> None:
    async def ticks() -> bool:
        hub = Hub()

        async def failing(_detector: Detector, _frame: Frame, _work: LongWork) -> None:
            raise ZeroDivisionError

        hub.running = FleetDetector(hub.running.frames, hub.own, failing)
        await hub.tick()
        return hub.running.detector.tick is None

    assert asyncio.run(ticks())
    assert "no frame of this moment" in caplog.text


def test_a_clock_that_is_set_back_stops_no_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    async def frames() -> tuple[float, float]:
        hub = Hub()
        await hub.tick()
        first = hub.running.detector.rows.now
        wall = hub.clock.wall
        monkeypatch.setattr(hub.clock, "wall", lambda: wall() - 3600.0)
        # Rules that are loaded again go by the clock of now.
        hub.columns = FleetColumns(hub.fleet, hub.running.needs)
        await hub.tick()
        return first, hub.running.detector.rows.now

    first, second = asyncio.run(frames())
    assert second - first == 10.0


def test_findings_end_when_no_rule_uses_them() -> None:
    async def paused() -> tuple[int, int, int]:
        hub = Hub()
        await hub.tick()
        found = finding(Scope.NODE)
        at = {subject: np.zeros(2, dtype=np.intp) for subject in SUBJECTS}
        hub.running.facts.update([found], at)
        before = len(hub.running.facts.findings)
        hub.running.pause()
        while_paused = len(hub.running.facts.findings)
        await hub.tick()
        return before, while_paused, int(hub.columns.number("detector.alert")[0])

    assert asyncio.run(paused()) == (1, 0, 0)


async def hub_with_findings(size: int = 2) -> Hub:
    """A hub whose detector has found something of each row."""
    hub = Hub()
    await hub.tick()
    await hub.columns.refresh(LongWork())
    at = {subject: np.zeros(size, dtype=np.intp) for subject in SUBJECTS}
    hub.running.facts.update([finding(Scope.DEVICE)], at, hub.own.generations)
    return hub


def alerts(hub: Hub) -> list[float]:
    return [float(value) for value in hub.columns.number("detector.device.alert")[:2]]


def families(hub: Hub) -> list[int]:
    return [int(code) for code in hub.columns.text("detector.family").codes[:2]]


def test_what_was_found_of_a_device_is_unknown_of_another_in_its_row() -> None:
    async def exchanged() -> Hub:
        hub = await hub_with_findings()
        assert alerts(hub) == [1.0, 1.0]
        now = hub.clock.wall()
        other = msgspec.structs.replace(view(1).device, uuid="GPU-other", serial="other")
        hub.report("a", view(0, sample_time=now), view(1, sample_time=now, device=other))
        await hub.columns.refresh(LongWork())
        return hub

    hub = asyncio.run(exchanged())
    assert alerts(hub)[0] == 1.0
    assert math.isnan(alerts(hub)[1])
    assert families(hub) == [0, -1]
    assert hub.columns.finding("device", 0) is not None
    assert hub.columns.finding("device", 1) is None


def test_findings_of_a_frame_are_not_of_who_came_while_it_was_looked_at() -> None:
    async def exchanged() -> tuple[list[float], list[float]]:
        hub = await hub_with_findings()
        seen = hub.own.generations
        other = msgspec.structs.replace(view(1).device, uuid="GPU-other", serial="other")
        hub.report("a", view(0), view(1, device=other))
        await hub.columns.refresh(LongWork())
        at = {subject: np.zeros(2, dtype=np.intp) for subject in SUBJECTS}
        hub.running.facts.update([finding(Scope.NODE)], at, seen)
        published = alerts(hub)
        # The next frame has seen it.
        await hub.tick()
        await hub.columns.refresh(LongWork())
        return published, alerts(hub)

    published, later = asyncio.run(exchanged())
    assert published[0] == 1.0
    assert math.isnan(published[1])
    assert later == [0.0, 0.0]
