"""What simulated streams tell beside their ticks."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelwatch.cli.trial.sim import own_exposition
from accelwatch.fleet.dialects import read_devices
from accelwatch.schema.stream.context import Backends, Context, Event, Findings, Owners, Processes
from accelwatch_lab.simulator.context import ContextWriter, SentContext
from accelwatch_lab.simulator.exporters.exposition import Expositions
from accelwatch_lab.simulator.fleet import Fleet

FleetOf = Callable[..., Fleet]

PODS = """
scenario: 1
jobs:
  - {name: serving, nodes: "n[001-002]", namespace: ml, user: "", warm_up: 0}
"""


class Listening:
    """One stream of one node."""

    def __init__(self, fleet: Fleet, name: str) -> None:
        self.fleet = fleet
        self.node = next(node for node in fleet.nodes if node.name == name)
        self.sent = SentContext()
        self.writer = ContextWriter(fleet)

    def at(self, time_s: float) -> list[Context]:
        now = self.fleet.instant_at(time_s)
        condition = self.fleet.condition(self.node, now)
        return self.writer.pending_messages(self.node, now, condition, self.sent)


def test_a_stream_starts_with_owners_and_processes(fleet_of: FleetOf) -> None:
    first, *rest = Listening(fleet_of(), "n003").at(90.0)
    assert isinstance(first, Backends)
    owners = [one for one in rest if isinstance(one, Owners)]
    processes = [one for one in rest if isinstance(one, Processes)]
    assert [one.slot for one in owners] == [one.slot for one in processes] == list(range(8))
    assert {(one.owners[0].job_id, one.owners[0].user) for one in owners} == {("4711", "trainer")}
    assert {(one.total, one.users) for one in processes} == {(1, ("trainer",))}


def test_a_node_that_works_on_reports_nothing_more(fleet_of: FleetOf) -> None:
    listening = Listening(fleet_of(), "n003")
    listening.at(70.0)
    assert [listening.at(float(second)) for second in range(71, 110)] == [[]] * 39


def test_a_job_that_starts_and_ends_is_reported(fleet_of: FleetOf) -> None:
    listening = Listening(fleet_of(), "n016")
    assert not any(isinstance(one, Owners) for one in listening.at(0.0))
    messages = [one for second in range(1, 200) for one in listening.at(float(second))]
    jobs = {one.owners[0].job_id for one in messages if isinstance(one, Owners)}
    assert jobs == {"4712"}
    ended = [one for second in range(715, 730) for one in listening.at(float(second))]
    assert {one.owners for one in ended if isinstance(one, Owners)} == {()}
    assert {one.total for one in ended if isinstance(one, Processes)} == {0}


def test_memory_that_grows_is_reported_in_tenths(fleet_of: FleetOf) -> None:
    listening = Listening(fleet_of(), "n003")
    messages = [one for second in range(65) for one in listening.at(float(second))]
    first = [one.rows for one in messages if isinstance(one, Processes) and one.slot == 0]
    assert 7 <= len(first) <= 9


def test_a_fault_is_reported_at_once_with_its_event(fleet_of: FleetOf) -> None:
    fleet = fleet_of()
    listening = Listening(fleet, "n001")
    listening.at(119.0)
    findings, event = listening.at(120.0)
    assert isinstance(findings, Findings)
    assert isinstance(event, Event)
    assert (findings.slot, findings.health_reasons) == (3, ("the device is lost",))
    assert (event.event.code, event.event.time) == ("xid_79", fleet.start + 120)
    assert listening.at(121.0) == []


def test_repeated_faults_keep_their_numbers_in_every_stream(fleet_of: FleetOf) -> None:
    fleet = fleet_of()

    def events(*times: float) -> list[tuple[int, float]]:
        listening = Listening(fleet, "n007")
        messages = [one for time_s in times for one in listening.at(time_s)]
        return [(one.sequence, one.event.time) for one in messages if isinstance(one, Event)]

    assert events(*map(float, range(60, 301))) == events(100.0, 200.0, 301.0)
    assert len(events(301.0)) == 5


def test_a_clock_that_goes_wrong_repeats_no_event(fleet_of: FleetOf) -> None:
    listening = Listening(fleet_of(), "n013")
    assert [
        one for t in (1.0, 119.0, 121.0) for one in listening.at(t) if isinstance(one, Event)
    ] == []


def test_pods_have_names_of_their_own(fleet_of: FleetOf, tmp_path: Path) -> None:
    file = tmp_path / "pods.yaml"
    file.write_text(PODS)
    fleet = fleet_of(scenario=file)
    expositions = Expositions(fleet, own_exposition())
    now = fleet.instant_at(100.0)
    for node in fleet.nodes[:2]:
        (view, *_) = read_devices(expositions.text(node, now, False), 0.0).devices
        (owner,) = view.owners
        assert (owner.namespace, owner.pod) == ("ml", f"serving-{node.name}")
        assert view.owners == fleet.owners(node, now)


@pytest.mark.parametrize("media", ["application/msgpack", "application/x-ndjson"])
def test_both_forms_report_events(
    start_bench: Callable[..., Any], follower: Any, media: str
) -> None:
    async def run() -> None:
        async with start_bench() as bench:
            url = bench.url("n001", "/v1/stream")
            async with bench.http.get(url, headers={"Accept": media}) as answer:
                follow = follower(answer)
                await follow.views()
                bench.clock.advance(130)
                for _ in range(2):
                    bench.server.tick()
                    views = await follow.views()
                assert [event.code for event in follow.decoder.events.values()] == ["xid_79"]
                assert views[3].health_reasons == ("the device is lost",)
                assert views[0].owners[0].job_id == "4711"

    asyncio.run(run())
