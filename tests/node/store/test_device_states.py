"""States of a device: failures and their reasons, recovery, and readings that grow old."""

import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from node.store.reporting import Node, device, power


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
@pytest.mark.parametrize("beside", ["memory", "vr", "soc", "board", "inlet", "outlet"])
def test_a_device_whose_core_quantities_all_err_is_degraded(
    node: Node, answered: tuple[str, ...], state: DeviceState, beside: str
) -> None:
    values: dict[Series, Number] = {(key,): 1 for key in (*answered, "memory_size_bytes")}
    values["temperature_celsius", beside] = 72
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


def test_a_temperature_of_the_chip_itself_is_an_answer(node: Node) -> None:
    absent: dict[Series, Absence] = {(key,): Absence.ERROR for key in CORE}
    values: dict[Series, Number] = {("temperature_celsius", "hotspot"): 72}
    node.read("n:0", Reading(device_id="n:0", values=values, absent=absent))
    assert node.view().state is DeviceState.OK


def test_another_pace_leaves_states_and_since_when_they_are(node: Node) -> None:
    node.slots(device(0), device(1))
    node.failed("n:1", Absence.TIMEOUT)
    node.slots(device(1))
    for _ in range(2):
        node.cycle()
    before = {id_: (view.state, view.state_since) for id_, view in node.views().items()}
    assert [state for state, _ in before.values()] == [DeviceState.LOST, DeviceState.UNRESPONSIVE]
    node.clock.advance(10.0)
    version = node.store.version
    node.store.pace(2.0, 1.0)
    node.slots(device(1))
    node.failed("n:1", Absence.TIMEOUT)
    node.cycle()
    assert before == {id_: (view.state, view.state_since) for id_, view in node.views().items()}
    snapshot = node.store.snapshot()
    assert (snapshot.interval_s, node.store.version > version) == (2.0, True)


def read_before(interval_s: float, age_s: float) -> Node:
    node = Node(interval_s=interval_s)
    node.slots(device(0))
    node.read("n:0", power())
    node.clock.advance(age_s)
    return node


def test_a_reading_of_a_slower_pace_is_as_old_as_that_allowed_until_the_next() -> None:
    node = read_before(interval_s=10.0, age_s=9.0)
    node.store.pace(1.0, 0.0)
    assert node.view().state is DeviceState.OK
    node.clock.advance(21.5)
    assert node.view().state is DeviceState.UNRESPONSIVE
    assert node.view().state_since == node.clock.wall() - 0.5
    node.read("n:0", power())
    node.clock.advance(3.5)
    assert node.view().state is DeviceState.UNRESPONSIVE


def test_a_reading_is_not_stale_while_a_collector_of_another_pace_starts() -> None:
    node = read_before(interval_s=0.25, age_s=0.5)
    node.store.pace(0.5, 0.0)
    node.clock.advance(5.0)
    assert node.view().state is DeviceState.OK
    node.clock.advance(0.25)
    assert node.view().state is DeviceState.UNRESPONSIVE


def test_what_is_stale_does_not_come_back_by_another_pace() -> None:
    node = read_before(interval_s=1.0, age_s=4.0)
    before = node.view()
    assert before.state is DeviceState.UNRESPONSIVE
    node.store.pace(10.0, 0.0)
    node.store.pace(20.0, 0.0)
    node.clock.advance(1.0)
    assert (node.view().state, node.view().state_since) == (before.state, before.state_since)


def test_sums_over_time_go_on_at_another_pace_with_its_gaps(node: Node) -> None:
    def busy() -> Number:
        node.read("n:0", power(utilization_ratio=1.0))
        return node.view().reading.values["busy_seconds_total",]

    busy()
    node.clock.advance(1.0)
    assert busy() == 1.0
    node.slots(device(0), device(1))
    node.store.pace(10.0, 0.0)
    node.clock.advance(10.0)
    assert busy() == 11.0


@pytest.mark.parametrize(
    ("absence", "state"),
    [
        (Absence.LOST, DeviceState.LOST),
        (Absence.SUSPENDED, DeviceState.SUSPENDED),
        (Absence.PERMISSION, DeviceState.EXCLUDED),
        (Absence.ERROR, DeviceState.DEGRADED),
    ],
)
def test_a_state_of_the_first_look_has_no_beginning(absence: Absence, state: DeviceState) -> None:
    node = Node()
    node.slots(device(0))
    for _ in range(2):
        node.clock.advance(1.0)
        node.failed("n:0", absence, "CODE")
        assert (node.view().state, node.view().state_since) == (state, 0.0)
    node.read("n:0", power())
    assert node.view().state_since == node.clock.wall()
    node.clock.advance(1.0)
    node.failed("n:0", absence, "CODE")
    assert node.view().state_since == node.clock.wall()


def test_a_device_that_is_degraded_in_its_first_reading_has_no_beginning() -> None:
    node = Node()
    node.slots(device(0))
    node.read("n:0", power(reset_required=1))
    assert (node.view().state, node.view().state_since) == (DeviceState.DEGRADED, 0.0)


def test_a_call_that_does_not_return_from_the_first_look_started_with_it() -> None:
    node = Node()
    node.slots(device(0))
    started = node.clock.wall()
    node.clock.advance(5.0)
    node.failed("n:0", Absence.TIMEOUT)
    assert node.view().state_since == started
    node.failed("n:0", Absence.LOST)
    assert (node.view().state, node.view().state_since) == (DeviceState.LOST, node.clock.wall())
