"""Batch jobs by environment: the right variables, and no others."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.node.workloads.sources import environ
from accelwatch.node.workloads.sources.environ import Job
from node.workloads.fake_node import FakeNode

SLURM = {
    "SLURM_JOB_ID": "771",
    "SLURM_JOB_USER": "ada",
    "SLURM_JOB_ACCOUNT": "physics",
    "SLURM_JOB_PARTITION": "h100",
    "SLURM_JOB_GPUS": "0,2-3",
    "SLURM_STEP_GPUS": "2",
    "SLURM_JOB_NUM_NODES": "2",
}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (
            SLURM,
            Job(
                scheduler="slurm",
                job_id="771",
                user="ada",
                account="physics",
                queue="h100",
                indices=("0", "2", "3"),
                step_indices=("2",),
                nodes=2,
            ),
        ),
        (
            {"PBS_JOBID": "12.pbs01", "PBS_O_LOGNAME": "ada", "PBS_QUEUE": "workq"},
            Job(scheduler="pbs", job_id="12.pbs01", user="ada", queue="workq"),
        ),
        (
            {
                "LSB_JOBID": "5",
                "LSB_JOBINDEX": "3",
                "LSFUSER": "ada",
                "LSB_PROJECT_NAME": "p",
                "LSB_QUEUE": "normal",
            },
            Job(scheduler="lsf", job_id="5[3]", user="ada", account="p", queue="normal"),
        ),
        ({"LSB_JOBID": "5", "LSB_JOBINDEX": "0"}, Job(scheduler="lsf", job_id="5")),
        ({"FLUX_JOB_ID": "ƒ2n4"}, Job(scheduler="flux", job_id="?2n4")),
        (
            {"JOB_ID": "9", "SGE_ROOT": "/opt/sge", "SGE_TASK_ID": "undefined", "QUEUE": "gpu.q"},
            Job(scheduler="sge", job_id="9", queue="gpu.q"),
        ),
        ({"JOB_ID": "9"}, None),
        (
            {"_CONDOR_AssignedGPUs": "GPU-0a1b2c3d", "_CONDOR_SLOT": "slot1_2"},
            Job(scheduler="htcondor", job_id=""),
        ),
        (
            {
                "BACKENDAI_SESSION_ID": "5a0e0000-0000-4000-8000-000000000007",
                "BACKENDAI_SESSION_NAME": "pretraining",
                "BACKENDAI_KERNEL_ID": "5a0e0000-0000-4000-8000-000000000008",
                "BACKENDAI_USER_NAME": "ada",
                "BACKENDAI_USER_UUID": "5a0e0000-0000-4000-8000-000000000009",
            },
            Job(
                scheduler="backendai",
                job_id="5a0e0000-0000-4000-8000-000000000007",
                name="pretraining",
                kernel="5a0e0000-0000-4000-8000-000000000008",
                user="ada",
            ),
        ),
        (
            {
                "BACKENDAI_SESSION_ID": "7",
                "BACKENDAI_USER_NAME": "ada@example.com",
                "BACKENDAI_USER_UUID": "9",
            },
            Job(scheduler="backendai", job_id="7", user="9"),
        ),
        (
            {"BACKENDAI_SESSION_ID": "7", "SLURM_JOB_ID": "771"},
            Job(scheduler="slurm", job_id="771"),
        ),
        ({"HOME": "/root"}, None),
        ({"SLURM_JOB_ID": ""}, None),
    ],
)
def test_schedulers(node: FakeNode, variables: dict[str, str], expected: Job | None) -> None:
    node.process(5, environ=variables)
    assert environ.job(environ.read(node.root, 5) or {}) == expected


def test_only_named_variables_are_kept(node: FakeNode) -> None:
    secrets = {
        "AWS_SECRET_ACCESS_KEY": "hush",
        "SLURM_JWT": "hush",
        "BACKENDAI_ACCESS_KEY": "hush",
        "BACKENDAI_USER_EMAIL": "ada@example.com",
        "PATH": "/bin",
    }
    node.process(5, environ=SLURM | secrets)
    assert environ.read(node.root, 5) == SLURM


def test_a_strangers_values_are_fit_for_labels(node: FakeNode) -> None:
    user = 'a\n"b\x1b[31m' + "x" * 500
    node.process(5, environ={"SLURM_JOB_ID": "1", "SLURM_JOB_USER": user})
    found = environ.read(node.root, 5) or {}
    assert found["SLURM_JOB_USER"].startswith('a?"b?[31mxxx')
    assert len(found["SLURM_JOB_USER"]) == 128


def test_a_process_that_is_gone_or_not_ours(node: FakeNode) -> None:
    assert environ.read(node.root, 99) is None
    node.process(5)
    (node.root / "proc/5/environ").unlink()
    (node.root / "proc/5/environ").mkdir()
    assert environ.read(node.root, 5) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("3", ("3",)),
        ("0,1", ("0", "1")),
        ("1-3,2", ("1", "2", "3")),
        ("3-1", ()),
        ("a,-1,1-,99999", ()),
        ("0-9999", tuple(str(number) for number in range(256))),
    ],
)
def test_lists_of_indices(text: str, expected: tuple[str, ...]) -> None:
    assert environ.index_list(text) == expected


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_content_is_read(content: bytes) -> None:
    environ.job(environ.recognised_variables(content))
    environ.job(environ.recognised_variables(b"SLURM_JOB_ID=1\0SLURM_JOB_GPUS=" + content))


def test_the_folder_of_a_process_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/7").write_text("")
    assert environ.read(tmp_path, 7) is None
