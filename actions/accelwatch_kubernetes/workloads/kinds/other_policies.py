"""What kinds of apps/v1, LeaderWorkerSets and Kubeflow's older jobs make of pods that leave. Pure.

Sources: apps/v1 of the API reference; leaderworkerset.x-k8s.io/v1 of LWS 0.7; kubeflow.org/v1 of the
training operator 1.9; kubeflow.org/v2beta1 of the MPI operator 0.6.
"""

from accelwatch_kubernetes.objects.workload import Workload
from accelwatch_kubernetes.workloads.kinds.outcome import Departure, Fate, Outcome

# Label of a pod of a LeaderWorkerSet: 0 for the leader of its group.
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
# Label of a pod of Kubeflow's older jobs: `worker`, `master`, `launcher`.
REPLICA_TYPE = "training.kubeflow.org/replica-type"
# kubeflow.org RunPolicy.backoffLimit of the MPI operator's launcher Job.
_LAUNCHER_LIMIT = 6


def evaluate_replicas(_workload: Workload, _departure: Departure, _below: Outcome) -> Outcome:
    """ReplicaSets: another pod starts elsewhere at once."""
    return Outcome(fate=Fate.REPLACED, text="each pod is replaced at once, beside the old one")


def evaluate_stateful(_workload: Workload, _departure: Departure, _below: Outcome) -> Outcome:
    """StatefulSets: the same name again, once the old pod is gone."""
    text = "each pod is replaced under its name once the old one is gone, on a silent node never"
    return Outcome(fate=Fate.REPLACED, text=text)


def evaluate_daemon(_workload: Workload, _departure: Departure, _below: Outcome) -> Outcome:
    """DaemonSets: the same node again."""
    return Outcome(fate=Fate.UNCHANGED, text="the DaemonSet starts its pod on the same node again")


def evaluate_leader_worker(lws: Workload, departure: Departure, _below: Outcome) -> Outcome:
    """LeaderWorkerSets: the group restarts as a whole, unless its restartPolicy says otherwise."""
    policy = lws.text("spec.leaderWorkerTemplate.restartPolicy") or "RecreateGroupOnPodRestart"
    size = lws.number("spec.leaderWorkerTemplate.size") or 1
    leads = any(pod.metadata.labels.get(WORKER_INDEX) == "0" for pod in departure.pods)
    if policy.startswith("RecreateGroup"):
        text = (
            f"the LeaderWorkerSet recreates all {size} pods of the group (restartPolicy {policy})"
        )
    elif leads:
        text = f"the leader's {size - 1} workers go with it and are recreated"
    else:
        text = f"only the pod is replaced (restartPolicy {policy})"
        return Outcome(fate=Fate.REPLACED, text=text)
    return Outcome(fate=Fate.RESTARTED, text=text)


def evaluate_kubeflow(job: Workload, departure: Departure, below: Outcome) -> Outcome:
    """The training operator: a replica with restartPolicy Never that fails fails the job."""
    if below.is_fatal and below.fate is not Fate.LOST:
        return Outcome(
            fate=below.fate, text=f"{below.text}; so is the {job.kind}", reason=below.reason
        )
    types = {pod.metadata.labels.get(REPLICA_TYPE, "") for pod in departure.pods}
    policies = restart_policies(job, types)
    if job.kind == "MPIJob":
        return _launched(job)
    if "Never" in policies:
        text = (
            "restartPolicy Never: a replica that ends with an error before it is gone fails the "
            "job for good"
        )
        return Outcome(fate=Fate.ENDANGERED, text=text)
    return Outcome(
        fate=Fate.REPLACED,
        text="the replica is started again, under its name, once the old one is gone",
    )


def _launched(job: Workload) -> Outcome:
    limit = job.number("spec.runPolicy.backoffLimit")
    limit = _LAUNCHER_LIMIT if limit is None else limit
    text = "mpirun ends when it loses a worker, and the launcher's Job counts that as a failure"
    if limit == 0:
        return Outcome(fate=Fate.ENDANGERED, text=f"{text}: it is failed for good (backoffLimit 0)")
    return Outcome(fate=Fate.RESTARTED, text=f"{text} (backoffLimit {limit})")


def restart_policies(job: Workload, types: set[str]) -> set[str]:
    """Those of the replicas of some types, in small letters; of all where a pod says no type."""
    policies: set[str] = set()
    for name, specs in (job.spec or {}).items():
        if not name.endswith("ReplicaSpecs") or not isinstance(specs, dict):
            continue
        for kind, replica in specs.items():
            if isinstance(replica, dict) and ("" in types or kind.lower() in types):
                policies.add(str(replica.get("restartPolicy", "")))
    return policies
