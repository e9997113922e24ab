"""Rows of the table: kinds that users install for batch work and training.

Sources, by row: the API types, controllers and documentation of JobSet 0.12, Kueue 0.19, LWS 0.7,
Kubeflow Trainer 2.3, training operator 1.9, MPI operator 0.6, Volcano 1.13.
"""

from accelwatch.action.observed import JobState
from accelwatch_kubernetes.workloads.kinds.core_kinds import RUNS_ON
from accelwatch_kubernetes.workloads.kinds.jobset_policy import (
    attempts_limit,
    evaluate_jobset,
    restarts_of,
)
from accelwatch_kubernetes.workloads.kinds.kind import Kind, Texts
from accelwatch_kubernetes.workloads.kinds.other_policies import (
    evaluate_kubeflow,
    evaluate_leader_worker,
)
from accelwatch_kubernetes.workloads.kinds.outcome import unchanged
from accelwatch_kubernetes.workloads.kinds.pod_counts import (
    evictions,
    pods_of_groups,
    pods_of_jobset,
    pods_of_kubeflow,
    pods_of_pod_sets,
    pods_of_volcano,
    retries,
)
from accelwatch_kubernetes.workloads.kinds.volcano_policy import evaluate_volcano

_AS_JOB = "as the Job that the pod is of"

JOB_SET = Kind(
    name="JobSet",
    group="jobset.x-k8s.io",
    kind="JobSet",
    plural="jobsets",
    versions=("v1alpha2",),
    evaluate=evaluate_jobset,
    is_gang=True,
    suspend="spec.suspend",
    finished=("Completed",),
    failed=("Failed",),
    pods=pods_of_jobset,
    restarts=restarts_of,
    restart_limit=attempts_limit,
    texts=Texts(
        taint=RUNS_ON,
        eviction=(
            f"{_AS_JOB}; where that fails the Job, all Jobs restart: with `Recreate` each as soon "
            "as its own old pods are gone, with `BlockingRecreate` only once all old pods are, "
            "so a silent node keeps all of them waiting; with `InPlaceRestart` its other pods restart "
            "in place, one of maxRestarts each time"
        ),
        deletion=_AS_JOB,
        no_execute=f"{_AS_JOB}; no PodDisruptionBudget is checked",
        failure=(
            "a failed Job without failurePolicy, after maxRestarts, or by a rule with FailJobSet"
        ),
        restart=(
            "`spec.suspend: true` suspends all Jobs and counts no restart, `false` starts them "
            "again; with `InPlaceRestart` that is one of maxRestarts, and refused where none is left"
        ),
    ),
)
# A TrainJob that has failed runs again when its JobSet is deleted (trainer#3737): nothing below the
# topmost object is ever changed.
TRAIN_JOB = Kind(
    name="TrainJob",
    group="trainer.kubeflow.org",
    kind="TrainJob",
    plural="trainjobs",
    versions=("v1alpha1",),
    evaluate=unchanged,
    is_gang=True,
    suspend="spec.suspend",
    finished=("Complete",),
    failed=("Failed",),
    texts=Texts(
        taint=RUNS_ON,
        eviction="as its JobSet",
        deletion=(
            "as its JobSet; the JobSet itself is never deleted: a failed TrainJob would run again"
        ),
        no_execute="as its JobSet",
        failure="as its JobSet",
        restart="`spec.suspend`, as its JobSet",
    ),
)
# The queue of a job, and the job itself where bare pods form a group.
KUEUE_WORKLOAD = Kind(
    name="Workload",
    group="kueue.x-k8s.io",
    kind="Workload",
    plural="workloads",
    versions=("v1beta2", "v1beta1"),
    evaluate=unchanged,
    is_gang=True,
    suspend="spec.active",
    suspended=False,
    finished=("Finished",),
    pods=pods_of_pod_sets,
    restarts=evictions,
    texts=Texts(
        taint=(
            "without topology-aware scheduling nothing; with it, from 0.19 on, the node is "
            "replaced once all pods of the Workload there have ended, and all its pods are "
            "evicted where it loses two nodes"
        ),
        eviction=(
            "as its job; with topology-aware scheduling before 0.19 the replacement is pinned to "
            "the same node and never starts (kueue#14917)"
        ),
        deletion="as an eviction",
        no_execute="from 0.19 on Kueue ends its pods there at once (TerminatedByKueue)",
        failure="as its job",
        restart=(
            "`spec.active: false` of the Workload evicts all its pods, `true` queues it again; "
            "`suspend` of a job in a queue is Kueue's own, and Kueue sets it back"
        ),
    ),
)
LEADER_WORKER_SET = Kind(
    name="LeaderWorkerSet",
    group="leaderworkerset.x-k8s.io",
    kind="LeaderWorkerSet",
    plural="leaderworkersets",
    versions=("v1",),
    evaluate=evaluate_leader_worker,
    is_gang=True,
    pods=pods_of_groups,
    texts=Texts(
        taint=RUNS_ON,
        eviction=(
            "all pods of the group restart, with restartPolicy `None` only the pod; a leader's "
            "always"
        ),
        deletion="as an eviction, and no PodDisruptionBudget is checked",
        no_execute="as an eviction, and no PodDisruptionBudget is checked",
        failure="none",
        restart="not needed: the eviction restarts the group",
    ),
)
# Phases of batch.volcano.sh/v1alpha1 JobState.
_VOLCANO_PHASES = {
    "Pending": JobState.WAITING,
    "Running": JobState.RUNNING,
    "Restarting": JobState.COMPLETING,
    "Aborting": JobState.COMPLETING,
    "Aborted": JobState.HELD,
    "Completing": JobState.COMPLETING,
    "Completed": JobState.FINISHED,
    "Terminating": JobState.COMPLETING,
    "Terminated": JobState.FINISHED,
    "Failed": JobState.FINISHED,
}
VOLCANO_JOB = Kind(
    name="vcjob",
    group="batch.volcano.sh",
    kind="Job",
    plural="jobs",
    versions=("v1alpha1",),
    evaluate=evaluate_volcano,
    is_gang=True,
    phase="status.state.phase",
    phases=_VOLCANO_PHASES,
    failed_phases=frozenset({"Terminated", "Failed"}),
    pods=pods_of_volcano,
    restarts=retries,
    texts=Texts(
        taint=(
            f"{RUNS_ON}; a job that has finished runs again when the Node object is deleted "
            "(volcano#3296)"
        ),
        eviction=(
            "the policy of task or job for PodFailed or PodEvicted, whichever comes first; "
            "`RestartTask` triggers itself up to maxRetry; without a policy the pod is replaced"
        ),
        deletion="as an eviction, and no PodDisruptionBudget is checked",
        no_execute="as an eviction, and no PodDisruptionBudget is checked",
        failure="maxRetry (3) restarts, `TerminateJob`, `CompleteJob`",
        restart="never asked: its own Command `RestartJob` counts as a retry",
    ),
)
# For pods that no Volcano job owns, by their annotation.
POD_GROUP = Kind(
    name="PodGroup",
    group="scheduling.volcano.sh",
    kind="PodGroup",
    plural="podgroups",
    versions=("v1beta1",),
    evaluate=unchanged,
    is_gang=True,
    texts=Texts(
        taint=RUNS_ON,
        eviction=(
            "as the pod's own controller; without one it is gone for good, and the group lacks it"
        ),
        deletion="as an eviction, and no PodDisruptionBudget is checked",
        no_execute="as an eviction, and no PodDisruptionBudget is checked",
        failure="none of its own",
        restart="only its user can",
    ),
)
_KUBEFLOW_TEXTS = Texts(
    taint=RUNS_ON,
    eviction=(
        "the replica starts again under its name; with restartPolicy `Never` one whose containers "
        "end with an error before it is gone fails the job"
    ),
    deletion="as an eviction, and no PodDisruptionBudget is checked",
    no_execute="as an eviction, and no PodDisruptionBudget is checked",
    failure="a failed replica with restartPolicy `Never`, or runPolicy.backoffLimit",
    restart="`spec.runPolicy.suspend: true` ends its pods, `false` starts it again",
)


def _kubeflow(
    kind: str, versions: tuple[str, ...] = ("v1",), texts: Texts = _KUBEFLOW_TEXTS
) -> Kind:
    return Kind(
        name=kind,
        group="kubeflow.org",
        kind=kind,
        plural=f"{kind.lower()}s",
        versions=versions,
        evaluate=evaluate_kubeflow,
        is_gang=True,
        suspend="spec.runPolicy.suspend",
        finished=("Succeeded",),
        failed=("Failed",),
        pods=pods_of_kubeflow,
        texts=texts,
    )


_MPI_TEXTS = Texts(
    taint=RUNS_ON,
    eviction=(
        "mpirun ends when it loses a worker; the launcher's Job counts that against backoffLimit "
        "(6)"
    ),
    deletion="as an eviction, and no PodDisruptionBudget is checked",
    no_execute="as an eviction, and no PodDisruptionBudget is checked",
    failure="the launcher's Job: runPolicy.backoffLimit",
    restart="`spec.runPolicy.suspend: true` ends its pods, `false` starts it again",
)
# The training operator serves kubeflow.org/v1 of all; the MPI operator v2beta1 of MPIJob.
KUBEFLOW_KINDS = (
    _kubeflow("PyTorchJob"),
    _kubeflow("TFJob"),
    _kubeflow("JAXJob"),
    _kubeflow("XGBoostJob"),
    _kubeflow("PaddleJob"),
    _kubeflow("MPIJob", ("v2beta1", "v1"), _MPI_TEXTS),
)

BATCH_KINDS = (
    JOB_SET,
    TRAIN_JOB,
    KUEUE_WORKLOAD,
    LEADER_WORKER_SET,
    VOLCANO_JOB,
    POD_GROUP,
    *KUBEFLOW_KINDS,
)
