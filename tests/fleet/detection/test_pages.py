"""What the detector holds of a node, asked of a hub; and whom its findings suspect."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from accelwatch.alerting.rules.loading.pack_files import pack_file
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.rule import RuleSet
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.base.slices import LongWork
from accelwatch.config.model import RuleSettings
from accelwatch.detection.findings.finding import Finding, Level, Scope
from accelwatch.detection.fusion.families import FAMILIES
from accelwatch.expr.vocabulary.detector_names import SUBJECTS
from accelwatch.fleet.api.live.feed import Feed
from accelwatch.fleet.api.summaries import node_summary
from accelwatch.fleet.detection.frames import Frames
from accelwatch.fleet.detection.hub import HubColumns
from accelwatch.fleet.detection.pages import DetectorPages
from accelwatch.fleet.detection.running import FleetDetector
from accelwatch.fleet.detection.suspects import Suspects
from accelwatch.fleet.documents.detector import DetectorPage
from accelwatch.fleet.rules.columns.event_history import FleetEventHistory
from accelwatch.fleet.rules.columns.live import FleetColumns
from accelwatch.fleet.wire import NodeFinding
from support.dashboards.fleets import fleet_document
from support.fleet.hub_peers import agent, hub
from support.fleet.two_nodes import TwoNodes, view
from support.machines import composed as machines

PACK = load([pack_file("detector")])
GPU = machines.device(1)


def finding(**changes: Any) -> Finding:
    made: dict[str, Any] = {
        "key": "node/a",
        "level": Level.ALERT,
        "scope": Scope.NODE,
        "node": "a",
        "device": "",
        "job": "",
        "nodes": ("a",),
        "family": "power",
        "channels": ("peer",),
        "advice": "exclude",
        "score": 9.1,
        "onset": 1_790_000_000.0,
        "opened": 1_790_000_240.0,
        "updated": 1_790_000_240.0,
        "cleared": None,
        "signals": (),
        "sentence": "a draws 9 % less power at equal load.",
    }
    return Finding(**{**made, **changes})


def on_device(**changes: Any) -> Finding:
    sentence = f"a/{GPU.name} draws 9 % less power at equal load."
    return finding(scope=Scope.DEVICE, device=GPU.id, sentence=sentence, **changes)


class Hub(TwoNodes):
    """Two nodes of two devices, and a detector that has seen a frame."""

    def __init__(self, rules: RuleSet | None = PACK, *, runs: bool = True) -> None:
        super().__init__()
        frames = Frames(FleetEventHistory(self.fleet), 15.0)
        self.running = FleetDetector(frames, HubColumns(self.fleet, frames))
        self.columns = FleetColumns(self.fleet, self.running.needs)
        detector = self.running if runs else None
        self.pages = DetectorPages(self.fleet, lambda: detector, lambda: rules)

    async def tick(self) -> None:
        self.clock.advance(15.0)
        for node in ("a", "b"):
            self.report(node, view(0), view(1))
        await self.columns.refresh(LongWork())
        await self.running.detect(self.columns, LongWork())

    async def page_of(self, entity: str) -> DetectorPage:
        page = await self.pages.page({"entity": [entity]} if entity else {}, {})
        return msgspec.json.decode(page.body, type=DetectorPage)

    def find(self, *findings: Finding) -> None:
        """The detector has these findings."""
        by_key = {each.key: each for each in findings}
        self.running.detector.merging = self.running.detector.merging._replace(open=by_key)


def page_of(hub: Hub, entity: str, *findings: Finding) -> DetectorPage:
    async def main() -> DetectorPage:
        await hub.tick()
        await hub.running.stop()
        hub.find(*findings)
        return await hub.page_of(entity)

    return asyncio.run(main())


def test_a_node_has_its_devices_by_the_names_that_people_use() -> None:
    page = page_of(Hub(), "a")
    names = [(row.subject, row.name, row.node) for row in page.rows]
    assert names == [
        ("node", "a", "a"),
        *(("device", machines.device(index).name, "a") for index in (0, 1)),
    ]
    assert page.rows[2].device == GPU.id
    assert (page.entity, page.interval_s, page.findings) == ("a", 15.0, ())
    assert {len(row.families) for row in page.rows} == {len(FAMILIES)}


@pytest.mark.parametrize("name", [GPU.name, GPU.id])
def test_of_a_device_only_that_is_shown(name: str) -> None:
    [row] = page_of(Hub(), f"a/{name}").rows
    assert (row.name, row.device, row.node) == (GPU.name, GPU.id, "a")


def test_a_frame_that_is_being_looked_at_is_waited_for() -> None:
    async def main() -> DetectorPage:
        hub = Hub()
        await hub.tick()
        return await hub.page_of("a")

    assert asyncio.run(main()).rows


def test_findings_that_concern_the_node_are_shown() -> None:
    of_job = finding(key="job/7", scope=Scope.JOB, node="", job="7", nodes=("b", "a"))
    other = finding(key="node/b", node="b", nodes=("b",))
    page = page_of(Hub(), "a", on_device(), of_job, other)
    of_device, shared = page.findings
    assert of_device.sentence == f"a/{GPU.name} draws 9 % less power at equal load."
    assert (of_device.level, of_device.scope, of_device.device) == ("alert", "device", GPU.id)
    assert of_device.onset == "2026-09-21T14:13:20.000Z"
    assert (shared.scope, shared.job) == ("job", "7")


def test_of_another_device_the_finding_is_not_shown() -> None:
    first = machines.device(0).name
    assert page_of(Hub(), f"a/{first}", on_device()).findings == ()
    assert len(page_of(Hub(), f"a/{GPU.name}", on_device()).findings) == 1
    assert len(page_of(Hub(), f"a/{first}", finding()).findings) == 1


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        ("c", "no node 'c' is known here"),
        (
            "job:4711",
            "the detector is explained for a node or a device of it, not for a job; "
            "`accelwatch why job:4711` names its nodes",
        ),
        (
            "rack:r7",
            "the detector is explained for a node or a device of it, not for a rack; "
            "name a node of it, such as n12 or n12/nvidia3",
        ),
        ("aa", "no node 'aa' is known here; did you mean a?"),
        ("aa/gpu0", "no node 'aa' is known here; did you mean a?"),
        ("a/nvidia9", f"no device 'nvidia9' on 'a'; did you mean {machines.device(0).name}"),
    ],
)
def test_an_unknown_name_is_reported_with_the_nearest(entity: str, text: str) -> None:
    with pytest.raises(UnmetError) as raised:
        page_of(Hub(), entity)
    assert str(raised.value).startswith(text[:-1])


def test_without_an_entity_the_page_requests_one() -> None:
    with pytest.raises(UsageError, match="entity is needed"):
        page_of(Hub(), "")


def rules_of(folder: Path, text: str) -> RuleSet:
    file = folder / "rules.yaml"
    file.write_text(f"version: 1\nrules:\n{text}", encoding="utf-8")
    return load([file])


def refusal_of(hub: Hub) -> str:
    with pytest.raises(UnmetError) as raised:
        asyncio.run(hub.page_of("a"))
    return str(raised.value)


def test_why_no_detector_runs_is_reported(tmp_path: Path) -> None:
    remedy = "the pack `detector` does, unless detector.enabled is false"
    assert refusal_of(Hub(None)) == (f"no detector runs here, as no rules are in force; {remedy}")
    assert refusal_of(Hub(runs=False)) == (
        f"no detector runs here, as no rules are in force; {remedy}"
    )
    plain = rules_of(tmp_path, "- {id: x, title: T, when: power_watts < 1}")
    no_rule = f"no detector runs here, as no rule asks for it; {remedy}"
    assert refusal_of(Hub(plain)) == no_rule
    off = rules_of(tmp_path, "- {id: x, title: T, mode: off, when: detector.alert}")
    assert refusal_of(Hub(off)) == no_rule
    assert refusal_of(Hub()) == "the detector has no frame yet; it looks every 15 seconds"


def test_a_node_that_has_just_been_added_has_no_row_yet() -> None:
    hub = Hub()

    async def main() -> None:
        await hub.tick()
        await hub.running.stop()
        detector = hub.running.detector
        assert detector.tick is not None
        frame = detector.tick.frame
        names = frame.names._replace(nodes=("", "b"))
        detector.tick = detector.tick._replace(frame=frame._replace(names=names))
        with pytest.raises(UnmetError, match="no row for 'a' yet: it was just added"):
            await hub.page_of("a")

    asyncio.run(main())


def suspected(*findings: Finding) -> dict[str, NodeFinding | None]:
    hub = Hub()
    for node in ("a", "b"):
        hub.report(node, view(0), view(1))
    suspects = Suspects(hub.fleet, lambda: findings)
    return {node: suspects.of(node) for node in ("a", "b")}


def test_the_node_of_a_finding_is_its_suspect() -> None:
    assert suspected(finding()) == {
        "a": NodeFinding(
            level="alert", family="power", sentence="a draws 9 % less power at equal load."
        ),
        "b": None,
    }


def test_a_device_to_blame_has_its_name() -> None:
    found = suspected(on_device(level=Level.WATCH))["a"]
    assert found is not None
    assert (found.level, found.device, found.name) == ("watch", GPU.id, GPU.name)
    assert found.sentence == f"a/{GPU.name} draws 9 % less power at equal load."
    assert found.text == f"watch {GPU.name} power"


def test_what_many_have_by_one_cause_suspects_nobody() -> None:
    group = finding(key="g", scope=Scope.GROUP, node="", nodes=("a", "b"))
    assert suspected(group) == {"a": None, "b": None}
    hang = finding(key="job/7", scope=Scope.JOB, node="b", job="7", nodes=("b", "a"))
    found = suspected(hang)
    assert found["a"] is None
    assert found["b"] is not None


@pytest.mark.parametrize("first", [0, 1])
def test_an_alert_goes_before_a_watch(first: int) -> None:
    both = [finding(), finding(key="job/7", level=Level.WATCH, scope=Scope.JOB, job="7")]
    found = suspected(both[first], both[1 - first])["a"]
    assert found is not None
    assert found.level == "alert"


def test_other_findings_are_others_suspects() -> None:
    hub = Hub()
    findings: tuple[Finding, ...] = (finding(),)
    suspects = Suspects(hub.fleet, lambda: findings)
    assert suspects.of("a") is not None
    findings = ()
    assert suspects.of("a") is None


def test_a_running_hub_carries_what_its_detector_finds() -> None:
    """From the facts of the detector that runs beside its rules to the list of nodes."""

    async def main() -> None:
        rules = RuleSettings(packs=("detector",), interval_s=60.0)
        async with agent(machines.snapshot()) as one, hub(one.address, rules=rules) as running:
            detector, evaluated = running.hub.detector, running.hub.rules
            assert detector is not None
            assert evaluated is not None
            # Nothing that it finds by itself comes between.
            await evaluated.stop()
            await detector.between_frames()
            [node] = (await running.get("/v1/nodes"))["nodes"]
            assert node["finding"] is None
            found = finding(node=one.address, nodes=(one.address,))
            nothing = {subject: np.full(0, -1, dtype=np.intp) for subject in SUBJECTS}
            detector.facts.update((found,), nothing)
            [node] = (await running.get("/v1/nodes"))["nodes"]
            assert node["finding"]["sentence"] == found.sentence

    asyncio.run(main())


def test_lists_of_nodes_and_the_stream_carry_it() -> None:
    hub = Hub()
    hub.report("a", view(0), view(1))
    hub.fleet.finding_of = Suspects(hub.fleet, lambda: (finding(),)).of
    summary = node_summary(hub.fleet, hub.fleet.nodes["a"])
    assert summary.finding is not None
    assert summary.finding.level == "alert"
    feed = Feed(hub.fleet, (), None)
    asyncio.run(feed.make(fleet_document()))
    assert feed.ticks.tick is not None
    assert {node.node: node.finding for node in feed.ticks.tick.nodes} == {
        "a": summary.finding,
        "b": None,
    }
