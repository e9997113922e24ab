"""A job as `scontrol --oneliner show job` prints it, and jobs on nodes as squeue does. Pure."""

import re
from typing import NamedTuple

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import JobState
from accelwatch.api_client.slurm.scontrol_text import pairs_of
from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import expand, listed
from accelwatch_slurm.texts.node_text import time_of

_RUNNING = frozenset({"RUNNING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING"})
_COMPLETING = frozenset({"COMPLETING", "STAGE_OUT"})
_WAITING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED"})
_HELD = frozenset({"SPECIAL_EXIT", "REQUEUE_HOLD", "RESV_DEL_HOLD"})
_FINISHED = frozenset(
    {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL"}
    | {"DEADLINE", "OUT_OF_MEMORY", "REVOKED", "LAUNCH_FAILED", "RECONFIG_FAIL", "EXPIRED"}
)
# It ended before it should; not by a person's wish, a time limit or a job of more weight.
_DIED = frozenset(
    {"FAILED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "LAUNCH_FAILED", "RECONFIG_FAIL"}
)
_SEPARATORS = re.compile(r"[\s,;]+")
_ID = re.compile(r"(\d+)(?:_(\d+)|(\+\d+))?")
_SUBMIT_LINE = re.compile(r" SubmitLine=.*? WorkDir=")
# Id as users write it, time of submission, nodes, user, and the comment: what a user has written.
SQUEUE_FORMAT = "%i|%V|%N|%u|%k"
# A word of a job's comment: its user wants it restarted when it dies of itself.
RETRY = "accelwatch:retry"


class SlurmJob(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of a job. Times are Unix seconds of the controller's clock."""

    # By which commands know it: `5`, `5_7` of an array, `5+1` of a heterogeneous job.
    id: str
    # Its own number: that of a component or of an array's task is another than its job's.
    raw: str = ""
    # Slurm's own word for its state.
    slurm_state: str
    submitted: float = 0.0
    user: str = ""
    nodes: tuple[str, ...] = ()
    node_count: int = 0
    restarts: int = 0
    started: float | None = None
    may_start: float | None = None
    requeueable: bool = False
    batch: bool = False
    heterogeneous: bool = False
    priority: int | None = None
    reason: str = ""
    exclude: str = ""
    require: str = ""
    reservation: str = ""
    admin_comment: str = ""
    comment: str = ""
    expedited: bool = False
    # Status and signal, `1:0`.
    exit_code: str = ""
    # Whether it counts as one that has not run yet, which one that ends before it begins again does.
    is_fresh: bool = False

    @property
    def state(self) -> JobState:
        """How far it is; one in a state that is not known has to be waited for."""
        if self.slurm_state in _RUNNING:
            return JobState.RUNNING
        if self.slurm_state in _COMPLETING:
            return JobState.COMPLETING
        if self.slurm_state in _WAITING:
            return JobState.HELD if self.priority == 0 else JobState.WAITING
        if self.slurm_state in _HELD:
            return JobState.HELD
        return JobState.FINISHED if self.slurm_state in _FINISHED else JobState.COMPLETING

    @property
    def is_requeued(self) -> bool:
        """Whether it ends on its nodes only to be restarted, by Slurm itself, as soon as it has."""
        return self.slurm_state == "COMPLETING" and self.restarts > 0 and self.is_fresh

    @property
    def base_id(self) -> str:
        """By which commands know all of it: a heterogeneous job is requeued by its number alone."""
        return self.id.partition("+")[0]

    @property
    def handle(self) -> str:
        """By which an update knows it: Slurm accepts an empty list for `5` but not for `5+1`."""
        return self.raw if self.component else self.id

    @property
    def component(self) -> str:
        """Which part of a heterogeneous job it is, `+1`; empty for any other job."""
        return self.id[len(self.base_id) :]

    @property
    def died(self) -> bool:
        """Whether it has ended before it should."""
        return self.slurm_state in _DIED

    def is_of(self, key: JobKey) -> bool:
        """Whether it is the job of a key, and not a later one with the same id.

        A requeue sets the time of submission anew, so a later one is believed of a job that has been
        restarted.
        """
        if not key.submitted or self.submitted == key.submitted:
            return True
        return self.submitted > key.submitted and self.restarts > 0


def job_lines_of(text: str) -> list[str]:
    """The lines of jobs, each whole and without the line that its user submitted it by.

    Slurm 23.11 and later print that in the middle, with every line feed of a script that is in it.
    """
    jobs: list[str] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("JobId=") or not jobs:
            jobs.append(line)
        else:
            jobs[-1] = f"{jobs[-1]} {line}"
    return [_SUBMIT_LINE.sub(" WorkDir=", line, count=1) for line in jobs]


def job_of(line: str) -> SlurmJob | None:
    """The job of a line; None for a line that is none."""
    pairs = pairs_of(line)
    if not pairs.get("JobId") or not pairs.get("JobState"):
        return None
    return SlurmJob(
        id=_id(pairs),
        raw=pairs["JobId"],
        slurm_state=pairs["JobState"].split(",")[0],
        submitted=time_of(pairs.get("SubmitTime")) or 0.0,
        user=pairs.get("UserId", "").partition("(")[0],
        nodes=names_of(_text(pairs.get("NodeList"))),
        node_count=_number(pairs.get("NumNodes", "").partition("-")[0]) or 0,
        restarts=_number(pairs.get("Restarts")) or 0,
        started=time_of(pairs.get("StartTime")),
        may_start=time_of(pairs.get("EligibleTime")),
        requeueable=pairs.get("Requeue") == "1",
        batch=pairs.get("BatchFlag", "0") != "0",
        heterogeneous="HetJobId" in pairs,
        priority=_number(pairs.get("Priority")),
        reason=_text(pairs.get("Reason")),
        exclude=_text(pairs.get("ExcNodeList")),
        require=_text(pairs.get("ReqNodeList")),
        reservation=_text(pairs.get("Reservation")),
        admin_comment=_text(pairs.get("AdminComment")),
        comment=_text(pairs.get("Comment")),
        exit_code=pairs.get("ExitCode", ""),
        is_fresh=pairs.get("RunTime") == "00:00:00",
        expedited="EXPEDITED_REQUEUE" in pairs.get("Flags", ""),
    )


def _id(pairs: dict[str, str]) -> str:
    task = pairs.get("ArrayTaskId", "")
    if task.isdigit():
        return f"{pairs.get('ArrayJobId', pairs['JobId'])}_{task}"
    if "HetJobOffset" in pairs:
        return f"{pairs.get('HetJobId', pairs['JobId'])}+{pairs['HetJobOffset']}"
    return pairs["JobId"]


def _text(value: str | None) -> str:
    return "" if value is None or value in ("(null)", "N/A", "None", "Unknown") else value


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() else None


def names_of(text: str) -> tuple[str, ...]:
    """Names of nodes of `n[1-3],n7`; those of a range that makes no sense are left as they are."""
    names: list[str] = []
    for expression in listed(text):
        try:
            names += expand(expression)
        except UsageError:
            names.append(expression)
    return tuple(names)


class JobTable(NamedTuple):
    """The jobs that hold nodes."""

    by_node: dict[str, list[JobKey]]
    # Those whose comment has BEGIN_AGAIN.
    restartable: frozenset[JobKey]
    # Their users, by the job as users write it.
    owners: dict[str, str]


def job_table(text: str, cluster: str, prefix: str) -> JobTable:
    """The jobs of squeue's lines: `prefix`, which nobody else knows, then SQUEUE_FORMAT.

    A line of its own in a user's comment does not begin so.
    """
    by_node: dict[str, list[JobKey]] = {}
    again: set[JobKey] = set()
    owners: dict[str, str] = {}
    for line in text.splitlines():
        fields = line.removeprefix(prefix).split("|", 4)
        match = _ID.fullmatch(fields[0]) if line.startswith(prefix) and len(fields) == 5 else None
        if match is None:
            continue
        key = JobKey(cluster, match[1], time_of(fields[1]) or 0.0, match[2] or match[3] or "")
        owners[str(key)] = fields[3]
        if RETRY in _SEPARATORS.split(fields[4]):
            again.add(key)
        for node in names_of(fields[2]):
            by_node.setdefault(node, []).append(key)
    return JobTable(by_node, frozenset(again), owners)
