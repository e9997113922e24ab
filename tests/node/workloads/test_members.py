"""Container, pod and job of a process in every shape of cgroup path."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.node.workloads.sources.members import Members, nested_container
from node.workloads.fake_node import CONTAINER, UID, UID_, FakeNode

OTHER = "ab" * 32
SHAPES = {
    "containerd, systemd driver, v2": (
        f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID_}.slice"
        f"/cri-containerd-{CONTAINER}.scope\n",
        (CONTAINER, UID, None),
    ),
    "CRI-O, systemd driver, v2, its own cgroup below": (
        f"0::/kubepods.slice/kubepods-pod{UID_}.slice/crio-{CONTAINER}.scope/container\n",
        (CONTAINER, UID, None),
    ),
    "docker shim, systemd driver, v1": (
        f"11:devices:/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{UID_}.slice"
        f"/docker-{CONTAINER}.scope\n10:cpuset:/\n",
        (CONTAINER, UID, None),
    ),
    "cgroupfs driver, v1": (
        f"4:memory:/kubepods/burstable/pod{UID}/{CONTAINER}\n",
        (CONTAINER, UID, None),
    ),
    "containerd, cgroupfs driver, v2": (
        f"0::/kubepods/pod{UID}/{CONTAINER}\n",
        (CONTAINER, UID, None),
    ),
    "kind: a node that is a container": (
        f"0::/docker/{OTHER}/kubelet.slice/kubelet-kubepods.slice"
        f"/kubelet-kubepods-pod{UID_}.slice/cri-containerd-{CONTAINER}.scope\n",
        (CONTAINER, UID, None),
    ),
    "static pod": (
        f"0::/kubepods/burstable/pod{'c0' * 16}/{CONTAINER}\n",
        (CONTAINER, "c0" * 16, None),
    ),
    "docker, systemd driver, v2": (
        f"0::/system.slice/docker-{CONTAINER}.scope\n",
        (CONTAINER, None, None),
    ),
    "docker, cgroupfs driver, v1": (
        f"12:pids:/docker/{CONTAINER}\n1:name=systemd:/docker/{CONTAINER}\n",
        (CONTAINER, None, None),
    ),
    "podman, rootless, v2": (
        f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{CONTAINER}.scope"
        "/container\n",
        (CONTAINER, None, None),
    ),
    "podman with systemd inside": (
        f"0::/machine.slice/libpod-{CONTAINER}.scope/init.scope\n",
        (CONTAINER, None, None),
    ),
    "Slurm, v2": (
        "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n",
        (None, None, "4711"),
    ),
    "Slurm, v2, several slurmd on a node": (
        "0::/system.slice/gpu01_slurmstepd.scope/job_4711/step_batch/user/task_special\n",
        (None, None, "4711"),
    ),
    "Slurm, v1": (
        "9:freezer:/slurm/uid_1000/job_4711/step_batch\n3:cpu:/system.slice/slurmd.service\n",
        (None, None, "4711"),
    ),
    "podman in a Slurm job": (
        f"0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0/libpod-{CONTAINER}.scope"
        "/container\n",
        (CONTAINER, None, "4711"),
    ),
    "a login shell": ("0::/user.slice/user-1000.slice/session-3.scope\n", (None, None, None)),
    "seen from a pod's own cgroup namespace": (
        f"0::/../../kubepods-burstable-pod{UID_}.slice/cri-containerd-{CONTAINER}.scope\n",
        (CONTAINER, UID, None),
    ),
    "a job seen from another cgroup namespace": (
        "0::/../../slurmstepd.scope/job_4711/step_0/user/task_0\n",
        (None, None, "4711"),
    ),
    "no cgroup namespace to see": ("0::/../..\n", (None, None, None)),
    "a folder with a job's name only": ("0::/jobs/job_12\n", (None, None, None)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_cgroup_shapes(node: FakeNode, shape: str) -> None:
    text, expected = SHAPES[shape]
    start = node.process(7, text)
    member = Members(node.root).of((7, start))
    assert member is not None
    assert (member.container, member.pod_uid, member.slurm_job) == expected


def test_a_reused_pid_is_another_process(node: FakeNode) -> None:
    start = node.process(7, f"0::/docker/{CONTAINER}\n")
    members = Members(node.root)
    assert members.of((7, start)) is not None
    later = node.process(7, "0::/\n", age=5_000)
    assert members.of((7, start + 1000)) is None
    fresh = members.of((7, later))
    assert fresh is not None
    assert fresh.container is None


def test_a_process_is_read_once_and_forgotten_when_not_wanted(node: FakeNode) -> None:
    start = node.process(7, f"0::/docker/{CONTAINER}\n")
    members = Members(node.root)
    before = members.of((7, start))
    (node.root / "proc/7/comm").unlink()
    assert members.of((7, start)) is before
    members.retain(set())
    assert members.of((7, start)) is None


def test_without_environments_none_is_read(node: FakeNode) -> None:
    start = node.process(7, "0::/\n", {"PBS_JOBID": "1"})
    assert Members(node.root, environments=False).of((7, start)).job is None  # type: ignore[union-attr]
    assert Members(node.root).of((7, start)).job is not None  # type: ignore[union-attr]


@settings(deadline=None)
@given(st.text(alphabet="0123456789abcdef/-_.:\nscopejlurmdk", max_size=300))
def test_no_cgroup_text_breaks_the_parser(text: str) -> None:
    found = nested_container(text)
    assert found is None or len(found) == 64
