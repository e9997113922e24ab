"""Backend.AI's sessions that have a device: by scratch folder, container labels and environment."""

import msgspec
import pytest

from accelwatch.node.workloads import SourceState, Workloads
from accelwatch.node.workloads.facts import SourceStatus
from accelwatch.node.workloads.sources import cgroup_tree
from accelwatch.schema.snapshot import DeviceView, Owner
from node.workloads.annotation import (
    IN_JOB,
    known,
    owners,
    partition,
    process,
    with_processes,
    workloads,
)
from node.workloads.fake_node import CONTAINER, FakeNode
from node.workloads.scratch import KERNEL, PROJECT, SESSION, USER, VARIABLES, docker, kernel
from support.machines.composed import device, snapshot, view

OTHER = "5b0e0000-0000-4000-8000-000000000001"
IN_DOCKER = f"0::/system.slice/docker-{CONTAINER}.scope\n"
SESSION_OWNER = Owner(
    kind="job", scheduler="backendai", job_id=SESSION, user="ada", job_name="pretraining"
)


def jobs(found: Workloads, *views: DeviceView) -> list[list[Owner]]:
    shot = known(found, snapshot(*views))
    return [[owner for owner in some if owner.kind == "job"] for some in owners(shot)]


def state(found: Workloads) -> SourceStatus:
    (status,) = [status for status in found.status() if status.name == "backendai"]
    return status


@pytest.mark.parametrize(
    ("shares", "held"),
    [
        ("CUDA.DEVICE_SHARES=0:1,2:1", [True, False, True]),
        ("CUDA.SHARES_SHARES=1:0.25", [False, True, False]),
        (f"CUDA.DEVICE_SHARES={device(2).uuid}:1", [False, False, True]),
        (f"CUDA.DEVICE_SHARES={device(1).pci_bus_id}:1", [False, True, False]),
        ("CUDA.DEVICE_SHARES=0:0,1:0.00,2:1", [False, False, True]),
        ("ROCM.DEVICE_SHARES=0:1", [False, False, False]),
        ("NPU-OF-TOMORROW.DEVICE_SHARES=0:1", [False, False, False]),
        ("CUDA.DEVICE_SHARES=,:1,9:1,x", [False, False, False]),
    ],
)
def test_an_idle_device_is_found_by_the_scratch_folder(
    node: FakeNode, shares: str, held: list[bool]
) -> None:
    kernel(node, shares)
    found = jobs(workloads(node), view(0), view(1), view(2))
    assert found == [[SESSION_OWNER] if one else [] for one in held]


def test_an_index_is_not_used_where_the_device_is_divided(node: FakeNode) -> None:
    whole = device(0)
    part = msgspec.structs.replace(view(0), device=partition(whole, "gi1/ci0", "MIG-1"))
    kernel(node, "CUDA.DEVICE_SHARES=0:1")
    assert jobs(workloads(node), view(0), part) == [[], []]


def test_the_order_of_gpus_can_be_given(node: FakeNode) -> None:
    kernel(node, "CUDA.DEVICE_SHARES=0:1")
    found = workloads(node, gpu_order={"0": device(1).uuid})
    assert jobs(found, view(0), view(1)) == [[], [SESSION_OWNER]]


def test_a_process_in_a_container_belongs_to_the_session_of_its_labels(node: FakeNode) -> None:
    """Whatever it says in its environment; the project is in the labels alone."""
    docker(node, CONTAINER)
    start = node.process(
        7, IN_DOCKER, {"BACKENDAI_SESSION_ID": OTHER, "BACKENDAI_USER_NAME": "eve"}
    )
    found = workloads(node)
    shot = known(found, snapshot(with_processes(0, process(device(0), 7, start))))
    (container, job) = shot.devices[0].owners
    assert (container.kind, container.container) == ("container", f"kernel.python.{KERNEL}")
    assert job == Owner(
        kind="job", scheduler="backendai", job_id=SESSION, user=USER, account=PROJECT
    )
    assert [process.job for process in shot.processes()] == [SESSION]


def test_the_users_name_is_reported_where_an_environment_has_it(node: FakeNode) -> None:
    docker(node, CONTAINER)
    start = node.process(7, IN_DOCKER, VARIABLES)
    (found,) = jobs(workloads(node), with_processes(0, process(device(0), 7, start)))
    assert found == [msgspec.structs.replace(SESSION_OWNER, account=PROJECT)]


def test_the_users_name_of_the_scratch_folder_is_believed_first(node: FakeNode) -> None:
    docker(node, CONTAINER)
    kernel(node, "CUDA.DEVICE_SHARES=0:1")
    start = node.process(7, IN_DOCKER, VARIABLES | {"BACKENDAI_USER_NAME": "eve"})
    (found,) = jobs(workloads(node), with_processes(0, process(device(0), 7, start)))
    assert found == [msgspec.structs.replace(SESSION_OWNER, account=PROJECT)]


def test_an_environment_alone_reports_the_session(node: FakeNode) -> None:
    start = node.process(7, "0::/\n", VARIABLES)
    shot = known(workloads(node), snapshot(with_processes(0, process(device(0), 7, start))))
    assert owners(shot) == [(SESSION_OWNER,)]
    assert [process.job for process in shot.processes()] == [SESSION]


def test_a_slurm_cgroup_goes_before_a_session(node: FakeNode) -> None:
    docker(node, CONTAINER)
    start = node.process(7, IN_JOB.format(41), VARIABLES)
    (found,) = jobs(workloads(node), with_processes(0, process(device(0), 7, start)))
    assert [(owner.scheduler, owner.job_id) for owner in found] == [("slurm", "41")]


@pytest.mark.parametrize(
    ("cgroup", "held"),
    [
        (f"system.slice/docker-{CONTAINER}.scope", True),
        (f"docker/{CONTAINER}", True),
        (f"memory/docker/{CONTAINER}", True),
        ("system.slice/docker.service", False),
        ("docker/" + "ab" * 32, False),
        # Nothing of Docker's can be seen: nobody knows.
        ("system.slice/sshd.service", True),
    ],
)
def test_a_folder_that_outlives_its_container_says_nothing(
    node: FakeNode, cgroup: str, held: bool
) -> None:
    kernel(node, "CUDA.DEVICE_SHARES=0:1", container=CONTAINER)
    node.cgroup(cgroup)
    found = workloads(node)
    assert jobs(found, view(0)) == [[SESSION_OWNER] if held else []]
    assert state(found).entries == int(held)


def test_a_tree_with_more_cgroups_than_are_looked_at_says_nothing_of_containers(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel(node, "CUDA.DEVICE_SHARES=0:1", container=CONTAINER)
    node.cgroup(f"docker/{'0' * 64}")
    node.cgroup(f"docker/{CONTAINER}")
    monkeypatch.setattr(cgroup_tree, "MAX_FOLDERS", 3)
    assert jobs(workloads(node), view(0)) == [[SESSION_OWNER]]


def test_kernels_of_one_session_are_one_job(node: FakeNode) -> None:
    kernel(node, "CUDA.DEVICE_SHARES=0:1")
    kernel(node, "CUDA.DEVICE_SHARES=0:0.5,1:1", kernel_id=OTHER)
    found = workloads(node)
    assert jobs(found, view(0), view(1)) == [[SESSION_OWNER], [SESSION_OWNER]]
    assert (state(found).state, state(found).entries) == (SourceState.OK, 2)


@pytest.mark.parametrize("position", ["before", "after"])
@pytest.mark.parametrize(
    ("name", "value"), [("BACKENDAI_SESSION_ID", OTHER), ("BACKENDAI_USER_NAME", "eve")]
)
def test_a_user_cannot_name_another_session_by_a_value_with_lines(
    node: FakeNode, name: str, value: str, position: str
) -> None:
    """A user's variables come first, but a name that he has set as well keeps its place."""
    kernel(node, "CUDA.DEVICE_SHARES=0:1")
    path = node.root / f"var/lib/backend.ai/scratches/{KERNEL}/config/environ.txt"
    note = f"NOTE=a\n{name}={value}\n"
    path.write_text(note + path.read_text() if position == "before" else path.read_text() + note)
    assert jobs(workloads(node), view(0)) == [[]]


def test_a_line_that_says_the_same_again_is_no_contradiction(node: FakeNode) -> None:
    kernel(node, "CUDA.DEVICE_SHARES=0:1")
    path = node.root / f"var/lib/backend.ai/scratches/{KERNEL}/config/environ.txt"
    path.write_text(
        f"NOTE=a\nBACKENDAI_SESSION_ID={SESSION}\nSLURM_JOB_ID=1\nSLURM_JOB_ID=2\n{path.read_text()}"
    )
    assert jobs(workloads(node), view(0)) == [[SESSION_OWNER]]


@pytest.mark.parametrize("key", ["scratch-root", "scratch_root"])
def test_the_folder_is_that_of_the_agents_configuration(node: FakeNode, key: str) -> None:
    node.file("etc/backend.ai/agent.toml", f'[container]\n{key} = "/data/scratches"\n')
    kernel(node, "CUDA.DEVICE_SHARES=0:1", root="data/scratches")
    assert jobs(workloads(node), view(0)) == [[SESSION_OWNER]]


@pytest.mark.parametrize(
    "content", ["", "[container", "container = 1", "[container]\nscratch-root = 7", "\x00\xff"]
)
def test_the_folder_is_the_usual_one_where_the_configuration_says_none(
    node: FakeNode, content: str
) -> None:
    node.file("etc/backend.ai/agent.toml", content.encode("latin-1"))
    kernel(node, "CUDA.DEVICE_SHARES=0:1")
    assert jobs(workloads(node), view(0)) == [[SESSION_OWNER]]


def test_a_configuration_that_cannot_be_read_is_reported_where_nothing_is_in_the_usual_folder(
    node: FakeNode,
) -> None:
    """It has secrets, so that often root alone may read it; who runs as root too sees a folder here."""
    node.file("etc/backend.ai/agent.toml/unreadable", "")
    found = workloads(node)
    found.refresh()
    assert (state(found).state, state(found).reason) == (SourceState.FAILED, "permission")
    assert "agent.toml" in state(found).message
    assert "workloads.scratch_root" in state(found).remedy
    kernel(node, "CUDA.DEVICE_SHARES=0:1")
    assert jobs(workloads(node), view(0)) == [[SESSION_OWNER]]


def test_a_relative_folder_is_refused(node: FakeNode) -> None:
    node.file("etc/backend.ai/agent.toml", '[container]\nscratch-root = "./scratches"\n')
    found = workloads(node)
    found.refresh()
    assert state(found).state is SourceState.FAILED
    assert "'./scratches' is relative" in state(found).message
    assert "workloads.scratch_root" in state(found).remedy
    kernel(node, "CUDA.DEVICE_SHARES=0:1", root="srv/scratches")
    found = workloads(node, scratch_root=node.root / "srv/scratches")
    assert jobs(found, view(0)) == [[SESSION_OWNER]]


def test_a_node_without_the_platform(node: FakeNode) -> None:
    found = workloads(node)
    found.refresh()
    assert state(found).state is SourceState.ABSENT
    assert [check.ok for check in found.checks() if check.subject.startswith("backendai")] == [True]


def test_folders_that_cannot_be_read(node: FakeNode) -> None:
    kernel(node, "CUDA.DEVICE_SHARES=0:1")
    (node.root / f"var/lib/backend.ai/scratches/{KERNEL}/config/environ.txt").unlink()
    found = workloads(node)
    found.refresh()
    assert (state(found).state, state(found).reason) == (SourceState.FAILED, "permission")


@pytest.mark.parametrize("missing", ["resource.txt", "environ.txt"])
def test_a_kernel_of_which_half_is_there_says_nothing(node: FakeNode, missing: str) -> None:
    kernel(node, "CUDA.DEVICE_SHARES=0:1", kernel_id=OTHER, BACKENDAI_SESSION_ID=OTHER)
    kernel(node, "CUDA.DEVICE_SHARES=0:1")
    (node.root / f"var/lib/backend.ai/scratches/{OTHER}/config" / missing).unlink()
    assert jobs(workloads(node), view(0)) == [[SESSION_OWNER]]


def test_a_folder_of_another_kernel_says_nothing(node: FakeNode) -> None:
    kernel(node, "CUDA.DEVICE_SHARES=0:1", BACKENDAI_KERNEL_ID=OTHER)
    assert jobs(workloads(node), view(0)) == [[]]


@pytest.mark.parametrize(
    ("sources", "expected"),
    [({"backendai"}, SESSION), ({"slurm"}, None), ({"cgroup"}, None)],
)
def test_the_source_can_be_left_out(
    node: FakeNode, sources: set[str], expected: str | None
) -> None:
    docker(node, CONTAINER)
    kernel(node, "CUDA.DEVICE_SHARES=0:1")
    start = node.process(7, IN_DOCKER, VARIABLES)
    found = workloads(node, sources=frozenset(sources))
    shot = known(found, snapshot(with_processes(0, process(device(0), 7, start))))
    named = [owner.job_id for owner in shot.devices[0].owners if owner.kind == "job"]
    assert named == ([expected] if expected else [])
    assert [process.job for process in shot.processes()] == [expected]


def test_access_key_and_mail_address_are_nowhere(node: FakeNode) -> None:
    docker(node, CONTAINER)
    kernel(node, "CUDA.DEVICE_SHARES=0:1", BACKENDAI_USER_NAME="hush@example.com")
    start = node.process(7, IN_DOCKER, VARIABLES | {"BACKENDAI_USER_NAME": "hush@example.com"})
    found = workloads(node)
    shot = known(found, snapshot(with_processes(0, process(device(0), 7, start))))
    printed = repr(shot) + repr(found.status())
    assert SESSION in printed
    assert "hush" not in printed.lower()
