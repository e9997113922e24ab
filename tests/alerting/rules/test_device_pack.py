"""The pack `device`: what a device, its driver or an exporter says of its health becomes an incident."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from accelwatch.agent.rules.evaluator import NodeEvaluator
from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Confidence, Severity
from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import BY_EXPORTER, WITHOUT_DRIVER, Health, Unread, evaluate_health
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.snapshot import DeviceView
from support.fleet.two_nodes import TwoNodes
from support.machines import composed as machines
from support.servers.fake_feed import FakeFeed

STEP_S = 20.0
TICKS = 12
VENDORS = ("nvidia", "amd", "intel", "ascend", "hygon", "tenstorrent", "apple")
UNREAD = Unread("999", "unknown error (999)")


def of_vendor(vendor: str, **changes: object) -> DeviceView:
    view = machines.view(0)
    device = msgspec.structs.replace(
        view.device, vendor=vendor, id=f"{vendor}:0", name=f"{vendor}0"
    )
    return msgspec.structs.replace(view, device=device, **changes)


def judged(view: DeviceView, unread: Unread | None = None) -> DeviceView:
    found = evaluate_health(view.state, view.reading, (), machines.NOW, unread)
    return msgspec.structs.replace(view, health=found.health, health_reasons=found.reasons)


def without_reading(vendor: str, unread: Unread) -> DeviceView:
    view = of_vendor(
        vendor,
        state=DeviceState.DEGRADED,
        reading=wholly_absent(f"{vendor}:0", Absence.ERROR),
        sample_time=None,
        sample_age_s=None,
    )
    return judged(view, unread)


def reporting(vendor: str, word: str, status: str = "") -> DeviceView:
    view = of_vendor(vendor)
    values = {**view.reading.values, ("reported_health_info", word): 1}
    if status:
        values[("reported_status_info", status)] = 1
    view = msgspec.structs.replace(
        view, reading=msgspec.structs.replace(view.reading, values=values)
    )
    return judged(view)


def by_exporter(vendor: str, health: Health, *before: str) -> DeviceView:
    return of_vendor(vendor, health=health, health_reasons=(*before, BY_EXPORTER[health]))


def settings() -> RuleSettings:
    return RuleSettings(packs=tuple(pack_names()))


def on_an_agent(view: DeviceView, folder: Path) -> list[Incident]:
    async def scenario() -> list[Incident]:
        clock = ManualClock(wall=machines.NOW)
        feed = FakeFeed(machines.snapshot(view, time=clock.wall()))
        runner = RuleRunner(NodeEvaluator(feed, clock, STEP_S), settings(), folder)
        await runner.start()
        for _ in range(TICKS):
            feed.put(machines.snapshot(view, time=clock.wall()))
            await runner.tick()
            clock.advance(STEP_S)
        await runner.stop()
        return list(runner.open)

    return asyncio.run(scenario())


def on_a_hub(view: DeviceView, folder: Path) -> list[Incident]:
    async def scenario() -> list[Incident]:
        site = TwoNodes()
        runner = RuleRunner(FleetEvaluator(site.fleet), settings(), folder)
        await runner.start()
        for _ in range(TICKS):
            site.report("a", view)
            await runner.tick()
            site.clock.advance(STEP_S)
        await runner.stop()
        return [one for one in runner.open if one.entity.device]

    return asyncio.run(scenario())


@pytest.mark.parametrize("judge_of", [on_an_agent, on_a_hub])
@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    ("state", "rule", "title"),
    [
        (
            "failed",
            "device.health.failed",
            "A device reports that it has failed: the vendor calls the",
        ),
        ("no_driver", "device.no_driver", "A device is on the bus, but no driver is bound to it"),
        (
            "unreadable",
            "device.unreadable",
            "A device cannot be read, or only in part: unknown error (999)",
        ),
        (
            "exporter",
            "device.exporter.failed",
            "An exporter reports a device as failed, but nothing else confirms it",
        ),
    ],
)
def test_each_vendor_has_an_incident_of_each_state(
    judge_of: object, vendor: str, state: str, rule: str, title: str, tmp_path: Path
) -> None:
    views = {
        "failed": reporting(vendor, "failed", "Alarm"),
        "no_driver": without_reading(vendor, Unread("no_driver", "see the kernel log")),
        "unreadable": without_reading(vendor, UNREAD),
        "exporter": by_exporter(vendor, Health.FAILED),
    }
    assert callable(judge_of)
    (incident,) = judge_of(views[state], tmp_path)
    assert incident.rule == rule
    assert incident.title.startswith(title)
    words = "; ".join(views[state].health_reasons)
    assert any(words in one.text for one in incident.evidence)


def test_the_words_of_the_vendor_are_in_title_and_evidence(tmp_path: Path) -> None:
    view = reporting("ascend", "failed", "Alarm")
    note = "npu-smi reports error codes A8028802"
    view = judged(
        msgspec.structs.replace(view, reading=msgspec.structs.replace(view.reading, notes=(note,)))
    )
    (incident,) = on_an_agent(view, tmp_path)
    words = f"the vendor calls the device failed: Alarm ({note})"
    assert incident.title == f"A device reports that it has failed: {words}"
    assert incident.evidence[0].text == words
    assert incident.confidence is Confidence.HIGH


def test_an_exporters_word_alone_is_low_confidence(tmp_path: Path) -> None:
    (incident,) = on_a_hub(by_exporter("amd", Health.FAILED), tmp_path)
    assert (incident.severity, incident.confidence) == (Severity.CRITICAL, Confidence.LOW)


def test_an_exporter_that_calls_a_device_degraded_is_a_warning(tmp_path: Path) -> None:
    (incident,) = on_a_hub(by_exporter("nvidia", Health.DEGRADED), tmp_path)
    assert (incident.rule, incident.severity) == ("device.exporter.degraded", Severity.WARNING)


def test_what_something_else_agrees_with_is_no_exporters_word_alone(tmp_path: Path) -> None:
    view = by_exporter("amd", Health.FAILED, "a memory row remap failed")
    assert on_a_hub(view, tmp_path) == []


def test_what_the_driver_asks_for_is_reported_once(tmp_path: Path) -> None:
    """The device that needs a reset calls itself failed, too: one incident, with the better advice."""
    view = reporting("habana", "failed", "needs reset")
    device = msgspec.structs.replace(view.device, kind="npu")
    values = {**view.reading.values, ("reset_required",): 1}
    view = msgspec.structs.replace(
        view, device=device, reading=msgspec.structs.replace(view.reading, values=values)
    )
    assert [one.rule for one in on_an_agent(judged(view), tmp_path)] == ["npu.reset_required"]


def test_a_long_reason_is_cut_in_the_title_and_whole_in_the_evidence(tmp_path: Path) -> None:
    view = without_reading("amd", Unread("x", "word " * 60))
    (incident,) = on_an_agent(view, tmp_path)
    assert incident.title.endswith(" ...")
    assert len(incident.title) < 180
    assert len(incident.evidence[0].text) > 250


def test_the_pack_asks_for_the_words_that_are_reported() -> None:
    rules = load([pack_file("device")], tests=False).rules
    assert WITHOUT_DRIVER in rules["device.no_driver"].when.text
    assert BY_EXPORTER[Health.FAILED] in rules["device.exporter.failed"].when.text
    assert BY_EXPORTER[Health.DEGRADED] in rules["device.exporter.degraded"].when.text
