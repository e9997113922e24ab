"""Pods and containers that have a device, by the kubelet and by the processes on it."""

import os

import msgspec
import pytest

from accelwatch.node.workloads import SourceState
from accelwatch.node.workloads import allocation as allocation_module
from accelwatch.schema.snapshot import Owner
from node.workloads import kubelet_wire as wire
from node.workloads.annotation import (
    IN_JOB,
    IN_POD,
    MIG,
    known,
    kubernetes,
    owners,
    partition,
    process,
    with_processes,
    workloads,
)
from node.workloads.fake_kubelet import FakeKubelet
from node.workloads.fake_node import CONTAINER, UID, UID_, FakeNode
from support.machines.composed import device, snapshot, view


def test_the_kubelet_reports_the_pod_also_of_an_idle_device(
    node: FakeNode, kubelet: FakeKubelet
) -> None:
    node.pod("ml", "train-0", UID, "main")
    body = wire.pod(
        "ml",
        "train-0",
        wire.container("main", wire.devices("nvidia.com/gpu", [f"{device(1).uuid}"])),
    )
    kubelet.answers(wire.reply(body))
    found = workloads(node, kubelet.path)
    shot = known(found, snapshot(view(0), view(1)))
    expected = kubernetes(
        namespace="ml", pod="train-0", pod_uid=UID, container="main", resource="nvidia.com/gpu"
    )
    assert owners(shot) == [(), (expected,)]
    status = {one.name: one for one in found.status()}
    assert status["podresources"].state is SourceState.OK
    assert status["podresources"].entries == 1
    assert status["slurm"].state is SourceState.ABSENT


def test_replicas_of_one_device_are_several_owners(node: FakeNode, kubelet: FakeKubelet) -> None:
    uuid = device(0).uuid
    pods = [
        wire.pod("ml", name, wire.container("c", wire.devices("nvidia.com/gpu", [f"{uuid}::{at}"])))
        for at, name in enumerate(("a", "b", "b"))
    ]
    kubelet.answers(wire.reply(b"".join(pods)))
    shot = known(workloads(node, kubelet.path), snapshot(view(0)))
    assert [one.pod for one in shot.devices[0].owners] == ["a", "b"]


def test_a_partition_has_its_own_owner(node: FakeNode, kubelet: FakeKubelet) -> None:
    """The process is seen on the parent too, and belongs to the partition only."""
    whole = device(0)
    part = partition(whole, "gi1/ci0", MIG)
    start = node.process(71, IN_POD)
    kubelet.answers(
        wire.reply(
            wire.pod("ml", "p", wire.container("c", wire.devices("nvidia.com/mig-1g.10gb", [MIG])))
        )
    )
    shot = snapshot(
        with_processes(0, process(whole, 71, start)), msgspec.structs.replace(view(0), device=part)
    )
    assert owners(known(workloads(node, kubelet.path), shot)) == [
        (),
        (kubernetes(namespace="ml", pod="p", container="c", resource="nvidia.com/mig-1g.10gb"),),
    ]


def test_processes_report_where_the_kubelet_says_nothing(node: FakeNode) -> None:
    node.pod("ml", "train-0", UID, "main", "sidecar")
    node.container_log("ml", "train-0", "main", CONTAINER)
    start = node.process(71, IN_POD)
    shot = known(
        workloads(node), snapshot(with_processes(0, process(device(0), 71, start)), view(1))
    )
    owner = kubernetes(namespace="ml", pod="train-0", pod_uid=UID, container="main")
    assert owners(shot) == [(owner,), ()]
    (one,) = shot.devices[0].reading.processes or ()
    assert (one.pod, one.container, one.job) == ("ml/train-0", CONTAINER, None)


def test_a_pod_without_a_name_keeps_its_uid(node: FakeNode) -> None:
    filled = process(device(0), 71, None, pod=UID, container=CONTAINER)
    shot = known(workloads(node), snapshot(with_processes(0, filled)))
    assert owners(shot) == [(kubernetes(pod_uid=UID),)]
    assert (shot.devices[0].reading.processes or ())[0].pod == UID


def test_of_namesakes_the_newest_pod_counts(node: FakeNode, kubelet: FakeKubelet) -> None:
    newer = UID.replace("0b1c", "ffff")
    for uid, changed in ((newer, 2_000), (UID, 1_000)):
        node.pod("ml", "db-0", uid, "main")
        os.utime(node.root / f"var/log/pods/ml_db-0_{uid}", (changed, changed))
    body = wire.pod(
        "ml", "db-0", wire.container("main", wire.devices("nvidia.com/gpu", [f"{device(0).uuid}"]))
    )
    kubelet.answers(wire.reply(body))
    shot = known(workloads(node, kubelet.path), snapshot(view(0)))
    assert shot.devices[0].owners[0].pod_uid == newer


@pytest.mark.parametrize(
    "cgroup",
    [
        "kubepods.slice/kubepods-pod{0}.slice",
        "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{0}.slice",
        "memory/kubepods/besteffort/pod{1}",
        "kubepods/pod{1}",
        "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{0}.slice",
        "docker/aa/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{0}.slice",
    ],
)
def test_a_completed_pod_has_its_device_no_more(
    node: FakeNode, kubelet: FakeKubelet, cgroup: str
) -> None:
    """The kubelet goes on naming it after the device was given to another pod."""
    ended = UID.replace("0b1c", "dead")
    node.pod("ml", "done", ended, "main")
    node.pod("ml", "next", UID, "main")
    node.cgroup(cgroup.format(UID_, UID))
    given = wire.container("main", wire.devices("nvidia.com/gpu", [f"{device(0).uuid}"]))
    pods = [wire.pod("ml", name, given) for name in ("done", "next", "unnamed")]
    kubelet.answers(wire.reply(b"".join(pods)))
    shot = known(workloads(node, kubelet.path), snapshot(view(0)))
    assert [one.pod for one in shot.devices[0].owners] == ["next", "unnamed"]


@pytest.mark.parametrize("named", [True, False])
def test_a_container_without_a_pod(node: FakeNode, named: bool) -> None:
    start = node.process(71, f"0::/system.slice/docker-{CONTAINER}.scope\n")
    if named:
        config = '{"Name": "/lab", "Config": {"Env": ["SECRET=hush"]}}'
        node.file(f"var/lib/docker/containers/{CONTAINER}/config.v2.json", config)
    shot = known(workloads(node), snapshot(with_processes(0, process(device(0), 71, start))))
    name = "lab" if named else CONTAINER[:12]
    assert owners(shot) == [(Owner(kind="container", container=name),)]


def test_a_pod_within_a_job_is_both(node: FakeNode) -> None:
    both = IN_JOB.format(7).strip() + f"/kubepods-pod{UID_}.slice/crio-{CONTAINER}.scope\n"
    start = node.process(71, both)
    shot = known(workloads(node), snapshot(with_processes(0, process(device(0), 71, start))))
    assert {one.kind for one in shot.devices[0].owners} == {"kubernetes", "job"}


def test_a_name_that_matches_no_device_is_reported(node: FakeNode, kubelet: FakeKubelet) -> None:
    body = wire.pod(
        "ml",
        "p",
        wire.container(
            "c", wire.devices("nvidia.com/gpu", ["GPU-strange"]), wire.devices("x/kvm", ["0"])
        ),
    )
    kubelet.answers(wire.reply(body))
    found = workloads(node, kubelet.path)
    known(found, snapshot(view(0)))
    status = found.status()[0]
    assert status.reason == "unmatched"
    assert status.message == "1 device names of the kubelet match no device: GPU-strange"


def test_owners_are_bounded(
    node: FakeNode, kubelet: FakeKubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocation_module, "MAX_OWNERS", 5)
    pods = (
        wire.pod(
            "ml",
            f"p{at}",
            wire.container("c", wire.devices("nvidia.com/gpu", [f"{device(0).uuid}::{at}"])),
        )
        for at in range(9)
    )
    kubelet.answers(wire.reply(b"".join(pods)))
    shot = known(workloads(node, kubelet.path), snapshot(view(0)))
    assert len(shot.devices[0].owners) == 5
