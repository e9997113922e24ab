"""Rows of the table: kinds of Kubernetes itself.

Sources: API reference and documentation of Kubernetes 1.31 to 1.37 (Jobs, Pod failure policy, Taints
and tolerations, API-initiated eviction); what a Job does was tried on kube-apiserver and
kube-controller-manager 1.37.2.
"""

from accelwatch_kubernetes.workloads.kinds.job_policy import evaluate_job
from accelwatch_kubernetes.workloads.kinds.kind import Kind, Texts
from accelwatch_kubernetes.workloads.kinds.other_policies import (
    evaluate_daemon,
    evaluate_replicas,
    evaluate_stateful,
)
from accelwatch_kubernetes.workloads.kinds.outcome import unchanged
from accelwatch_kubernetes.workloads.kinds.pod_counts import (
    failed_pods,
    pods_of_job,
    pods_of_replicas,
)

RUNS_ON = "its pods run on; new ones avoid the node"
_AS_EVICTION = "as an eviction, and no PodDisruptionBudget is checked"
_NEEDLESS = "not needed: what is evicted is replaced"

JOB = Kind(
    name="Job",
    group="batch",
    kind="Job",
    plural="jobs",
    versions=("v1",),
    evaluate=evaluate_job,
    suspend="spec.suspend",
    finished=("Complete", "SuccessCriteriaMet"),
    failed=("Failed", "FailureTarget"),
    pods=pods_of_job,
    restarts=failed_pods,
    texts=Texts(
        taint=RUNS_ON,
        eviction=(
            "without a podFailurePolicy a failure at once, and the replacement starts beside the "
            "old pod; with one the rule for DisruptionTarget decides, and the replacement waits "
            "until the old pod has ended"
        ),
        deletion="a failure: a deleted pod has no DisruptionTarget that a rule could match",
        no_execute=_AS_EVICTION,
        failure=(
            "more failed pods than backoffLimit (6), an index beyond backoffLimitPerIndex, or "
            "FailJob"
        ),
        restart=(
            "`spec.suspend: true` ends its pods and counts no failure, `false` starts it again; "
            "started before the old pods are gone, the new ones run beside them"
        ),
    ),
)
# Two runs may be under way at once, so each is a job of its own.
CRON_JOB = Kind(
    name="CronJob",
    group="batch",
    kind="CronJob",
    plural="cronjobs",
    versions=("v1",),
    evaluate=unchanged,
    is_job=False,
    texts=Texts(
        taint=RUNS_ON,
        eviction="as its Job; the next run starts by schedule",
        deletion="as its Job",
        no_execute="as its Job",
        failure="as its Job",
        restart="as its Job; the schedule is left alone",
    ),
)
DEPLOYMENT = Kind(
    name="Deployment",
    group="apps",
    kind="Deployment",
    plural="deployments",
    versions=("v1",),
    evaluate=unchanged,
    pods=pods_of_replicas,
    texts=Texts(
        taint=RUNS_ON,
        eviction="another pod starts at once, beside the old one",
        deletion="as an eviction, and no PodDisruptionBudget is checked",
        no_execute=_AS_EVICTION,
        failure="none",
        restart=_NEEDLESS,
    ),
)
REPLICA_SET = Kind(
    name="ReplicaSet",
    group="apps",
    kind="ReplicaSet",
    plural="replicasets",
    versions=("v1",),
    evaluate=evaluate_replicas,
    pods=pods_of_replicas,
    texts=DEPLOYMENT.texts,
)
STATEFUL_SET = Kind(
    name="StatefulSet",
    group="apps",
    kind="StatefulSet",
    plural="statefulsets",
    versions=("v1",),
    evaluate=evaluate_stateful,
    pods=pods_of_replicas,
    texts=Texts(
        taint=RUNS_ON,
        eviction="the same name starts again once the old pod is gone; on a silent node never",
        deletion="as an eviction, and no PodDisruptionBudget is checked",
        no_execute=_AS_EVICTION,
        failure="none",
        restart=_NEEDLESS,
    ),
)
DAEMON_SET = Kind(
    name="DaemonSet",
    group="apps",
    kind="DaemonSet",
    plural="daemonsets",
    versions=("v1",),
    evaluate=evaluate_daemon,
    is_job=False,
    texts=Texts(
        taint="its pods run on; one that is made again has to tolerate the taint",
        eviction="its pod starts on the same node again: left alone",
        deletion="as an eviction: left alone",
        no_execute="ends only where it does not tolerate the taint",
        failure="none",
        restart="never asked",
    ),
)
POD = Kind(
    name="Pod",
    group="",
    kind="Pod",
    plural="pods",
    versions=("v1",),
    evaluate=unchanged,
    texts=Texts(
        taint="runs on",
        eviction="gone for good: nothing replaces it",
        deletion="gone for good: nothing replaces it",
        no_execute="gone for good: nothing replaces it",
        failure="a container that ends, by its restartPolicy",
        restart="only its user can",
    ),
)

CORE_KINDS = (JOB, CRON_JOB, DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET, POD)
