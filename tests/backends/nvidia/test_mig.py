"""MIG instances as partitions with their own identity, memory, activity and processes."""

from types import SimpleNamespace

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch_nvidia.devices.mig import profile_of

from .conftest import Rig


def test_partitions_and_their_parent(rig: Rig) -> None:
    with rig.machine(rig.scenario("a100x8-mig")) as machine:
        parent, *parts = machine.identify(0)
        assert machine.identify(1)[1:] == []
    assert parent.partition_mode == "enabled"
    assert [part.id for part in parts] == [
        f"nvidia:MIG-5ca1ab1e-0002-4000-8000-00000000010{slot}" for slot in (0, 1, 2, 4)
    ]
    assert [part.partition for part in parts] == ["gi1/ci0", "gi3/ci0", "gi9/ci0", "gi10/ci0"]
    assert [part.partition_profile for part in parts] == ["3g.20gb", "2g.10gb", "1g.5gb", "1g.5gb"]
    assert {part.parent_id for part in parts} == {parent.id}
    assert {part.partition_technology for part in parts} == {"mig"}
    assert parts[0].name == "nvidia0-gi1-ci0"
    assert parts[0].serial is None


def test_readings_of_partitions(rig: Rig) -> None:
    with rig.machine(rig.scenario("a100x8-mig")) as machine:
        whole, first, second, third, _ = machine.read(0)
    assert whole.absent["utilization_ratio",] is Absence.UNSUPPORTED
    assert first.values["memory_size_bytes",] == 20937965568
    assert third.values["memory_used_bytes",] == 9437184
    assert [process.pid for process in first.processes or ()] == [5200]
    assert [process.pid for process in third.processes or ()] == [5201]
    assert second.processes == ()
    assert whole.processes == ()
    assert (first.processes or ())[0].device_id == first.device_id


def test_a_partition_that_was_destroyed_is_only_itself_gone(rig: Rig) -> None:
    with rig.machine(rig.scenario("a100x8-mig")) as machine:
        device = machine.identify(0)[0]
        for call in ("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"):
            machine.scenario.fault(call, "error:2", device=0)
        machine.scenario.write()
        whole, *parts = machine.backend.read(device, Request())
    assert whole.values["power_watts",] > 0
    assert [part.absent for part in parts] == [{("*",): Absence.LOST}] * 4


def test_readings_are_of_the_partitions_last_identified(rig: Rig) -> None:
    with rig.machine(rig.scenario("a100x8-mig")) as machine:
        device, *parts = machine.identify(0)
        machine.scenario.unset(0, "mig.4.uuid").set(0, "mig.5.uuid", "MIG-new")
        machine.scenario.set(0, "mig.5.gpu_instance_id", 12).set(0, "mig.5.compute_instance_id", 0)
        machine.scenario.fault("*", "error:1").write()
        with pytest.raises(ReadError):
            machine.backend.read(device, Request())
        machine.scenario.heal("*").write()
        found = machine.backend.read(device, Request())
        assert [reading.device_id for reading in found] == [device.id, *(p.id for p in parts)]
        assert [part.id for part in machine.identify(0)[-1:]] == ["nvidia:MIG-new"]


def test_activity_of_a_partition_by_gpm(rig: Rig) -> None:
    scenario = rig.devices(1).mig(
        0,
        0,
        "MIG-5ca1ab1e-0000-4000-8000-000000000100",
        gpu_instance_id=7,
        compute_instance_id=0,
        memory_total_bytes=10 << 30,
        memory_used_bytes=1 << 30,
        memory_reserved_bytes=0,
        **{"gpm.1": 99.5, "gpm.2": 98.2},
    )
    with rig.machine(scenario, one_shot=True) as machine:
        _, part = machine.read(0, "pipes")
    assert part.values["utilization_ratio",] == pytest.approx(0.995)
    assert part.values["compute_active_ratio",] == pytest.approx(0.982)


def test_profile_from_attributes_where_the_name_has_none() -> None:
    attributes = SimpleNamespace(
        gpuInstanceSliceCount=2, computeInstanceSliceCount=1, memorySizeMB=19968
    )
    assert profile_of("NVIDIA H100", attributes) == "1c.2g.20gb"
    assert profile_of("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", attributes) == "1g.10gb+me"
    assert profile_of("NVIDIA H100", Absence.UNSUPPORTED) is None


def test_an_instance_without_a_uuid_is_known_by_its_slot(rig: Rig) -> None:
    scenario = rig.scenario("a100x8-mig").fault("nvmlDeviceGetUUID", "error:4")
    scenario.fault("nvmlDeviceGetName", "error:3")
    with rig.machine(scenario) as machine:
        parent, first, *_ = machine.identify(0)
    assert parent.id == "nvidia:0000:10:00.0"
    assert first.id == "nvidia:0000:10:00.0/gi1/ci0"
    assert first.uuid is None
    assert first.partition_profile == "3g.20gb"
