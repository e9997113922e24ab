"""A device answers to a name alike wherever it is asked: on its node, of a process, in a fleet."""

import msgspec
import pytest

from accelwatch.expr import MISSING, Key, device_names
from accelwatch.fleet.api.query.names import Subject
from accelwatch.fleet.api.query.names import lookup as fleet_lookup
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.state.nodes.devices import ReadDevice
from accelwatch.node.query.lookup import PROCESS_NAMES, lookup, process_lookup, process_names
from accelwatch.schema.device import DeviceState
from accelwatch.schema.fields import cell
from accelwatch.schema.health import Health
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView
from support.machines import composed as machines

STATE_KEYS: list[Key] = [
    ("device_up",),
    ("device_suspended",),
    *(("health", one) for one in Health),
]


def subject(view: DeviceView, node_state: NodeState = NodeState.UP) -> Subject:
    return Subject(
        node="n01",
        node_state=node_state,
        labels={},
        device=view.device,
        present=ReadDevice(view),
        age_s=view.sample_age_s,
    )


@pytest.mark.parametrize("name", device_names().identity)
def test_names_are_answered_alike(name: str) -> None:
    view = machines.mig_view(7, 0)
    value = lookup(view, "n01")(name)
    assert value == process_lookup(None, view, "n01")(name) == fleet_lookup(subject(view))(name)
    if name not in ("host", "device"):
        shown = cell(view, name)
        assert value == (MISSING if shown is None else shown)


def test_a_host_that_is_not_known_is_missing() -> None:
    view = machines.view(0)
    assert lookup(view)("host") is MISSING
    assert process_lookup(None, view)("host") is MISSING


@pytest.mark.parametrize("state", DeviceState)
@pytest.mark.parametrize("health", Health)
def test_state_and_health_are_numbers_alike(state: DeviceState, health: Health) -> None:
    view = machines.view(0, state=state, health=health)
    answers = [lookup(view)(key) for key in STATE_KEYS]
    up = state in (DeviceState.OK, DeviceState.DEGRADED)
    asleep = state is DeviceState.SUSPENDED
    assert answers == [int(up), int(asleep), *(int(one is health) for one in Health)]
    assert answers == [fleet_lookup(subject(view))(key) for key in STATE_KEYS]
    assert answers == [process_lookup(None, view)(key) for key in STATE_KEYS]


def test_quantities_are_answered_alike_and_a_silent_node_s_are_unknown() -> None:
    view = machines.view(0)
    for series, number in view.reading.values.items():
        assert lookup(view)(series) == fleet_lookup(subject(view))(series) == number
        assert fleet_lookup(subject(view, NodeState.STALE))(series) is MISSING
    nothing = ("fan_speed_ratio", "no such fan")
    assert lookup(view)(nothing) is MISSING
    assert fleet_lookup(subject(view))(nothing) is MISSING
    assert fleet_lookup(subject(view, NodeState.STALE))(("device_up",)) == 0


def test_a_process_answers_before_its_device() -> None:
    view = machines.view(0)
    process = Process(device_id=view.device.id, pid=7, user="ada", utilization_ratio=0.5)
    answer = process_lookup(process, view)
    assert (answer("pid"), answer("user"), answer("gpu_utilization_ratio")) == (7, "ada", 0.5)
    assert answer("job") is MISSING
    assert answer("model") == view.device.model
    assert answer(("power_watts",)) == view.reading.values[("power_watts",)]
    assert process_lookup(process, None)("model") is MISSING
    assert process_lookup(None, view)("pid") is MISSING
    assert {*PROCESS_NAMES, *device_names().identity} == set(process_names().identity)
    fields = {name for name in PROCESS_NAMES if name != "gpu_utilization_ratio"}
    assert fields <= {field.name for field in msgspec.structs.fields(Process)}
