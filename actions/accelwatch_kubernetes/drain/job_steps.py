"""Steps about the pods of a job, or about the job, as all who propose one write them. Pure."""

from accelwatch.action.step import Step
from accelwatch_kubernetes.drain import steps
from accelwatch_kubernetes.drain.job_view import EVICTED_POD
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.workloads.changes import Change


def evict(pod: Pod) -> Step:
    """The eviction of this very pod."""
    return _of_pod(steps.EVICT, pod, f"evict {pod.path} from {pod.node}")


def delete(pod: Pod, why: str) -> Step:
    """The deletion of this very pod."""
    return _of_pod(steps.DELETE_POD, pod, f"delete {pod.path} from {pod.node}: {why}")


def _of_pod(kind: str, pod: Pod, text: str) -> Step:
    return Step(
        kind=kind,
        arguments={
            "namespace": pod.metadata.namespace,
            "pod": pod.metadata.name,
            "node": pod.node,
        },
        precondition={"uid": pod.uid},
        original={f"{EVICTED_POD}{pod.uid}": f"{pod.path} on {pod.node}"},
        text=text,
    )


def change(kind: str, changed: Change) -> Step:
    """A write to the job itself, on the version that was read."""
    return Step(
        kind=kind,
        arguments={"path": changed.path, "body": changed.body},
        precondition={"uid": changed.uid},
        text=changed.text,
    )
