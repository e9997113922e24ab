"""Which incidents count as confirmed faults of hardware, whose they are, and what each weighs."""

from typing import Any

import pytest

from accelwatch.alerting.incidents.model.incident import Incident, TimelineEntry, TimelineKind
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence, matchers
from accelwatch.alerting.rules.document import Advice, Scope, Severity
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.fleet.lemons.faults import Fault, distinct, fault_of
from support.incidents.hardware_faults import DAY_S, NOW, failed

OPENED = NOW - DAY_S


def counted(incident: Incident, *mutes: Silence | Maintenance) -> Fault | None:
    return fault_of(incident, {}, mutes)


def test_a_fault_has_the_serial_the_slot_and_the_node() -> None:
    fault = counted(failed(1))
    assert fault is not None
    assert fault.keys == ("node:n1", "slot:n1/0000:3b:00.0", "serial:A")
    assert (fault.incident, fault.time, fault.weight) == ("i1", OPENED, 1.0)
    assert (fault.device_name, fault.device) == ("nvidia3", "nvidia:GPU-A")


def test_a_fault_of_a_node_is_of_no_device() -> None:
    fault = counted(failed(1, name=""))
    assert fault is not None
    assert fault.keys == ("node:n1",)
    assert fault.device == ""


def test_what_is_not_known_is_no_key() -> None:
    without_slot, without_serial = counted(failed(1, slot="")), counted(failed(1, serial=""))
    assert without_slot is not None
    assert without_slot.keys == ("node:n1", "serial:A")
    assert without_serial is not None
    assert without_serial.keys == ("node:n1", "slot:n1/0000:3b:00.0")


@pytest.mark.parametrize("advice", list(Advice))
def test_only_advice_that_blames_hardware_counts(advice: Advice) -> None:
    blaming = {Advice.RESET, Advice.REBOOT, Advice.REPLACE, Advice.EXCLUDE}
    assert (counted(failed(1, advice=advice)) is not None) is (advice in blaming)


@pytest.mark.parametrize(
    ("severity", "weight"),
    [(Severity.CRITICAL, 1.0), (Severity.WARNING, 0.5), (Severity.INFO, None)],
)
def test_a_warning_weighs_half_and_information_nothing(
    severity: Severity, weight: float | None
) -> None:
    fault = counted(failed(1, severity=severity))
    assert (None if fault is None else fault.weight) == weight


@pytest.mark.parametrize(
    "fields",
    [
        # Anybody on the node may have forged it.
        {"trusted": False},
        # The consequence of another incident.
        {"follows": "i7"},
        # Part of a group that is not known any more.
        {"group": "i9"},
        # The group itself.
        {"entity": Entity(scope=Scope.DEVICE, group="rack=r7")},
        {"entity": Entity(scope=Scope.JOB, job="4711"), "nodes": ("n1", "n2")},
        {"entity": Entity(scope=Scope.RACK, rack="r7")},
        # What the detector suspects is no confirmation.
        {"rule": "detector.device"},
    ],
)
def test_what_does_not_speak_against_one_device_or_node_does_not_count(
    fields: dict[str, Any],
) -> None:
    assert counted(failed(1, **fields)) is None


def test_what_befalls_a_rack_counts_for_nobody_and_a_node_for_itself_once() -> None:
    members = [failed(number, group="i9", serial=f"S{number}") for number in (1, 2, 3)]
    rack = failed(9, entity=Entity(scope=Scope.DEVICE, group="rack=r7"))
    assert [fault_of(member, {"i9": rack}, ()) for member in members] == [None] * 3

    of_node = failed(9, entity=Entity(scope=Scope.DEVICE, group="node=n1"), title="3 at once")
    faults = [fault_of(member, {"i9": of_node}, ()) for member in members]
    (single,) = distinct(fault for fault in faults if fault is not None)
    assert (single.incident, single.title, single.keys) == ("i9", "3 at once", ("node:n1",))

    # A node in a storm is no culprit either.
    in_storm = failed(9, entity=of_node.entity, group="i10")
    assert fault_of(members[0], {"i9": in_storm}, ()) is None


def silence(starts: float, ends: float, text: str = "node=n1") -> Silence:
    return Silence(
        id="s1", matchers=matchers(text), starts=starts, ends=ends, by="ana", reason="known"
    )


def window(starts: float, ends: float, *nodes: str) -> Maintenance:
    return Maintenance(
        id="m1", nodes=nodes, starts=starts, ends=ends, by="ana", reason="new firmware"
    )


def test_what_was_silenced_or_in_maintenance_when_it_was_opened_does_not_count() -> None:
    assert counted(failed(1), silence(OPENED - 1, OPENED + 1)) is None
    assert counted(failed(1), window(OPENED - 1, OPENED + 1, "n[1-3]")) is None
    assert counted(failed(1), window(OPENED - 1, OPENED + 1)) is None


@pytest.mark.parametrize(
    "source",
    [
        silence(OPENED - 1, OPENED + 1, "node=n2"),
        window(OPENED - 1, OPENED + 1, "n2"),
        # Whoever works on a fault silences it afterwards: it was one all the same.
        silence(OPENED + 1, OPENED + 100),
        window(OPENED + 1, OPENED + 100, "n1"),
        silence(OPENED - 100, OPENED - 1),
        window(OPENED - 100, OPENED - 1, "n1"),
    ],
)
def test_a_silence_of_others_or_of_another_time_changes_nothing(
    source: Silence | Maintenance,
) -> None:
    assert counted(failed(1), source) is not None


def test_what_comes_back_after_maintenance_counts() -> None:
    back = TimelineEntry(OPENED + 600, TimelineKind.REOPENED, "again")
    again = failed(1, reopened=1, timeline=(back,))
    assert counted(again, window(OPENED - 1, OPENED + 1, "n1")) is not None
    assert counted(again, window(OPENED - 1, OPENED + 1000, "n1")) is None
