"""Batch jobs by a process's environment: a table of schedulers and the variables they set.

Environments hold secrets. Only the variables named in the table are ever kept.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from accelwatch.node.workloads.settings import BACKENDAI

# The kernel lets arguments and environment together be larger only with a larger stack limit.
MAX_ENVIRON_BYTES = 2 << 20
_MAX_VALUE = 128
_UNFIT = re.compile(r"[^\x20-\x7e]")


class Scheduler(msgspec.Struct, frozen=True, kw_only=True):
    """Variables of one scheduler; of several names for a thing the first that is set counts."""

    name: str
    # All must be set for the environment to be this scheduler's.
    variables: tuple[str, ...]
    job_id: tuple[str, ...] = ()
    # What people call it.
    job_name: str = ""
    # Index within a job array, where the id is the same for all of it.
    task: str = ""
    user: tuple[str, ...] = ()
    # Whether a user may be called by an e-mail address, which is nobody's to read: the next name counts.
    mailed: bool = False
    account: tuple[str, ...] = ()
    queue: tuple[str, ...] = ()
    # A list of the node's own device indices.
    indices: str = ""
    step_indices: str = ""
    # Number of nodes of the job.
    nodes: str = ""
    # The part of the job that is one container.
    kernel: str = ""


# From each scheduler's manual, chapter on the job environment; the first that fits counts.
#
# HTCondor gives a job its devices, but not its own number.
SCHEDULERS: tuple[Scheduler, ...] = (
    Scheduler(
        name="slurm",
        variables=("SLURM_JOB_ID",),
        job_id=("SLURM_JOB_ID",),
        user=("SLURM_JOB_USER",),
        account=("SLURM_JOB_ACCOUNT",),
        queue=("SLURM_JOB_PARTITION",),
        indices="SLURM_JOB_GPUS",
        step_indices="SLURM_STEP_GPUS",
        nodes="SLURM_JOB_NUM_NODES",
    ),
    Scheduler(
        name="pbs",
        variables=("PBS_JOBID",),
        job_id=("PBS_JOBID",),
        user=("PBS_O_LOGNAME",),
        account=("PBS_ACCOUNT",),
        queue=("PBS_QUEUE", "PBS_O_QUEUE"),
    ),
    Scheduler(
        name="lsf",
        variables=("LSB_JOBID",),
        job_id=("LSB_JOBID",),
        task="LSB_JOBINDEX",
        user=("LSFUSER",),
        account=("LSB_PROJECT_NAME",),
        queue=("LSB_QUEUE",),
    ),
    Scheduler(name="flux", variables=("FLUX_JOB_ID",), job_id=("FLUX_JOB_ID",)),
    Scheduler(
        name="sge",
        variables=("JOB_ID", "SGE_ROOT"),
        job_id=("JOB_ID",),
        task="SGE_TASK_ID",
        user=("SGE_O_LOGNAME",),
        account=("SGE_ACCOUNT",),
        queue=("QUEUE",),
    ),
    Scheduler(name="htcondor", variables=("_CONDOR_AssignedGPUs",)),
    # A session is known by its id: names are used again. BACKENDAI_ACCESS_KEY and BACKENDAI_USER_EMAIL
    # stand beside these and are never kept. Project and resource group are in no variable.
    Scheduler(
        name=BACKENDAI,
        variables=("BACKENDAI_SESSION_ID",),
        job_id=("BACKENDAI_SESSION_ID",),
        job_name="BACKENDAI_SESSION_NAME",
        user=("BACKENDAI_USER_NAME", "BACKENDAI_USER_UUID"),
        mailed=True,
        kernel="BACKENDAI_KERNEL_ID",
    ),
)

_KEPT = frozenset(
    name
    for row in SCHEDULERS
    for name in (
        *row.variables,
        *row.job_id,
        *row.user,
        *row.account,
        *row.queue,
        row.task,
        row.job_name,
        row.indices,
        row.step_indices,
        row.nodes,
        row.kernel,
    )
    if name
)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A batch job as a process's environment or a prolog file describes it."""

    scheduler: str
    job_id: str
    user: str = ""
    account: str = ""
    queue: str = ""
    # What people call it.
    name: str = ""
    # Of a Backend.AI session: the container of it that is meant.
    kernel: str = ""
    # Node-wide device indices of the whole job.
    indices: tuple[str, ...] = ()
    step_indices: tuple[str, ...] = ()
    nodes: int = 1


def read(root: Path, pid: int) -> dict[str, str] | None:
    """The known variables of a process; None when it is gone or not ours to read."""
    try:
        with (root / "proc" / str(pid) / "environ").open("rb") as file:
            content = file.read(MAX_ENVIRON_BYTES)
    except OSError:
        return None
    return recognised_variables(content)


def recognised_variables(content: bytes) -> dict[str, str]:
    """The known variables among NUL-separated ones, as short printable text; the last value counts."""
    return dict(recognised_entries(content, b"\0"))


def recognised_entries(content: bytes, separator: bytes) -> Iterator[tuple[str, str]]:
    """Name and value of each known variable, in their order; a name may come again."""
    for entry in content.split(separator):
        name, equals, value = entry.partition(b"=")
        if equals and len(name) < 32 and (text := name.decode("latin-1")) in _KEPT:
            yield text, label(value.decode("utf-8", "replace"))


def label(value: str) -> str:
    """A value a stranger wrote, fit for a label: printable ASCII, at most 128 characters."""
    return _UNFIT.sub("?", value.strip()[:_MAX_VALUE])


def job(variables: Mapping[str, str], only: str = "") -> Job | None:
    """The batch job these variables are of, if any; of one scheduler `only` where that is known."""
    for row in SCHEDULERS:
        if (not only or row.name == only) and all(
            variables.get(variable) for variable in row.variables
        ):
            return _job(row, variables)
    return None


def _job(row: Scheduler, variables: Mapping[str, str]) -> Job:
    def first(names: tuple[str, ...]) -> str:
        return next((variables[name] for name in names if variables.get(name)), "")

    users = [variables[name] for name in row.user if variables.get(name)]
    if row.mailed:
        users = [user for user in users if "@" not in user]
    job_id, task = first(row.job_id), variables.get(row.task, "")
    nodes = variables.get(row.nodes, "")
    return Job(
        scheduler=row.name,
        job_id=f"{job_id}[{task}]" if task.isdigit() and task != "0" else job_id,
        user=next(iter(users), ""),
        account=first(row.account),
        queue=first(row.queue),
        name=variables.get(row.job_name, ""),
        kernel=variables.get(row.kernel, ""),
        indices=index_list(variables.get(row.indices, "")),
        step_indices=index_list(variables.get(row.step_indices, "")),
        nodes=int(nodes) if nodes.isascii() and nodes.isdigit() and len(nodes) < 8 else 1,
    )


def index_list(text: str) -> tuple[str, ...]:
    """`0,2-4` as ("0", "2", "3", "4"); a part that is no number or range is left out."""
    indices: list[str] = []
    for field in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,4})(?:-(\d{1,4}))?\s*", field, re.ASCII)
        if match:
            first, last = int(match[1]), int(match[2] or match[1])
            indices += [str(number) for number in range(first, min(last, first + 255) + 1)]
    return tuple(dict.fromkeys(indices))
