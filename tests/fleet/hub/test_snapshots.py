"""A node as its own agent would show it: its devices, those that are gone, its host, on our clock."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.state.snapshots import snapshot_of, source_age_s, view
from accelwatch.schema.device import DeviceKind, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import EventCount, Owner
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

HOST = machines.device(0, id="host:a", name="host", kind=DeviceKind.HOST)
JOB = Owner(kind="job", job_id="7", user="ada")


def test_a_node_that_reported_nothing_is_empty() -> None:
    bench = Bench("a")
    shot = snapshot_of(bench.fleet, bench.fleet.nodes["a"])
    assert (shot.host, shot.time, shot.version, shot.boot_id) == ("a", machines.NOW, "", "")
    assert (shot.interval_s, shot.devices, shot.node) == (None, (), None)
    assert (shot.backends, shot.events, shot.errors) == ((), (), ())


def test_a_node_is_shown_as_it_reported() -> None:
    bench = Bench("a")
    reported = machines.snapshot()
    bench.report("a", machines.view(1), machines.view(0), machines.view(0, device=HOST))
    bench.clock.advance(1)
    shot = snapshot_of(bench.fleet, bench.fleet.nodes["a"])
    assert (shot.host, shot.time) == ("a", machines.NOW + 1)
    assert (shot.version, shot.boot_id, shot.interval_s) == (
        reported.version,
        reported.boot_id,
        1.0,
    )
    assert [one.device.index for one in shot.devices] == [0, 1]
    assert shot.node is not None
    assert shot.node.device == HOST
    assert shot.node.sample_age_s is None
    assert shot.backends == machines.snapshot(*[machines.view(0)] * 3).backends
    assert shot.errors == reported.errors


def test_a_device_that_is_gone_is_a_lost_row() -> None:
    bench = Bench("a")
    bench.report("a", machines.view(0), machines.view(1))
    bench.report("a", machines.view(1))
    gone, here = snapshot_of(bench.fleet, bench.fleet.nodes["a"]).devices
    assert (gone.device, gone.state, gone.health) == (
        machines.device(0),
        DeviceState.LOST,
        Health.FAILED,
    )
    assert gone.state_since == 0.0
    assert gone.reading.absent == {("*",): Absence.LOST}
    assert gone.health_reasons == ("the node does not list the device any more",)
    assert here.state is DeviceState.OK


def test_events_of_the_node_are_reported_with_it() -> None:
    bench = Bench("a", "b")
    counts = (EventCount(code="xid_79", category="bus", total=1, last_time=machines.NOW - 5),)
    for node in "ab":
        views = [machines.view(0, event_counts=counts)]
        bench.fleet.read(bench.targets[node].key, views, None, 5.0)
    (event,) = snapshot_of(bench.fleet, bench.fleet.nodes["a"]).events
    assert (event.code, event.time) == ("xid_79", machines.NOW - 5)


@pytest.mark.parametrize("ahead_s", [0.0, 86_400.0, -86_400.0])
def test_a_device_is_shown_with_our_times(ahead_s: float) -> None:
    bench = Bench("a")
    now = machines.NOW + ahead_s
    reported = machines.view(
        0,
        state=DeviceState.DEGRADED,
        state_since=now - 60.0,
        sample_time=now - 2.0,
        health=Health.DEGRADED,
        health_reasons=("hot",),
        owners=(JOB,),
    )
    bench.fleet.read(bench.targets["a"].key, [reported], now, 5.0)
    bench.clock.advance(1)
    (shown,) = snapshot_of(bench.fleet, bench.fleet.nodes["a"]).devices
    assert shown == msgspec.structs.replace(
        reported, state_since=machines.NOW - 60.0, sample_time=machines.NOW - 2.0, sample_age_s=3.0
    )


def test_an_age_is_since_the_source_and_how_old_its_numbers_were() -> None:
    bench = Bench("a")
    views = [machines.view(0, sample_time=machines.NOW + 9), machines.view(1, sample_time=None)]
    bench.fleet.read(bench.targets["a"].key, views, machines.NOW, 5.0)
    node = bench.fleet.nodes["a"]
    source = node.best
    assert source is not None
    newer, never = node.devices.values()
    now = bench.clock.monotonic() + 1.23456
    assert source_age_s(source, newer, now) == 1.235
    assert source_age_s(source, never, now) is None
    assert source_age_s(None, newer, now) is None
    assert view(node, never, now).sample_time is None
    source.arrived = None
    assert source_age_s(source, newer, now) is None
