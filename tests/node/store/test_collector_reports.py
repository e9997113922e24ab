"""What the store says of collecting itself: backends, cycles, crashes, what never came."""

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.node.store.reports import (
    BackendChanged,
    CollectorExited,
    Component,
    EncodedOutcome,
    Failure,
    Heartbeat,
    Outcome,
)
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.reading import Reading
from accelwatch.schema.snapshot import BackendState, BackendStatus, absences
from accelwatch.schema.status.verdict import CHECK_COLLECTION, verdict
from node.store.reporting import Node, device, power

_OK = BackendStatus(name="nvidia", vendor="nvidia", state=BackendState.OK, devices=1)


def test_a_backend_that_goes_takes_its_readings_along_but_not_its_devices_health(
    node: Node,
) -> None:
    node.store.apply(
        BackendChanged(
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
    assert verdict(view, snapshot).remedy == CHECK_COLLECTION, "its jobs run on"


def test_an_absent_backend_is_not_a_collector_that_is_down() -> None:
    node = Node()
    status = BackendStatus(name="amd", vendor="amd", state=BackendState.ABSENT)
    node.store.apply(BackendChanged(status=status))
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
    ended = CollectorExited(
        code="SIGSEGV", message="died", wall=node.clock.wall(), components=(Component("nvidia"),)
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
    node.store.apply(CollectorExited(code="SIGKILL", message="", wall=0.0))
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
    status = BackendStatus(name="nvidia", vendor="nvidia", state=BackendState.OK)
    node.store.apply(BackendChanged(status=status))
    node.slots(device(0), device(1))
    node.read("n:0", power())
    node.store.conclude(Failure(absence=Absence.TIMEOUT, code="timeout"))
    assert node.view("n:0").state is DeviceState.OK
    assert node.view("n:1").reading.absent == {("*",): Absence.TIMEOUT}


def test_only_backends_that_have_devices_have_an_interval() -> None:
    node = Node(interval_s=2.5)
    for name, vendor, devices in (("nvidia", "nvidia", 8), ("smi", "nvidia", 8), ("amd", "amd", 0)):
        status = BackendStatus(name=name, vendor=vendor, state=BackendState.OK, devices=devices)
        node.store.apply(BackendChanged(status=status))
    own = node.store.snapshot().own
    intervals = {key: value for key, value in own.items() if "sample_interval" in key[0]}
    assert intervals == {("exporter_sample_interval_seconds", "nvidia"): 2.5}
    assert own["exporter_window_seconds",] == 60


def test_a_collector_that_was_only_skipped_has_no_duration_and_no_success() -> None:
    node = Node()
    node.cycle("skipped")
    own = node.store.snapshot().own
    assert own["collector_up", "nvidia"] == 0
    assert own["collector_cycles_total", "nvidia", "skipped"] == 1
    assert ("collector_duration_seconds", "nvidia") not in own
    assert ("collector_last_success_timestamp_seconds", "nvidia") not in own


def test_a_skipped_cycle_leaves_the_collector_as_it_was(node: Node) -> None:
    node.cycle("ok")
    node.cycle("skipped")
    assert node.store.snapshot().own["collector_up", "nvidia"] == 1


def test_every_collector_is_down_when_their_process_ends(node: Node) -> None:
    node.cycle("ok")
    node.cycle("ok", backend="host")
    node.store.apply(CollectorExited(code="SIGKILL", message="", wall=0.0))
    own = node.store.snapshot().own
    assert (own["collector_up", "nvidia"], own["collector_up", "host"]) == (0, 0)


def test_the_server_says_what_it_uses_and_the_collector_only_while_it_runs(node: Node) -> None:
    def used() -> set[tuple[str, ...]]:
        own = node.store.snapshot().own
        return {key for key in own if key[0].startswith(("exporter_cpu", "exporter_resident"))}

    server = {
        ("exporter_cpu_seconds_total", "server"),
        ("exporter_resident_memory_bytes", "server"),
    }
    collector = {
        ("exporter_cpu_seconds_total", "collector"),
        ("exporter_resident_memory_bytes", "collector"),
    }
    assert used() == server
    node.store.apply(Heartbeat(cpu_s=2.0, resident_bytes=1))
    assert used() == server | collector
    node.store.apply(Heartbeat(cpu_s=2.0, resident_bytes=0))
    assert used() == server | {("exporter_cpu_seconds_total", "collector")}
    node.store.apply(CollectorExited(code="SIGKILL", message="", wall=0.0))
    assert used() == server


def test_processor_time_of_every_collector_so_far_is_added_up(node: Node) -> None:
    for cpu_s in (1.0, 2.0):
        node.store.apply(Heartbeat(cpu_s=cpu_s, resident_bytes=1))
        node.store.apply(CollectorExited(code="SIGKILL", message="", wall=0.0))
    node.store.apply(Heartbeat(cpu_s=4.0, resident_bytes=1))
    assert node.store.snapshot().own["exporter_cpu_seconds_total", "collector"] == 7.0


def test_a_device_that_is_wholly_absent_counts_as_no_quantity(node: Node) -> None:
    node.failed("n:0", Absence.LOST)
    own = node.store.snapshot().own
    assert [key for key in own if key[0] == "collector_unavailable_quantities"] == []


def test_quantities_that_are_not_collected_are_not_counted(node: Node) -> None:
    assert absences(node.view())["core_utilization_ratio",] is Absence.NOT_COLLECTED
    own = node.store.snapshot().own
    assert ("collector_unavailable_quantities", "nvidia", "not_collected") not in own


def crash(node: Node, *parts: Component) -> CollectorExited:
    ended = CollectorExited(
        code="SIGSEGV", message="died", wall=node.clock.wall(), components=parts
    )
    node.store.apply(ended)
    return ended


def codes(node: Node) -> list[str]:
    return [error.code for error in node.store.snapshot().errors]


def test_a_crash_while_one_device_was_read_is_an_event_of_that_device(node: Node) -> None:
    node.slots(device(0), device(1))
    crash(node, Component("nvidia", "n:1"))
    (event,) = node.store.snapshot().events
    assert (event.device_id, event.text, event.source) == ("n:1", "died", "collector")
    assert event.detail == {"code": "SIGSEGV", "backends": "nvidia"}
    assert event.time == node.clock.wall()


def test_a_crash_while_several_were_read_is_an_event_of_the_node(node: Node) -> None:
    node.slots(device(0), device(1))
    crash(node, Component("nvidia", "n:0"), Component("nvidia", "n:1"))
    assert [event.device_id for event in node.store.snapshot().events] == [""]


def test_a_crash_in_a_backend_lasts_until_that_backend_reads_well(node: Node) -> None:
    crash(node, Component("nvidia"))
    for result, backend, still in (
        ("ok", "host", True),
        ("skipped", "nvidia", True),
        ("timeout", "nvidia", True),
        ("ok", "nvidia", False),
    ):
        node.cycle(result, backend=backend)
        assert codes(node) == (["SIGSEGV"] if still else [])


def test_a_crash_in_devices_alone_lasts_until_the_others_were_read_somehow(node: Node) -> None:
    crash(node, Component("nvidia", "n:0"))
    node.cycle("skipped")
    assert codes(node) == ["SIGSEGV"]
    node.cycle("timeout")
    assert codes(node) == []


def test_a_crash_without_a_known_slot_lasts_until_any_good_cycle(node: Node) -> None:
    crash(node)
    assert [(e.backend, e.message) for e in node.store.snapshot().errors] == [("", "died")]
    node.cycle("timeout", backend="host")
    assert codes(node) == ["SIGSEGV"]
    node.cycle("ok", backend="host")
    assert codes(node) == []


def test_what_a_crash_left_unread_is_failed_and_no_fault_of_the_device() -> None:
    node = Node(one_shot=True)
    node.slots(device(0))
    node.store.conclude(Failure(absence=Absence.ERROR, code="SIGSEGV", message="died"))
    assert node.view().health is Health.UNKNOWN


def test_a_backend_that_failed_says_so_on_its_devices_alone(node: Node) -> None:
    node.slots(device(5), backend="amd")
    node.read("n:5", power("n:5"), backend="amd")
    failed = BackendStatus(
        name="nvidia", vendor="nvidia", state=BackendState.FAILED, reason="gone", message="no lib"
    )
    node.store.apply(BackendChanged(status=failed))
    (error,) = node.store.snapshot().errors
    assert (error.device_id, error.code, error.absence, error.message) == (
        "n:0",
        "gone",
        Absence.ERROR,
        "backend nvidia: no lib",
    )
    assert node.view("n:5").state is DeviceState.OK


def test_a_single_reading_outlives_its_backend() -> None:
    node = Node(one_shot=True)
    node.slots(device(0), device(1))
    node.read("n:0", power())
    failed = BackendStatus(name="nvidia", vendor="nvidia", state=BackendState.FAILED, reason="gone")
    node.store.apply(BackendChanged(status=failed))
    assert node.view("n:0").state is DeviceState.OK
    assert node.view("n:1").reading.absent == {("*",): Absence.ERROR}


def test_backends_are_reported_by_name(node: Node) -> None:
    for name in ("nvidia", "amd"):
        status = BackendStatus(name=name, vendor=name, state=BackendState.OK)
        node.store.apply(BackendChanged(status=status))
    assert [status.name for status in node.store.snapshot().backends] == ["amd", "nvidia"]


def test_an_outcome_is_the_same_however_it_comes_from_the_collector() -> None:
    readings = (Reading(device_id="nvidia:a", values={("power_watts",): 412.0}),)
    raw = msgspec.Raw(msgspec.msgpack.encode(readings))
    written = EncodedOutcome(
        backend="nvidia", slot="0", monotonic=5.0, wall=1e9, duration_s=0.25, readings=raw
    )
    assert written.decoded() == Outcome(
        backend="nvidia", slot="0", monotonic=5.0, wall=1e9, duration_s=0.25, readings=readings
    )


def test_what_collectors_used_is_summed_up_over_another_pace_and_none_is_down(node: Node) -> None:
    node.cycle()
    node.store.apply(Heartbeat(cpu_s=2.0, resident_bytes=1))
    node.store.pace(5.0, 1.0)
    node.store.apply(BackendChanged(status=_OK))
    assert node.store.snapshot().own["exporter_sample_interval_seconds", "nvidia"] == 5.0
    node.store.pace(1.0, 1.0)
    node.store.apply(Heartbeat(cpu_s=0.5, resident_bytes=1))
    own = node.store.snapshot().own
    assert own["exporter_cpu_seconds_total", "collector"] == 2.5
    assert own["collector_up", "nvidia"] == 1
