"""Jobs of the schedulers that have a device, by cgroup, environment and prolog files."""

import msgspec
import pytest

from accelwatch.node.workloads import SourceState
from accelwatch.schema.snapshot import Owner
from node.workloads.annotation import (
    IN_JOB,
    MIG,
    known,
    owners,
    partition,
    process,
    with_processes,
    workloads,
)
from node.workloads.fake_node import FakeNode
from support.machines.composed import device, snapshot, view


def test_a_busy_and_an_idle_device_of_a_slurm_job(node: FakeNode) -> None:
    variables = {
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_USER": "ada",
        "SLURM_JOB_ACCOUNT": "physics",
        "SLURM_JOB_PARTITION": "h100",
        "SLURM_JOB_GPUS": "0,1",
    }
    start = node.process(71, IN_JOB.format(7), variables)
    node.cgroup("system.slice/slurmstepd.scope/job_7/step_0/user/task_0", 71)
    busy = with_processes(0, process(device(0), 71, start, job="7"))
    shot = known(workloads(node), snapshot(busy, view(1), view(2)))
    job = Owner(
        kind="job", scheduler="slurm", job_id="7", user="ada", account="physics", queue="h100"
    )
    assert owners(shot) == [(job,), (job,), ()]


def test_a_job_whose_environment_is_not_ours_to_read(node: FakeNode) -> None:
    start = node.process(71, IN_JOB.format(7))
    (node.root / "proc/71/environ").unlink()
    node.cgroup("system.slice/slurmstepd.scope/job_7/step_0", 71)
    found = workloads(node)
    shot = known(found, snapshot(with_processes(0, process(device(0), 71, start)), view(1)))
    assert owners(shot) == [(Owner(kind="job", scheduler="slurm", job_id="7", user="4242"),), ()]
    (one,) = shot.devices[0].reading.processes or ()
    assert one.job == "7"
    (slurm,) = [one for one in found.status() if one.name == "slurm"]
    assert slurm.state is SourceState.FAILED
    assert "CAP_SYS_PTRACE" in slurm.remedy
    assert [check.ok for check in found.checks() if check.subject.startswith("slurm")] == [False]


def test_the_order_of_gpus_can_be_given(node: FakeNode) -> None:
    node.process(71, IN_JOB.format(7), {"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "0,2"})
    node.cgroup("system.slice/slurmstepd.scope/job_7/step_0", 71)
    found = workloads(node, gpu_order={"0": "0000:1a:00.0", "2": "GPU-of-nobody"})
    shot = known(found, snapshot(view(0), view(1), view(2)))
    assert [bool(held) for held in owners(shot)] == [False, False, True]


def test_prolog_files_of_both_layouts(node: FakeNode) -> None:
    whole = device(1)
    node.file("jobs/0", "41\n")
    node.file("jobs/1.2", "42\n")
    node.file(
        "amd/2", '{"SLURM_JOB_ID": "43", "SLURM_JOB_USER": "ada", "SLURM_JOB_PARTITION": "q"}'
    )
    part = msgspec.structs.replace(view(1), device=partition(whole, "gi2/ci0", MIG))
    found = workloads(node, job_dirs=(node.root / "jobs", node.root / "amd", node.root / "none"))
    shot = known(found, snapshot(view(0), view(1), part, view(2)))
    jobs = [[(one.job_id, one.user, one.queue) for one in held] for held in owners(shot)]
    assert jobs == [[("41", "", "")], [], [("42", "", "")], [("43", "ada", "q")]]
    states = [(one.state, one.entries) for one in found.status() if one.name == "job_dir"]
    assert states == [(SourceState.OK, 2), (SourceState.OK, 1), (SourceState.ABSENT, 0)]


def test_a_stale_prolog_file_is_noticed_where_slurm_keeps_cgroups(node: FakeNode) -> None:
    node.file("jobs/0", "41\n42\n")
    node.cgroup("system.slice/slurmstepd.scope/job_42/step_batch", 9)
    shot = known(workloads(node, job_dirs=(node.root / "jobs",)), snapshot(view(0)))
    assert [one.job_id for one in shot.devices[0].owners] == ["42"]


def test_garbage_in_all_files_of_a_folder_is_reported(node: FakeNode) -> None:
    node.file("jobs/0", "\x00\x01 what is this\n")
    found = workloads(node, job_dirs=(node.root / "jobs",))
    found.refresh()
    (status,) = [one for one in found.status() if one.name == "job_dir"]
    assert (status.state, status.reason) == (SourceState.FAILED, "protocol")


@pytest.mark.parametrize(
    ("variables", "job_id"),
    [({"PBS_JOBID": "12.pbs01"}, "12.pbs01"), ({"LSB_JOBID": "5", "LSFUSER": "ada"}, "5")],
)
def test_other_schedulers_by_the_environment(
    node: FakeNode, variables: dict[str, str], job_id: str
) -> None:
    start = node.process(71, "0::/user.slice\n", variables)
    shot = known(workloads(node), snapshot(with_processes(0, process(device(0), 71, start))))
    (owner,) = shot.devices[0].owners
    assert owner.job_id == job_id
    assert owner.user == variables.get("LSFUSER", "4242")
    assert (shot.devices[0].reading.processes or ())[0].job == job_id
