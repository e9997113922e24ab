"""How many pods a workload has while it runs, by its own fields. Pure."""

from accelwatch_kubernetes.objects.workload import Fields, Workload


def pods_of_job(job: Workload) -> int | None:
    """No more than are left to complete run at once."""
    parallelism, completions = job.number("spec.parallelism"), job.number("spec.completions")
    parallelism = 1 if parallelism is None else parallelism
    if completions is None:
        return parallelism
    return min(parallelism, max(0, completions - (job.number("status.succeeded") or 0)))


def pods_of_jobset(jobset: Workload) -> int | None:
    """Of all its Jobs that have not succeeded: those that initialize a training end before it begins."""
    succeeded = {
        entry.get("name"): _integer(entry.get("succeeded"), 0)
        for entry in jobset.items("status.replicatedJobsStatus")
    }
    return sum(
        _of_template(jobset, entry, succeeded.get(entry.get("name"), 0))
        for entry in jobset.items("spec.replicatedJobs")
    )


def _of_template(jobset: Workload, entry: Fields, succeeded: int) -> int:
    count = pods_of_job(jobset.within(entry.get("template"))) or 0
    return count * max(0, _integer(entry.get("replicas"), 1) - succeeded)


def pods_of_volcano(job: Workload) -> int | None:
    """Of all its tasks, without those that have succeeded."""
    count = sum(_integer(task.get("replicas"), 1) for task in job.items("spec.tasks"))
    return max(0, count - (job.number("status.succeeded") or 0))


def pods_of_groups(lws: Workload) -> int | None:
    """Of all groups of a LeaderWorkerSet."""
    replicas = lws.number("spec.replicas")
    size = lws.number("spec.leaderWorkerTemplate.size")
    return (1 if replicas is None else replicas) * (1 if size is None else size)


def pods_of_replicas(workload: Workload) -> int | None:
    """Of what has `spec.replicas`."""
    replicas = workload.number("spec.replicas")
    return 1 if replicas is None else replicas


def pods_of_kubeflow(job: Workload) -> int | None:
    """Of all replica types of Kubeflow's older jobs, without those that have succeeded."""
    types = {
        type_: replica
        for name, specs in (job.spec or {}).items()
        if name.endswith("ReplicaSpecs") and isinstance(specs, dict)
        for type_, replica in specs.items()
        if isinstance(replica, dict)
    }
    return sum(
        max(
            0,
            _integer(replica.get("replicas"), 1)
            - (job.number(f"status.replicaStatuses.{type_}.succeeded") or 0),
        )
        for type_, replica in types.items()
    )


def pods_of_pod_sets(workload: Workload) -> int | None:
    """Of all podSets of a Kueue Workload."""
    return sum(_integer(entry.get("count"), 0) for entry in workload.items("spec.podSets"))


def _integer(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def failed_pods(job: Workload) -> int | None:
    """Of a plain Job; None where its containers restart within their pods, which it does not count."""
    template = job.value("spec.template.spec")
    policy = template.get("restartPolicy") if isinstance(template, dict) else None
    return None if policy == "OnFailure" else job.number("status.failed") or 0


def evictions(workload: Workload) -> int | None:
    """How often Kueue has evicted a Workload."""
    counts = (
        _integer(entry.get("count"), 0)
        for entry in workload.items("status.schedulingStats.evictions")
    )
    return sum(counts)


def retries(job: Workload) -> int | None:
    """Of a Volcano job."""
    return job.number("status.retryCount") or 0
