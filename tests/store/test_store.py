from typing import Any

import msgspec
import pytest

from accelwatch.clock import ManualClock
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceKind, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series, host_metrics, reading_metrics
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import BackendState, BackendStatus, DeviceView
from accelwatch.store import Store
from accelwatch.store.reports import (
    BackendFound,
    Called,
    CollectorEnded,
    Cycle,
    Failure,
    Heartbeat,
    Identified,
    Outcome,
    Slots,
)


def device(number: int, **more: Any) -> Device:
    base = Device(
        id=f"n:{number}", vendor="nvidia", backend="nvidia", index=number, name=f"nvidia{number}"
    )
    return msgspec.structs.replace(base, **more)


class Node:
    """A store on a manual clock, with the reports a collector would send."""

    def __init__(self, **more: Any) -> None:
        self.clock = ManualClock()
        self.store = Store(self.clock, host="node", **more)

    def slots(self, *devices: Device, backend: str = "nvidia") -> None:
        self.store.apply(Slots(backend=backend, devices=devices))

    def identified(self, slot: str, *devices: Device) -> None:
        self.store.apply(Identified(backend="nvidia", slot=slot, devices=devices))

    def read(self, slot: str, *readings: Reading, backend: str = "nvidia") -> None:
        self.store.apply(
            Outcome(
                backend=backend,
                slot=slot,
                moment=self.clock.monotonic(),
                wall=self.clock.wall(),
                readings=readings,
            )
        )

    def failed(self, slot: str, absence: Absence, code: str = "") -> None:
        self.store.apply(
            Outcome(
                backend="nvidia",
                slot=slot,
                moment=self.clock.monotonic(),
                wall=self.clock.wall(),
                failure=Failure(absence=absence, code=code),
            )
        )

    def cycle(self, result: str = "ok", backend: str = "nvidia") -> None:
        self.store.apply(
            Cycle(backend=backend, result=result, duration_s=0.25, wall=self.clock.wall())
        )

    def views(self) -> dict[str, DeviceView]:
        return {view.device.id: view for view in self.store.snapshot().devices}

    def view(self, device_id: str = "n:0") -> DeviceView:
        return self.views()[device_id]


def power(device_id: str = "n:0", watts: float = 100.0, **more: float) -> Reading:
    values: dict[Series, Number] = {("power_watts",): watts}
    values.update({(key,): value for key, value in more.items()})
    return Reading(device_id=device_id, values=values)


@pytest.fixture
def node() -> Node:
    node = Node()
    node.slots(device(0))
    node.identified("n:0", device(0, uuid="GPU-0", model="H100"))
    node.read("n:0", power())
    return node


def test_every_quantity_has_a_value_or_a_reason(node: Node) -> None:
    reading = node.view().reading
    known = {series[0] for series in (*reading.values, *reading.absent)}
    assert {row.key for row in reading_metrics()} <= known
    assert reading.absent["fan_speed_ratio",] is Absence.UNSUPPORTED
    assert reading.absent["core_utilization_ratio",] is Absence.NOT_COLLECTED
    assert reading.absent["busy_seconds_total",] is Absence.UNSUPPORTED


def test_derived_values_are_in_the_reading(node: Node) -> None:
    node.clock.advance(1.0)
    node.read("n:0", power(watts=300.0, utilization_ratio=0.5))
    reading = node.view().reading
    assert reading.values["energy_joules_total", "integrated"] == pytest.approx(200.0)
    assert reading.values["window_power_max_watts",] == 300.0
    assert reading.values["busy_seconds_total",] == 0.0
    assert ("energy_joules_total",) not in reading.absent
    assert ("busy_seconds_total",) not in reading.absent


def test_a_derived_value_replaces_the_reason_why_the_device_has_none(node: Node) -> None:
    unsupported = {("energy_joules_total",): Absence.UNSUPPORTED}
    node.read("n:0", msgspec.structs.replace(power(), absent=unsupported))
    assert ("energy_joules_total",) not in node.view().reading.absent


def test_a_single_reading_has_no_values_that_need_two() -> None:
    node = Node(one_shot=True)
    node.slots(device(0))
    node.read("n:0", power(utilization_ratio=0.5))
    absent = node.view().reading.absent
    assert absent["energy_joules_total",] is Absence.NOT_COLLECTED
    assert absent["busy_seconds_total",] is Absence.NOT_COLLECTED
    assert absent["window_power_max_watts",] is Absence.NOT_COLLECTED


@pytest.mark.parametrize(
    ("absence", "state", "health"),
    [
        (Absence.LOST, DeviceState.LOST, Health.FAILED),
        (Absence.TIMEOUT, DeviceState.UNRESPONSIVE, Health.FAILED),
        (Absence.SUSPENDED, DeviceState.SUSPENDED, Health.UNKNOWN),
        (Absence.PERMISSION, DeviceState.EXCLUDED, Health.UNKNOWN),
        (Absence.ERROR, DeviceState.DEGRADED, Health.DEGRADED),
    ],
)
def test_a_failure_is_a_state_with_one_reason_and_identity_stays(
    node: Node, absence: Absence, state: DeviceState, health: Health
) -> None:
    node.clock.advance(1.0)
    node.failed("n:0", absence, "CODE")
    view = node.view()
    assert (view.state, view.health) == (state, health)
    assert view.reading.absent == {("*",): absence}
    assert view.reading.values == {}
    assert view.device.model == "H100"
    assert view.state_since == node.clock.wall()
    assert view.sample_age_s == 1.0
    node.clock.advance(1.0)
    node.failed("n:0", absence, "CODE")
    assert node.view().state_since == node.clock.wall() - 1.0


def test_a_device_that_is_back_is_ok_since_then(node: Node) -> None:
    node.failed("n:0", Absence.LOST)
    node.clock.advance(5.0)
    node.read("n:0", power())
    assert node.view().state is DeviceState.OK
    assert node.view().state_since == node.clock.wall()


def test_an_answer_that_says_reset_me_is_degraded(node: Node) -> None:
    node.read("n:0", power(reset_required=1))
    view = node.view()
    assert view.state is DeviceState.DEGRADED
    assert view.health is Health.FAILED


CORE = ("utilization_ratio", "memory_used_bytes", "temperature_celsius", "power_watts")


@pytest.mark.parametrize(
    ("answered", "state"), [((), DeviceState.DEGRADED), (("memory_used_bytes",), DeviceState.OK)]
)
def test_a_device_whose_core_quantities_all_err_is_degraded(
    node: Node, answered: tuple[str, ...], state: DeviceState
) -> None:
    values: dict[Series, Number] = {(key,): 1 for key in (*answered, "memory_size_bytes")}
    values["temperature_celsius", "memory"] = 72
    absent: dict[Series, Absence] = {(key,): Absence.ERROR for key in CORE if key not in answered}
    node.read("n:0", Reading(device_id="n:0", values=values, absent=absent))
    assert node.view().state is state


def test_a_device_that_merely_lacks_the_core_quantities_is_ok(node: Node) -> None:
    absent: dict[Series, Absence] = {(key,): Absence.UNSUPPORTED for key in CORE}
    node.read("n:0", Reading(device_id="n:0", values={("memory_size_bytes",): 1}, absent=absent))
    assert node.view().state is DeviceState.OK


def test_old_values_are_stale_and_silence_is_not_a_fault_of_the_device(node: Node) -> None:
    read_at = node.clock.wall()
    node.clock.advance(3.0)
    assert node.view().state is DeviceState.OK
    node.clock.advance(0.5)
    view = node.view()
    assert view.state is DeviceState.UNRESPONSIVE
    assert view.state_since == read_at + 3.0
    assert view.reading.absent == {("*",): Absence.STALE}
    assert view.health is Health.UNKNOWN
    assert view.sample_age_s == 3.5


def test_a_device_whose_read_may_take_long_is_late_before_it_is_stale() -> None:
    node = Node(interval_s=1.0, timeout_s=5.0)
    node.slots(device(0))
    node.read("n:0", power())
    node.clock.advance(6.9)
    assert node.view().state is DeviceState.OK
    node.clock.advance(0.2)
    assert node.view().reading.absent == {("*",): Absence.STALE}


def test_a_clock_jump_of_an_hour_changes_no_age_and_no_integral(node: Node) -> None:
    for jump in (3600.0, -7200.0):
        node.clock.step_wall(jump)
        node.clock.advance(1.0)
        assert node.view().sample_age_s == 1.0
        assert node.view().state is DeviceState.OK
        node.read("n:0", power())
    assert node.view().reading.values["energy_joules_total", "integrated"] == pytest.approx(200.0)


def test_identity_replaces_the_provisional_row() -> None:
    node = Node()
    node.slots(device(0, id="slot0"), device(1, id="slot1"))
    assert list(node.views()) == ["slot0", "slot1"]
    node.identified("slot0", device(0))
    assert list(node.views()) == ["n:0", "slot1"]
    node.slots(device(0, id="slot0"), device(1, id="slot1"))
    assert list(node.views()) == ["n:0", "slot1"]


def test_devices_that_change_slots_are_not_lost() -> None:
    node = Node()
    slots = [device(n, id=f"slot{n}") for n in range(3)]
    node.slots(*slots)
    for n in range(3):
        node.identified(f"slot{n}", device(n))
        node.read(f"slot{n}", power(f"n:{n}"))
    node.slots(*slots[:2])
    node.identified("slot1", device(2, index=1))
    node.identified("slot0", device(1, index=0))
    node.read("slot0", power("n:1"))
    node.read("slot1", power("n:2"))
    node.cycle()
    node.cycle()
    states = {name: view.state for name, view in node.views().items()}
    assert states == {"n:0": DeviceState.LOST, "n:1": DeviceState.OK, "n:2": DeviceState.OK}


def test_a_lost_device_found_again_takes_its_row_back(node: Node) -> None:
    node.slots()
    node.cycle()
    node.cycle()
    assert node.view().state is DeviceState.LOST
    node.slots(device(0))
    node.identified("n:0", device(0, model="H100"))
    node.read("n:0", power())
    assert node.view().state is DeviceState.OK
    assert len(node.views()) == 1


def test_lost_devices_are_kept_up_to_a_bound() -> None:
    node = Node()
    for number in range(100):
        node.slots(device(number))
        node.read(f"n:{number}", power(f"n:{number}"))
        node.clock.advance(1.0)
        node.slots()
        node.cycle()
        node.cycle()
    assert len(node.views()) == 64
    assert "n:99" in node.views()


def test_a_partition_that_is_gone_is_no_row_any_more(node: Node) -> None:
    part = device(0, id="n:0/p0", parent_id="n:0")
    node.identified("n:0", device(0), part)
    node.read("n:0", power(), power("n:0/p0"))
    assert list(node.views()) == ["n:0", "n:0/p0"]
    node.identified("n:0", device(0))
    assert list(node.views()) == ["n:0"]


def test_a_partition_without_a_reading_is_an_error(node: Node) -> None:
    node.identified("n:0", device(0), device(0, id="n:0/p0", parent_id="n:0"))
    node.read("n:0", power())
    assert node.view("n:0").state is DeviceState.OK
    assert node.view("n:0/p0").reading.absent == {("*",): Absence.ERROR}


def test_devices_are_ordered_by_vendor_and_index_with_partitions_after_their_parent() -> None:
    node = Node()
    node.slots(device(10), device(2))
    node.slots(device(0, id="a:0", vendor="amd"), backend="amd")
    node.identified("n:2", device(2), *(device(0, id=f"n:2/{p}", parent_id="n:2") for p in "xb"))
    assert list(node.views()) == ["a:0", "n:2", "n:2/x", "n:2/b", "n:10"]


def test_the_host_is_the_node_and_no_device() -> None:
    node = Node()
    host = Device(
        id="host", vendor="host", backend="host", index=0, name="node", kind=DeviceKind.HOST
    )
    node.slots(host, backend="host")
    node.read(
        "host", Reading(device_id="host", values={("host_uptime_seconds",): 5.0}), backend="host"
    )
    snapshot = node.store.snapshot()
    assert snapshot.devices == ()
    assert snapshot.node is not None
    known = {s[0] for s in (*snapshot.node.reading.values, *snapshot.node.reading.absent)}
    assert {row.key for row in host_metrics()} <= known
    assert not {row.key for row in reading_metrics()} & known


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
        code="SIGSEGV", message="died", wall=node.clock.wall(), backends=("nvidia",)
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


def test_listeners_hear_of_completed_cycles_until_they_leave(node: Node) -> None:
    heard: list[int] = []
    leave = node.store.subscribe(lambda: heard.append(node.store.version))
    node.read("n:0", power())
    assert heard == []
    node.cycle()
    assert len(heard) == 1
    leave()
    node.cycle()
    assert len(heard) == 1


def test_a_reading_of_an_unknown_device_is_no_row(node: Node) -> None:
    node.read("n:0", power(), power("n:7"))
    assert list(node.views()) == ["n:0"]
