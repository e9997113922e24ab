"""Two exporters on one node: each device once, the best source first, nothing counted twice."""

from typing import Any

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects import PRECEDENCE, merge, read_devices
from accelwatch.fleet.dialects.registry import DIALECTS
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading, complete
from accelwatch.schema.snapshot import DeviceView, EventCount, Owner
from support.machines import composed as machines
from support.machines.samples import FIXTURES

NOW = 1_700_000_000.0


def view(uuid: str | None, values: dict[Series, Number], **changes: Any) -> DeviceView:
    facts = {"pci_bus_id": None, "serial": None, "model": None, **changes.pop("facts", {})}
    device = machines.device(id=f"nvidia:{uuid}", uuid=uuid, **facts)
    reading = complete(Reading(device_id=device.id, values=values), frozenset())
    return machines.view(device=device, reading=reading, **changes)


def test_joined_by_uuid_whatever_its_spelling() -> None:
    ours = view("GPU-ABCD", {("power_watts",): 100})
    theirs = view("abcd", {("power_watts",): 90, ("utilization_ratio",): 0.5})
    (merged,) = merge({"dcgm-exporter": [theirs], "accelwatch": [ours]})
    assert merged.device.id == "nvidia:GPU-ABCD"
    assert merged.reading.values == {("power_watts",): 100, ("utilization_ratio",): 0.5}
    assert merged.reading.sources == {"utilization_ratio": "dcgm-exporter"}
    assert ("utilization_ratio",) not in merged.reading.absent


def test_joined_by_pci_id_and_facts_are_completed() -> None:
    ours = view(None, {}, facts={"pci_bus_id": "0000:05:00.0"})
    theirs = view("abcd", {}, facts={"pci_bus_id": "0000:05:00.0", "model": "H100"})
    (merged,) = merge({"accelwatch": [ours], "all-smi": [theirs]})
    assert (merged.device.model, merged.device.uuid) == ("H100", "abcd")


def test_the_precedence_is_configured() -> None:
    first, second = view("a", {("power_watts",): 1}), view("a", {("power_watts",): 2})
    both = {"one": [first], "two": [second]}
    assert merge(both, ("two", "one"))[0].reading.values == {("power_watts",): 2}
    assert merge(both, ("one", "two"))[0].reading.values == {("power_watts",): 1}
    assert merge(both, ("two",))[0].reading.values == {("power_watts",): 2}
    assert merge(both, ())[0].reading.values == {("power_watts",): 1}


def test_labels_that_could_count_twice_come_from_one_source() -> None:
    ours = view("a", {("energy_joules_total", "hardware"): 5, ("temperature_celsius", "gpu"): 40})
    theirs = view(
        "a", {("energy_joules_total", "integrated"): 9, ("temperature_celsius", "memory"): 50}
    )
    (merged,) = merge({"accelwatch": [ours], "all-smi": [theirs]})
    assert merged.reading.values == {
        ("energy_joules_total", "hardware"): 5,
        ("temperature_celsius", "gpu"): 40,
        ("temperature_celsius", "memory"): 50,
    }


def test_frozen_numbers_do_not_revive_a_lost_device() -> None:
    gone = machines.lost_view(0)
    frozen = view(gone.device.uuid, {("power_watts",): 300})
    (merged,) = merge({"accelwatch": [gone], "dcgm-exporter": [frozen]})
    assert merged.state is DeviceState.LOST
    assert merged.reading.absent == {("*",): Absence.LOST}
    assert merged.reading.values == {}


def test_a_failure_that_only_the_second_sees_is_one() -> None:
    fine = view("x", {}, health=Health.OK)
    broken = view("x", {}, health=Health.FAILED, health_reasons=("row remapping failed",))
    (merged,) = merge({"a": [fine], "b": [broken]})
    assert (merged.health, merged.health_reasons) == (Health.FAILED, ("row remapping failed",))


def test_a_second_that_reads_badly_makes_no_device_bad() -> None:
    fine = view("x", {}, health=Health.OK)
    badly = view("x", {}, state=DeviceState.DEGRADED, health=Health.DEGRADED)
    assert merge({"a": [fine], "b": [badly]})[0].health is Health.OK
    assert merge({"a": [badly], "b": [fine]})[0].health is Health.DEGRADED


def test_events_are_counted_by_the_first_that_counts_any() -> None:
    some, more = [
        (EventCount(code="xid_94", category="other", total=total, last_time=NOW),)
        for total in (2, 5)
    ]
    views = [view("x", {}), view("x", {}, event_counts=some), view("x", {}, event_counts=more)]
    named = {name: [one] for name, one in zip("abc", views, strict=True)}
    assert merge(named)[0].event_counts == some
    assert merge({"a": [views[0]], "b": [views[0]]})[0].event_counts == ()


def test_owners_are_united() -> None:
    pod, job = Owner(kind="kubernetes", pod="p"), Owner(kind="job", job_id="1")
    merged = merge({"a": [view("x", {}, owners=(pod,))], "b": [view("x", {}, owners=(pod, job))]})
    assert merged[0].owners == (pod, job)


def test_devices_that_only_one_knows_stay() -> None:
    merged = merge({"a": [view("x", {})], "b": [view("y", {}), view("z", {})]})
    assert [one.device.uuid for one in merged] == ["x", "y", "z"]


def test_partitions_follow_their_device() -> None:
    parent = view("GPU-A", {})
    other = view("a", {})
    instance = machines.view(
        device=msgspec.structs.replace(
            other.device, id="nvidia:a/gi7", uuid=None, parent_id="nvidia:a", partition="gi7"
        )
    )
    merged = merge({"accelwatch": [parent], "dcgm-exporter": [other, instance]})
    assert [one.device.id for one in merged] == ["nvidia:GPU-A", "nvidia:GPU-A/gi7"]
    assert merged[1].device.parent_id == "nvidia:GPU-A"
    assert merged[1].reading.device_id == "nvidia:GPU-A/gi7"


def test_nothing_is_merged_from_nothing() -> None:
    assert merge({}) == ()


def test_two_exporters_in_one_scrape() -> None:
    folder = FIXTURES / "fleet" / "dialects"
    smi = (folder / "dcgm_legacy.prom").read_text() + (
        'nvidia_smi_gpu_info{uuid="aaaa0000-0000-4000-8000-000000000001",name="NVIDIA H100 80GB HBM3",'
        'index="0",pci_bus_id="00000000:8D:00.0",vbios_version="96.0"} 1\n'
        'nvidia_smi_fan_speed_ratio{uuid="aaaa0000-0000-4000-8000-000000000001"} 0.5\n'
        'nvidia_smi_temperature_gpu{uuid="aaaa0000-0000-4000-8000-000000000001"} 99\n'
    )
    read = read_devices(smi, NOW)
    assert read.dialects == ("dcgm-exporter", "nvidia_gpu_exporter")
    first = read.devices[0]
    assert first.reading.values[("temperature_celsius", "gpu")] == 61
    assert first.reading.values[("fan_speed_ratio", "0")] == 0.5
    assert first.device.vbios_version == "96.0"
    assert len(read.devices) == 4
    assert len(read.by_dialect["nvidia_gpu_exporter"]) == 1


def test_every_dialect_has_its_position() -> None:
    assert {dialect.name for dialect in DIALECTS} == set(PRECEDENCE)
    assert PRECEDENCE[0] == "accelwatch"
