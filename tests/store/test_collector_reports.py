"""What the store says of collecting itself: backends, cycles, crashes, what never came."""

import msgspec

from accelwatch.schema.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import BackendState, BackendStatus
from accelwatch.store.reports import (
    BackendFound,
    Called,
    CollectorEnded,
    Failure,
    Heartbeat,
    Part,
)
from store.reporting import Node, device, power


def test_a_backend_that_goes_takes_its_readings_along_but_not_its_devices_health(
    node: Node,
) -> None:
    node.store.apply(
        BackendFound(
            status=BackendStatus(
                name="nvidia", vendor="nvidia", state=BackendState.UNAVAILABLE, reason="driver_gone"
            )
        )
    )
    view = node.view()
    assert view.state is DeviceState.UNRESPONSIVE
    assert view.reading.absent == {("*",): Absence.ERROR}
    assert view.health is Health.UNKNOWN
    snapshot = node.store.snapshot()
    assert [e.code for e in snapshot.errors] == ["driver_gone"]
    assert snapshot.own["collector_up", "nvidia"] == 0


def test_an_absent_backend_is_not_a_collector_that_is_down() -> None:
    node = Node()
    status = BackendStatus(name="amd", vendor="amd", state=BackendState.ABSENT)
    node.store.apply(BackendFound(status=status))
    snapshot = node.store.snapshot()
    assert snapshot.backends == (status,)
    assert ("collector_up", "amd") not in snapshot.own


def test_cycles_are_counted_by_result(node: Node) -> None:
    node.cycle("ok")
    good = node.clock.wall()
    node.clock.advance(1.0)
    node.cycle("timeout")
    node.cycle("skipped")
    own = node.store.snapshot().own
    assert own["collector_cycles_total", "nvidia", "ok"] == 1
    assert own["collector_cycles_total", "nvidia", "timeout"] == 1
    assert own["collector_cycles_total", "nvidia", "skipped"] == 1
    assert own["collector_up", "nvidia"] == 0
    assert own["collector_duration_seconds", "nvidia"] == 0.25
    assert own["collector_last_success_timestamp_seconds", "nvidia"] == good


def test_a_crash_is_down_until_the_next_good_cycle(node: Node) -> None:
    node.cycle()
    ended = CollectorEnded(
        code="SIGSEGV", message="died", wall=node.clock.wall(), parts=(Part("nvidia"),)
    )
    node.store.apply(ended)
    snapshot = node.store.snapshot()
    assert snapshot.own["collector_up", "nvidia"] == 0
    assert [e.code for e in snapshot.events] == ["collector_crash"]
    assert [(e.backend, e.code) for e in snapshot.errors] == [("nvidia", "SIGSEGV")]
    assert node.view().reading.values["power_watts",] == 100.0
    node.cycle()
    snapshot = node.store.snapshot()
    assert snapshot.own["collector_up", "nvidia"] == 1
    assert snapshot.errors == ()


def test_processor_time_of_the_collector_goes_on_after_a_restart(node: Node) -> None:
    node.store.apply(Heartbeat(cpu_s=2.0, resident_bytes=1000))
    node.store.apply(CollectorEnded(code="SIGKILL", message="", wall=0.0))
    node.store.apply(Heartbeat(cpu_s=0.5, resident_bytes=900))
    own = node.store.snapshot().own
    assert own["exporter_cpu_seconds_total", "collector"] == 2.5
    assert own["exporter_resident_memory_bytes", "collector"] == 900


def test_quantities_that_cannot_be_read_are_counted_once_a_collector(node: Node) -> None:
    node.slots(device(0), device(1))
    absent = {("fan_speed_ratio",): Absence.PERMISSION}
    for name in ("n:0", "n:1"):
        node.read(name, msgspec.structs.replace(power(name), absent=absent))
    own = node.store.snapshot().own
    assert own["collector_unavailable_quantities", "nvidia", "permission"] == 1
    assert own["collector_unavailable_quantities", "nvidia", "unsupported"] > 10


def test_what_never_came_is_concluded_with_a_reason() -> None:
    node = Node(one_shot=True)
    node.store.apply(Called(call=1, backend="amd", action="open"))
    node.store.apply(Called(call=2, backend="nvidia", action="open"))
    status = BackendStatus(name="nvidia", vendor="nvidia", state=BackendState.OK)
    node.store.apply(BackendFound(status=status))
    node.slots(device(0), device(1))
    node.read("n:0", power())
    node.store.conclude(Failure(absence=Absence.TIMEOUT, code="timeout"))
    assert node.view("n:0").state is DeviceState.OK
    assert node.view("n:1").reading.absent == {("*",): Absence.TIMEOUT}
    states = {b.name: (b.state, b.reason) for b in node.store.snapshot().backends}
    assert states["amd"] == (BackendState.UNAVAILABLE, "timeout")
