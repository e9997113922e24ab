"""Slurm's jobs with who they belong to and which devices they were given, idle ones included."""

from pathlib import Path

import msgspec

from accelwatch.node.workloads.sources import environ
from accelwatch.node.workloads.sources.environ import Job
from accelwatch.node.workloads.sources.job_cgroups import JobCgroup, JobCgroups
from accelwatch.system.kernel import proc

# The step whose SLURM_JOB_GPUS is of its own node. Those of a job on several nodes inherit it.
_BATCH = "batch"


class SlurmJobs:
    """Remembers each job until its processes change; for one thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # Valid while the job's cgroup has the same processes: the environment of a process does not
        # change after its start.
        self._cached: dict[str, tuple[JobCgroup, Job]] = {}
        # Jobs of which no process's environment could be read.
        self.unreadable = 0

    def of(self, cgroups: JobCgroups) -> dict[str, Job]:
        """Job id to job, for all jobs that have a cgroup."""
        jobs: dict[str, tuple[JobCgroup, Job]] = {}
        self.unreadable = 0
        for cgroup in cgroups.jobs:
            cached = self._cached.get(cgroup.job_id)
            job = cached[1] if cached is not None and cached[0] == cgroup else self._read(cgroup)
            jobs[cgroup.job_id] = (cgroup, job)
            self.unreadable += bool(cgroup.pids) and not job.queue and not job.indices
        self._cached = jobs
        return {job_id: job for job_id, (_, job) in jobs.items()}

    def _read(self, cgroup: JobCgroup) -> Job:
        job = Job(scheduler="slurm", job_id=cgroup.job_id)
        for pid, step in cgroup.pids:
            declared = environ.job(environ.read(self._root, pid) or {})
            if declared is None or (declared.scheduler, declared.job_id) != (
                "slurm",
                cgroup.job_id,
            ):
                continue
            job = joined(job, declared)
            here = declared.nodes == 1 or step == _BATCH
            indices = (declared.indices if here else ()) or declared.step_indices
            job = msgspec.structs.replace(
                job, indices=tuple(dict.fromkeys((*job.indices, *indices)))
            )
        if not job.user:
            job = msgspec.structs.replace(job, user=self._user(cgroup))
        return job

    def _user(self, cgroup: JobCgroup) -> str:
        """Owner of a process of the job; the extern step's may be root."""
        for pid, step in cgroup.pids:
            facts = proc.facts(self._root, pid) if step != "extern" else None
            if facts is not None and facts.uid:
                return environ.label(proc.user_name(facts.uid))
        return ""


def joined(job: Job, more: Job) -> Job:
    """The job with what it lacks filled from another source; device indices stay."""
    return msgspec.structs.replace(
        job,
        user=job.user or more.user,
        account=job.account or more.account,
        queue=job.queue or more.queue,
        name=job.name or more.name,
    )
