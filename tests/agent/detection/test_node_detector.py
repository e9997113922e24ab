"""A detector on an agent: what it finds on its own node, as facts and as incidents."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from accelwatch.agent.detection.node_detector import INTERVAL_S, NodeDetector
from accelwatch.agent.rules.evaluator import NodeEvaluator
from accelwatch.agent.rules.rule_evaluator import NodeRuleEvaluator
from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.archive.detector.detector_memory import FILE
from accelwatch.base.clock import ManualClock
from accelwatch.config.model import RuleSettings
from accelwatch.detection.detector import Detector
from accelwatch.detection.frame import Frame
from accelwatch.expr.rule_history import HOST
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Missing, Value
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from support.detection.working_node import HEAT, STEP_S, WorkingNode
from support.machines import composed
from support.servers.fake_feed import FakeFeed

HOT, LOST = composed.device(5).id, composed.device(3).id


def overheats(node: WorkingNode, by: float = 15.0) -> None:
    """Device 5 becomes hotter, some degrees an hour."""
    started = node.elapsed

    def spoil(elapsed: float, values: dict[Series, Number]) -> None:
        values[HEAT] = round(values[HEAT] + by * (elapsed - started) / 3600.0)

    node.spoils[5] = spoil


async def watch(detector: NodeDetector, node: WorkingNode, minutes: float) -> None:
    for _ in range(round(minutes * 60.0 / STEP_S)):
        await detector.detect(node.next(), node.elapsed)


def nobody(_key: Key) -> Value | Missing:
    return MISSING


def fact(detector: NodeDetector, device: str, name: str) -> Value | Missing:
    return detector.lookup(device, nobody)(name)


def test_before_the_first_frame_nothing_is_known() -> None:
    detector = NodeDetector()
    assert fact(detector, HOT, "detector.alert") is MISSING
    assert detector.evidence("", HOT) == ()


def test_where_nothing_is_found_flags_are_not_set_and_the_rest_is_missing() -> None:
    detector = NodeDetector()
    asyncio.run(watch(detector, WorkingNode(), 1))
    for device in (HOT, HOST):
        for subject in ("", "device.", "node.", "job.", "group."):
            assert fact(detector, device, f"detector.{subject}alert") == 0.0
            assert fact(detector, device, f"detector.{subject}family") is MISSING
            assert fact(detector, device, f"detector.{subject}onset") is MISSING
    # Other names go on to where they went before.
    assert detector.lookup(HOT, lambda _key: 7)("power_watts") == 7


def test_a_healthy_node_has_no_finding() -> None:
    detector = NodeDetector()
    asyncio.run(watch(detector, WorkingNode(), 120))
    assert detector.findings == ()


def test_a_device_that_becomes_hot_differs_from_its_peers_of_the_node() -> None:
    detector, node = NodeDetector(), WorkingNode()
    asyncio.run(watch(detector, node, 60))
    overheats(node)
    asyncio.run(watch(detector, node, 60))
    assert fact(detector, HOT, "detector.device.alert") == 1.0
    assert fact(detector, HOT, "detector.subject") == "device"
    assert fact(detector, HOT, "detector.family") == "thermal"
    onset = fact(detector, HOT, "detector.onset")
    assert isinstance(onset, float)
    assert node.now - 3600.0 <= onset <= node.now
    assert fact(detector, LOST, "detector.alert") == 0.0
    assert fact(detector, HOST, "detector.node.alert") == 0.0
    sentence, *signals = detector.evidence("device", HOT)
    assert "hotter than its 7 peers" in sentence.text
    assert "temperature_celsius.gpu" in {signal.signal for signal in signals}
    assert detector.evidence("node", HOT) == ()


def test_devices_of_no_job_are_not_compared() -> None:
    detector, node = NodeDetector(), WorkingNode(job="")
    asyncio.run(watch(detector, node, 60))
    overheats(node)
    asyncio.run(watch(detector, node, 60))
    assert detector.findings == ()


def test_a_lost_device_needs_no_peers() -> None:
    detector, node = NodeDetector(), WorkingNode(job="", devices=4)
    asyncio.run(watch(detector, node, 5))
    node.lost[3] = node.elapsed
    asyncio.run(watch(detector, node, 2))
    assert fact(detector, LOST, "detector.device.alert") == 1.0
    assert fact(detector, HOT, "detector.device.alert") == 0.0


def test_nobody_is_woken_for_what_is_worked_on() -> None:
    window = Maintenance(
        id="m1",
        nodes=("n01",),
        starts=composed.NOW,
        ends=composed.NOW + 7200.0,
        by="kim",
        reason="x",
    )
    detector, node = NodeDetector(lambda: (window,)), WorkingNode()
    asyncio.run(watch(detector, node, 5))
    node.lost[3] = node.elapsed
    asyncio.run(watch(detector, node, 2))
    assert fact(detector, LOST, "detector.device.alert") == 0.0


@pytest.mark.parametrize(("pace_s", "frames"), [(1.0, 4), (15.0, 4), (30.0, 2)])
def test_it_looks_every_15_seconds_and_no_more_often_than_rules_are_evaluated(
    pace_s: float, frames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Frame] = []
    monkeypatch.setattr(Detector, "detect", lambda _self, frame: seen.append(frame))
    detector = NodeDetector()
    detector.pace(pace_s)

    async def minute() -> None:
        for tick in range(round(60 / pace_s)):
            # One tick is a little early, the next a little late.
            at = tick * pace_s + (-0.1 if tick % 2 else 0.1)
            await detector.detect(composed.snapshot(), at)

    asyncio.run(minute())
    assert len(seen) == frames
    assert {frame.interval_s for frame in seen} == {max(INTERVAL_S, pace_s)}


def test_one_that_fails_starts_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    detector, node = NodeDetector(), WorkingNode()
    asyncio.run(watch(detector, node, 5))
    node.lost[3] = node.elapsed
    asyncio.run(watch(detector, node, 2))

    def fail(_self: Detector, _frame: Frame) -> None:
        raise ValueError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(Detector, "detect", fail)
        asyncio.run(watch(detector, node, 0.25))
    assert "restarts without its baselines" in caplog.text
    assert detector.findings == ()
    asyncio.run(watch(detector, node, 2))
    assert fact(detector, LOST, "detector.device.alert") == 1.0


def is_found_after_restart(folder: Path, *, keeps: bool = True, boots: bool = False) -> bool:
    """Whether device 5, which has become hot, is found by the first frame of another process."""
    node = WorkingNode()

    async def scenario() -> bool:
        before = NodeDetector(folder=folder)
        await watch(before, node, 60)
        overheats(node)
        await watch(before, node, 60)
        assert fact(before, HOT, "detector.alert") == 1.0
        before.close()
        if not keeps:
            (folder / FILE).unlink()
        after = NodeDetector(folder=folder)
        if boots:
            node.booted_at = node.now
        # Monotonic time is another's.
        await after.detect(node.next(), 7.0)
        return fact(after, HOT, "detector.alert") == 1.0

    return asyncio.run(scenario())


def test_a_finding_goes_on_after_a_restart(tmp_path: Path) -> None:
    assert is_found_after_restart(tmp_path)


def test_what_is_known_of_a_device_ends_with_the_boot_of_its_node(tmp_path: Path) -> None:
    assert not is_found_after_restart(tmp_path, boots=True)


def test_without_its_file_a_detector_starts_over(tmp_path: Path) -> None:
    assert not is_found_after_restart(tmp_path, keeps=False)


def test_it_is_saved_every_ten_minutes_too(tmp_path: Path) -> None:
    detector, node = NodeDetector(folder=tmp_path), WorkingNode()
    asyncio.run(watch(detector, node, 5))
    assert not (tmp_path / FILE).exists()
    asyncio.run(watch(detector, node, 6))
    assert (tmp_path / FILE).exists()


class Site:
    """An agent's evaluator and runner with the pack `detector`, over a node that works."""

    def __init__(self, folder: Path, **rules: object) -> None:
        self.node, self.clock = WorkingNode(), ManualClock()
        self.feed = FakeFeed(self.node.next())
        self.evaluator = NodeEvaluator(self.feed, self.clock, 15.0, folder)
        settings = RuleSettings(interval_s=15.0, **rules)  # type: ignore[arg-type]
        self.runner = RuleRunner(self.evaluator, settings, folder)

    async def minutes(self, minutes: float) -> None:
        for _ in range(round(minutes * 60.0 / STEP_S)):
            self.clock.advance(STEP_S)
            self.feed.put(self.node.next())
            await self.runner.tick()


def test_a_lost_device_is_an_incident_of_the_pack(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = Site(tmp_path, packs=("detector",))
        await site.runner.start()
        await site.minutes(10)
        assert not site.runner.open
        site.node.lost[3] = site.node.elapsed
        await site.minutes(2)
        [incident] = site.runner.open
        assert (incident.rule, incident.entity.device) == ("detector.device.reboot", LOST)
        assert "lost" in incident.evidence[0].text
        explained = site.evaluator.explain("detector.device.reboot", "n01/nvidia3")
        assert "detector.device.alert" in str(explained)
        await site.runner.stop()
        assert (tmp_path / FILE).exists()

    asyncio.run(scenario())


def test_a_device_that_becomes_hot_is_an_incident_with_its_peers_as_evidence(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        site = Site(tmp_path, packs=("detector",))
        await site.runner.start()
        await site.minutes(30)
        overheats(site.node)
        await site.minutes(60)
        [incident] = site.runner.open
        assert (incident.rule, incident.entity.device) == ("detector.device.suspect", HOT)
        sentence, *signals = incident.evidence
        assert "hotter than its 7 peers" in sentence.text
        assert any("its peers have" in line.text for line in signals)
        await site.runner.stop()

    asyncio.run(scenario())


def test_the_detector_goes_on_through_a_change_of_rules(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"

    def write(when: str) -> None:
        rule = f"{{id: site.found, title: t, when: '{when}'}}"
        file.write_text(f"version: 1\nrules:\n- {rule}\n", encoding="utf-8")

    async def scenario() -> None:
        node = WorkingNode()
        feed, clock = FakeFeed(node.next()), ManualClock()
        evaluator = NodeEvaluator(feed, clock, 15.0)

        async def see(ticks: int) -> list[str]:
            changes: list[str] = []
            for _ in range(ticks):
                clock.advance(STEP_S)
                feed.put(node.next())
                changes += [str(change.entity) for change in await evaluator.evaluate()]
            return changes

        write("detector.alert")
        evaluator.set_rules(load([file]), lambda _node, _event: True)
        assert await see(20) == []
        node.lost[3] = node.elapsed
        await see(4)
        write("detector.device.alert and power_watts < 0")
        evaluator.set_rules(load([file]), lambda _node, _event: True)
        write("detector.device.alert")
        evaluator.set_rules(load([file]), lambda _node, _event: True)
        # It has known since before.
        assert await see(1) == [f"n01 {LOST}"]
        write("power_watts < 0")
        evaluator.set_rules(load([file]), lambda _node, _event: True)
        write("detector.device.alert")
        evaluator.set_rules(load([file]), lambda _node, _event: True)
        # Nobody asked in between: it has begun anew, and one sample without a device is no loss.
        node.lost[3] = node.elapsed
        assert await see(1) == []
        assert await see(1) == [f"n01 {LOST}"]

    asyncio.run(scenario())


def test_without_a_detector_a_rule_about_findings_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\nrules:\n- {id: a, title: t, when: not detector.alert}\n")
    evaluator = NodeRuleEvaluator(load([file]).rules, 1.0)
    assert evaluator.tick(composed.snapshot(), 1.0) == []
    [subject, *_] = evaluator.evaluated[Scope.DEVICE]
    assert subject.environment.lookup("detector.alert") is MISSING


LOADED = """\
import sys
from pathlib import Path
from accelwatch.agent.rules.evaluator import NodeEvaluator
from accelwatch.alerting.rules.loading.pack_files import pack_file
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.base.clock import ManualClock
evaluator = NodeEvaluator(None, ManualClock(), 1.0)
evaluator.set_rules(load([{files}]), lambda _node, _event: True)
print([name for name in sys.modules if name in ("numpy", "accelwatch.detection.detector",
      "accelwatch.detection.findings.finding", "accelwatch.agent.detection")])
print([name for name in sys.modules if name.startswith("accelwatch.fleet")])
"""


def loaded_with(files: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", LOADED.format(files=files)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return run.stdout.splitlines()


def test_nothing_is_loaded_where_no_rule_needs_it() -> None:
    assert loaded_with("pack_file('nvidia'), pack_file('host')") == ["[]", "[]"]


def test_rules_of_jobs_which_a_hub_evaluates_load_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    rule = "{id: a, title: t, scope: job, when: detector.job.alert}"
    file.write_text(f"version: 1\nrules:\n- {rule}\n", encoding="utf-8")
    assert loaded_with(f"Path({str(file)!r})") == ["[]", "[]"]


def test_the_pack_loads_the_detector_and_nothing_of_a_hub() -> None:
    detector, hub = loaded_with("pack_file('detector')")
    assert "'numpy'" in detector
    assert "'accelwatch.agent.detection'" in detector
    assert hub == "[]"
