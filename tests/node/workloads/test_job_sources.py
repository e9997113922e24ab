"""Slurm's cgroups and the files of prologs, healthy and not."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.backend.kit.grpc.failure import SourceError
from accelwatch.node.workloads.gather import without_finished
from accelwatch.node.workloads.sources import cgroup_tree, job_cgroups, job_files
from accelwatch.node.workloads.sources.environ import Job
from accelwatch.node.workloads.sources.job_cgroups import JobCgroup
from accelwatch.node.workloads.sources.job_files import JobFile
from accelwatch.node.workloads.sources.slurm import SlurmJobs
from node.workloads.fake_node import FakeNode


def ids(*job_ids: str) -> tuple[Job, ...]:
    return tuple(Job(scheduler="slurm", job_id=one) for one in job_ids)


def test_v2_jobs_with_their_steps(node: FakeNode) -> None:
    top = "system.slice/slurmstepd.scope"
    node.cgroup(f"{top}/system", 9)
    node.cgroup(f"{top}/job_7/step_batch/user/task_special", 70)
    node.cgroup(f"{top}/job_7/step_0/user/task_0", 71, 72)
    node.cgroup(f"{top}/job_8/step_extern/user/task_special", 80)
    node.cgroup(f"{top}/job_9")
    found = job_cgroups.read(node.root)
    assert found.slurm
    assert found.jobs == (
        JobCgroup(job_id="7", pids=((71, "0"), (72, "0"), (70, "batch"))),
        JobCgroup(job_id="8", pids=((80, "extern"),)),
        JobCgroup(job_id="9"),
    )


def test_v1_jobs_are_not_counted_once_per_controller(node: FakeNode) -> None:
    for controller in ("cpuset", "devices", "memory"):
        node.cgroup(f"{controller}/slurm/uid_1000/job_7/step_0", 71)
        node.cgroup(f"{controller}/slurm_gpu01/uid_1000/job_8/step_batch/task_0", 81)
    found = job_cgroups.read(node.root)
    assert found.jobs == (
        JobCgroup(job_id="7", pids=((71, "0"),)),
        JobCgroup(job_id="8", pids=((81, "batch"),)),
    )


def test_no_slurm_here(node: FakeNode) -> None:
    assert not job_cgroups.read(node.root).slurm
    node.cgroup("system.slice/slurmd.service", 5)
    node.cgroup("kubepods.slice/slurm/job_5", 5)
    assert not job_cgroups.read(node.root).slurm


def test_garbage_among_pids(node: FakeNode) -> None:
    node.file(
        "sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/cgroup.procs",
        b"0\n12\nabc\n-3\n99999999999999\n\xff\n",
    )
    assert job_cgroups.read(node.root).jobs[0].pids == ((12, ""),)


def test_a_huge_tree_is_looked_at_in_part(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup_tree, "MAX_FOLDERS", 40)
    for number in range(60):
        node.cgroup(f"system.slice/slurmstepd.scope/job_{number}/step_0/user/task_0", number + 1)
    found = job_cgroups.read(node.root)
    assert found.slurm
    assert 0 < len(found.jobs) < 60


def test_an_idle_job_reports_its_devices_and_owner(node: FakeNode) -> None:
    top = "system.slice/slurmstepd.scope/job_7"
    node.cgroup(f"{top}/step_extern", 70)
    node.cgroup(f"{top}/step_batch", 71)
    node.process(70, uid=0)
    node.process(
        71,
        environ={
            "SLURM_JOB_ID": "7",
            "SLURM_JOB_USER": "ada",
            "SLURM_JOB_PARTITION": "h100",
            "SLURM_JOB_GPUS": "0,3",
        },
    )
    found = SlurmJobs(node.root).of(job_cgroups.read(node.root))
    job = Job(scheduler="slurm", job_id="7", user="ada", queue="h100", indices=("0", "3"))
    assert found == {"7": job}


@pytest.mark.parametrize(
    ("step", "variables", "expected"),
    [
        ("batch", {"SLURM_JOB_GPUS": "1,2", "SLURM_JOB_NUM_NODES": "1"}, ("1", "2")),
        ("batch", {"SLURM_JOB_GPUS": "1,2", "SLURM_JOB_NUM_NODES": "2"}, ("1", "2")),
        (
            "0",
            {"SLURM_JOB_GPUS": "1,2", "SLURM_STEP_GPUS": "0,1", "SLURM_JOB_NUM_NODES": "2"},
            ("0", "1"),
        ),
        (
            "0",
            {"SLURM_JOB_GPUS": "1,2", "SLURM_STEP_GPUS": "2", "SLURM_JOB_NUM_NODES": "1"},
            ("1", "2"),
        ),
        ("0", {"SLURM_STEP_GPUS": "0", "SLURM_JOB_NUM_NODES": "1"}, ("0",)),
        ("0", {"SLURM_JOB_GPUS": "1,2", "SLURM_JOB_NUM_NODES": "2"}, ()),
        ("extern", {}, ()),
    ],
    ids=[
        "batch",
        "batch of 2 nodes",
        "second node",
        "step of 1 node",
        "srun alone",
        "no list",
        "extern",
    ],
)
def test_which_list_of_devices_counts(
    node: FakeNode, step: str, variables: dict[str, str], expected: tuple[str, ...]
) -> None:
    """As Slurm 22.05 sets them: a step on the second node inherits SLURM_JOB_GPUS of the first, a job
    begun by srun alone has SLURM_STEP_GPUS only, the extern step has no variables of the job."""
    node.cgroup(f"system.slice/slurmstepd.scope/job_7/step_{step}/user/task_0", 71)
    node.process(71, environ={"SLURM_JOB_ID": "7"} | variables)
    found = SlurmJobs(node.root).of(job_cgroups.read(node.root))
    assert found["7"].indices == expected


def test_a_nested_environment_of_another_job_is_not_believed(node: FakeNode) -> None:
    node.cgroup("system.slice/slurmstepd.scope/job_7/step_0", 71)
    node.process(
        71,
        uid=60_123,
        environ={"SLURM_JOB_ID": "6", "SLURM_JOB_GPUS": "0", "SLURM_JOB_USER": "eve"},
    )
    slurm = SlurmJobs(node.root)
    found = slurm.of(job_cgroups.read(node.root))
    assert found["7"] == Job(scheduler="slurm", job_id="7", user="60123")
    assert slurm.unreadable == 1


def test_a_job_is_read_again_only_when_its_processes_change(node: FakeNode) -> None:
    node.cgroup("system.slice/slurmstepd.scope/job_7/step_0", 71)
    node.process(71, environ={"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "0"})
    slurm = SlurmJobs(node.root)
    first = slurm.of(job_cgroups.read(node.root))
    (node.root / "proc/71/environ").unlink()
    assert slurm.of(job_cgroups.read(node.root)) == first
    node.process(72, environ={"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "1"})
    node.cgroup("system.slice/slurmstepd.scope/job_7/step_1", 72)
    assert slurm.of(job_cgroups.read(node.root))["7"].indices == ("1",)
    (node.root / "sys/fs/cgroup/system.slice/slurmstepd.scope/job_7").rename(node.root / "gone")
    assert slurm.of(job_cgroups.read(node.root)) == {}


def test_files_with_a_job_id_a_line(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("4711\n")
    (tmp_path / "1.3").write_text("4711\n\n4712\n4711\n")
    (tmp_path / "2").write_text("")
    (tmp_path / "README").write_text("not a device")
    files, unread = job_files.read(tmp_path)
    assert unread == 0
    assert files == (
        JobFile(index=0, jobs=ids("4711")),
        JobFile(index=1, gpu_instance=3, jobs=ids("4711", "4712")),
    )


def test_files_with_an_object(tmp_path: Path) -> None:
    content = {
        "SLURM_JOB_ID": "31",
        "SLURM_JOB_USER": "ada",
        "SLURM_JOB_PARTITION": "mi300",
        "SLURM_CLUSTER_NAME": "c",
        "SLURM_JOB_GPUS": "0,1",
        "CUDA_VISIBLE_DEVICES": "0",
    }
    (tmp_path / "5").write_text(json.dumps(content))
    (tmp_path / "6").write_text('{"SLURM_JOB_ID": 32}')
    (tmp_path / "7").write_text("{}")
    files, unread = job_files.read(tmp_path)
    assert unread == 0
    assert files == (
        JobFile(index=5, jobs=(Job(scheduler="slurm", job_id="31", user="ada", queue="mi300"),)),
        JobFile(index=6, jobs=ids("32")),
    )


def test_files_that_are_none_of_both(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("# comment with spaces\n")
    (tmp_path / "1").write_bytes(b"\x00\xff\x01" * 100)
    (tmp_path / "2").write_text('{"SLURM_JOB_ID": "31"')
    (tmp_path / "3").mkdir()
    (tmp_path / "4").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "5")
    (tmp_path / "6").write_text("8\n")
    files, unread = job_files.read(tmp_path)
    assert files == (JobFile(index=6, jobs=ids("8")),)
    assert unread == 6


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        job_files.read(tmp_path / "none")
    assert caught.value.reason == "absent"


def test_ended_jobs_are_left_out_where_slurm_reports() -> None:
    file = JobFile(index=0, jobs=ids("1", "2", "12.pbs"))
    assert without_finished(file, None) == file
    assert without_finished(file, frozenset({"2"})).jobs == ids("2", "12.pbs")


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_content_of_a_file(content: bytes) -> None:
    for job in job_files.parse(content) or ():
        assert job.scheduler == "slurm"
        assert job.job_id.isprintable()
