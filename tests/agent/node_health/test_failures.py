"""What keeps a node out of the next rendezvous, and what does not."""

import pytest

from accelwatch.agent.node_health.failures import failures
from accelwatch.alerting.incidents.model.incident import Facts
from accelwatch.alerting.rules.document import Scope, Severity
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.reading import wholly_absent
from support.incidents.incident_samples import incident
from support.machines import composed as machines

ON_NODE = Entity(scope=Scope.NODE, node="n01")


def test_a_healthy_node_may() -> None:
    assert failures(machines.snapshot(), ()) == ()


def test_a_lost_device_is_named_with_what_happened_to_it() -> None:
    snapshot = machines.snapshot(machines.view(0), machines.lost_view(3))
    assert failures(snapshot, ()) == ("nvidia3: GPU has fallen off the bus",)


def test_a_device_that_does_not_answer_counts() -> None:
    hung = machines.view(
        1,
        state=DeviceState.UNRESPONSIVE,
        health=Health.FAILED,
        health_reasons=("the device does not answer",),
    )
    assert failures(machines.snapshot(hung), ()) == ("nvidia1: the device does not answer",)


def test_devices_of_a_failed_collector_do_not_count() -> None:
    unread = machines.view(1, state=DeviceState.UNRESPONSIVE, health=Health.UNKNOWN)
    assert failures(machines.snapshot(unread), ()) == ()


def test_devices_without_a_driver_do_not_count() -> None:
    unread = machines.view(
        1,
        state=DeviceState.DEGRADED,
        health=Health.FAILED,
        reading=wholly_absent(machines.device(1).id, Absence.ERROR),
    )
    assert failures(machines.snapshot(unread, backends=(machines.unread(),)), ()) == ()


def test_a_degraded_device_does_not_count() -> None:
    slow = machines.view(1, health=Health.DEGRADED, health_reasons=("a row remap is pending",))
    assert failures(machines.snapshot(slow), ()) == ()


def test_a_node_without_devices_may() -> None:
    assert failures(machines.snapshot(devices=()), ()) == ()


def test_a_critical_incident_counts() -> None:
    found = incident(
        1,
        severity=Severity.CRITICAL,
        entity=ON_NODE,
        title="Reboot needed",
        rule="x.y",
        facts=Facts(),
    )
    assert failures(machines.snapshot(), [found]) == ("n01: Reboot needed (x.y)",)


@pytest.mark.parametrize(
    "changes",
    [
        {"severity": Severity.WARNING},
        {"trusted": False},
        {"entity": Entity(scope=Scope.JOB, job="4711")},
        {"entity": Entity(scope=Scope.RACK, rack="r7")},
    ],
)
def test_other_incidents_do_not_count(changes: dict[str, object]) -> None:
    fields = {"severity": Severity.CRITICAL, "entity": ON_NODE, **changes}
    assert failures(machines.snapshot(), [incident(1, **fields)]) == ()
