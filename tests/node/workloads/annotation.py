"""Snapshots of devices with processes, and the owners that are found for them."""

from pathlib import Path

import msgspec

from accelwatch.node.workloads import Workloads, WorkloadSettings
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView, Owner, Snapshot
from node.workloads.fake_node import CONTAINER, UID_, FakeNode
from support.machines.composed import view

MIG = "MIG-3f2a9c14-5b7d-5e21-9c3a-000000000001"
IN_POD = f"0::/kubepods.slice/kubepods-pod{UID_}.slice/cri-containerd-{CONTAINER}.scope\n"
IN_JOB = "0::/system.slice/slurmstepd.scope/job_{0}/step_0/user/task_0\n"


def workloads(node: FakeNode, socket: Path | None = None, **changes: object) -> Workloads:
    settings = WorkloadSettings(
        root=node.root,
        kubelet_socket=socket or node.root / "none.sock",
        pod_logs=node.root / "var/log/pods",
    )
    return Workloads(msgspec.structs.replace(settings, **changes))


def process(at: Device, pid: int, start: float | None, **changes: object) -> Process:
    plain = Process(device_id=at.id, pid=pid, start_time=start, user="4242")
    return msgspec.structs.replace(plain, **changes)


def with_processes(index: int, *processes: Process) -> DeviceView:
    plain = view(index)
    reading = msgspec.structs.replace(plain.reading, processes=processes)
    return msgspec.structs.replace(plain, reading=reading)


def partition(parent: Device, name: str, uuid: str) -> Device:
    return msgspec.structs.replace(
        parent, id=f"nvidia:{uuid}", uuid=uuid, parent_id=parent.id, partition=name
    )


def known(found: Workloads, shot: Snapshot) -> Snapshot:
    """The snapshot after the sources have been read with its processes in view."""
    found.annotate(shot)
    found.refresh()
    return found.annotate(shot)


def owners(shot: Snapshot) -> list[tuple[Owner, ...]]:
    return [one.owners for one in shot.devices]


def kubernetes(**fields: str) -> Owner:
    return Owner(kind="kubernetes", **fields)
