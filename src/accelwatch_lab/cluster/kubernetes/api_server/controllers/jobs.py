"""The Job controller: pods of a Job are created, counted and replaced until it is complete or failed."""

from collections import Counter
from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.controllers.deletion import delete_pod
from accelwatch_lab.cluster.kubernetes.api_server.controllers.job_conditions import (
    add_condition,
    suspend_or_start,
)
from accelwatch_lab.cluster.kubernetes.api_server.controllers.job_indexes import (
    indexes_of,
    with_index,
)
from accelwatch_lab.cluster.kubernetes.api_server.controllers.job_pods import (
    TRACKING,
    has_failed,
    index_of,
    is_active,
    is_terminating,
    new_pod,
    replaces_only_failed,
    verdict,
)
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import JOBS, PODS
from accelwatch_lab.cluster.kubernetes.api_server.verbs.deleting import is_over
from accelwatch_lab.cluster.kubernetes.api_server.verbs.eviction import is_ready
from accelwatch_lab.cluster.kubernetes.api_server.verbs.writing import generated

Object = dict[str, Any]
# The real controller's: the first replacement after ten seconds, then twice as late each time.
_BACKOFF_S, _LONGEST_BACKOFF_S = 10.0, 600.0


class JobController:
    """Of one server."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._store = cluster.store
        # Failures since the last success, and when the last one was, by uid of the Job.
        self._failures: dict[str, tuple[int, float]] = {}
        # Failures of each index, by uid of a Job that limits them.
        self._of_index: dict[str, Counter[int | None]] = {}

    def round(self) -> None:
        """Bring every Job and its pods up to date."""
        jobs = self._store.objects(JOBS)
        for job in jobs:
            if "deletionTimestamp" not in job["metadata"]:
                self._sync(job)
        uids = {job["metadata"]["uid"] for job in jobs}
        for pod in self._store.objects(PODS):
            owners = {owner["uid"] for owner in pod["metadata"].get("ownerReferences") or ()}
            if not owners & uids:
                self._release(pod)

    def _pods(self, job: Object) -> list[Object]:
        uid = job["metadata"]["uid"]
        return [
            pod
            for pod in self._store.objects(PODS, job["metadata"]["namespace"])
            if any(owner["uid"] == uid for owner in pod["metadata"].get("ownerReferences") or ())
        ]

    def _sync(self, job: Object) -> None:
        status: Object = dict(job["status"])
        conditions = {each["type"]: each for each in status.get("conditions", ())}
        over = "Complete" in conditions or "Failed" in conditions
        if not over:
            suspend_or_start(job, status, conditions, self._cluster.clock.text())
        for pod in self._pods(job):
            self._count(job, pod, status, conditions)
        if not over:
            self._conclude(job, status, conditions)
            self._scale(job, status, conditions)
        pods = self._pods(job)
        counts = {
            "active": sum(map(is_active, pods)),
            "ready": sum(is_ready(pod) for pod in pods if is_active(pod)),
            "terminating": sum(map(is_terminating, pods)),
        }
        status = {**status, **counts, "conditions": list(conditions.values())}
        # What is none is not written, but these two.
        kept = {
            key: value for key, value in status.items() if value or key in ("ready", "terminating")
        }
        if kept != job["status"]:
            self._store.put(JOBS, {**job, "status": kept})

    def _count(self, job: Object, pod: Object, status: Object, conditions: Object) -> None:
        """Count a pod that has finished, once: its finalizer says that it was not."""
        metadata = pod["metadata"]
        succeeded = pod["status"].get("phase") == "Succeeded"
        tracked = TRACKING in metadata.get("finalizers", ())
        if tracked and job["spec"].get("suspend") and is_terminating(pod):
            self._release(pod)  # what a suspension ends is no failure
            return
        if not tracked or not (succeeded or has_failed(pod, job)):
            return
        uid = job["metadata"]["uid"]
        if succeeded:
            status["succeeded"] = status.get("succeeded", 0) + 1
            self._failures.pop(uid, None)
            status["completedIndexes"] = with_index(
                status.get("completedIndexes", ""), index_of(pod)
            )
        else:
            action = verdict(job, pod)
            count = self._failures.get(uid, (0, 0.0))[0]
            self._failures[uid] = count + 1, self._cluster.clock.now()
            status["failed"] = status.get("failed", 0) + (action != "Ignore")
            if action == "Count":
                self._count_of_index(job, pod, status)
            if action == "FailJob":
                now = self._cluster.clock.text()
                message = "A rule of the pod failure policy matches"
                add_condition(conditions, now, "FailureTarget", "PodFailurePolicy", message)
        self._release(pod)

    def _count_of_index(self, job: Object, pod: Object, status: Object) -> None:
        limit, index = job["spec"].get("backoffLimitPerIndex"), index_of(pod)
        if limit is None:
            return
        failures = self._of_index.setdefault(job["metadata"]["uid"], Counter())
        failures[index] += 1
        if failures[index] > limit:
            status["failedIndexes"] = with_index(status.get("failedIndexes", ""), index)

    def _release(self, pod: Object) -> None:
        """Let go of a pod that has been counted, or that nobody will count, if it is still held."""
        finalizers = pod["metadata"].get("finalizers", ())
        if TRACKING not in finalizers:
            return
        metadata = {key: value for key, value in pod["metadata"].items() if key != "finalizers"}
        left = [each for each in finalizers if each != TRACKING]
        metadata |= {"finalizers": left} if left else {}
        entry = self._store.put(PODS, {**pod, "metadata": metadata})
        if is_over(entry.object):
            self._store.remove(PODS, metadata["namespace"], metadata["name"])

    def _conclude(self, job: Object, status: Object, conditions: Object) -> None:
        """Begin and finish the Job's end; it has failed only when its last pod is gone."""
        spec, pods, now = job["spec"], self._pods(job), self._cluster.clock.text()
        limit, completions = spec["backoffLimit"], spec.get("completions")
        if status.get("failed", 0) > limit and "FailureTarget" not in conditions:
            message = "Job has reached the specified backoff limit"
            add_condition(conditions, now, "FailureTarget", "BackoffLimitExceeded", message)
        failed = indexes_of(status.get("failedIndexes", ""))
        finished = failed | indexes_of(status.get("completedIndexes", ""))
        if failed and len(finished) == completions:
            add_condition(
                conditions, now, "FailureTarget", "FailedIndexes", "Job has failed indexes"
            )
        if "FailureTarget" in conditions:
            for pod in filter(is_active, pods):
                delete_pod(self._cluster, pod, None)
            if not any(is_active(pod) or is_terminating(pod) for pod in self._pods(job)):
                target = conditions["FailureTarget"]
                add_condition(conditions, now, "Failed", target["reason"], target["message"])
        elif completions is not None and status.get("succeeded", 0) >= completions:
            message = "Reached expected number of succeeded pods"
            add_condition(conditions, now, "SuccessCriteriaMet", "CompletionsReached", message)
            add_condition(conditions, now, "Complete", "CompletionsReached", message)
            status["completionTime"] = now

    def _scale(self, job: Object, status: Object, conditions: Object) -> None:
        """Delete pods that are too many, create those that are missing."""
        spec, pods = job["spec"], self._pods(job)
        active = [pod for pod in pods if is_active(pod)]
        if spec.get("suspend"):
            for pod in active:
                # What a suspension ends is no failure, also where it ends before the next turn.
                self._release(pod)
                delete_pod(self._cluster, pod, None)
            return
        if conditions.keys() & {"FailureTarget", "SuccessCriteriaMet"}:
            return
        desired = spec["parallelism"]
        if spec.get("completions") is not None:
            failed = len(indexes_of(status.get("failedIndexes", "")))
            left = spec["completions"] - status.get("succeeded", 0) - failed
            desired = min(desired, left)
        present = len(active)
        if replaces_only_failed(job):
            present += sum(map(is_terminating, pods))
        if present < desired and self._backed_off(job):
            for index in self._indexes(job, status, pods, desired - present):
                self._create(new_pod(job, generated(), index))

    def _backed_off(self, job: Object) -> bool:
        count, last = self._failures.get(job["metadata"]["uid"], (0, 0.0))
        if not count:
            return True
        delay_s = min(_BACKOFF_S * 2 ** (count - 1), _LONGEST_BACKOFF_S)
        return bool(self._cluster.clock.now() - last >= delay_s)

    def _indexes(
        self, job: Object, status: Object, pods: list[Object], count: int
    ) -> list[int | None]:
        """Of the pods to create; None where they have none."""
        if job["spec"]["completionMode"] != "Indexed":
            return [None] * count
        waits = replaces_only_failed(job)
        used = {index_of(pod) for pod in pods if is_active(pod) or (waits and is_terminating(pod))}
        used |= indexes_of(status.get("completedIndexes", ""))
        used |= indexes_of(status.get("failedIndexes", ""))
        free = [index for index in range(job["spec"]["completions"]) if index not in used]
        return list(free[:count])

    def _create(self, pod: Object) -> None:
        self._cluster.writer.create_pod(pod)
