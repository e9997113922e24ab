"""The JobSet of the example restarts in place: so the action reads it, and tells it in its plan."""

from pathlib import Path

import yaml

from accelwatch_kubernetes.workloads.consequences import consequences
from accelwatch_kubernetes.workloads.kinds.outcome import Fate
from support.kubernetes.pods import Object
from support.kubernetes.workloads import leaving, lineage, pods, workload


def test_an_eviction_moves_one_pod_and_restarts_the_others_in_place(examples: Path) -> None:
    folder = examples / "jobset-in-place"
    document: Object = yaml.safe_load((folder / "jobset.yaml").read_text())
    name, spec = document["metadata"]["name"], document["spec"]
    (replicated,) = spec["replicatedJobs"]
    count = replicated["replicas"] * replicated["template"]["spec"]["completions"]
    child = workload(
        "batch/v1", "Job", f"{name}-{replicated['name']}-0", replicated["template"]["spec"]
    )
    status = {"currentInPlaceRestartAttempt": 0}
    jobset = workload(document["apiVersion"], document["kind"], name, spec, status)
    result = consequences(lineage(child, jobset), leaving(), pods(count))
    assert (result.fate, result.refusal) == (Fate.RESTARTED, "")
    assert result.text in " ".join((folder / "README.md").read_text().split())
    # In place all pods are there at once, and no exit code but 0 ends one.
    job = replicated["template"]["spec"]
    assert job["parallelism"] == job["completions"]
    (container,) = job["template"]["spec"]["containers"]
    assert container["restartPolicyRules"] == [
        {"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [0]}}
    ]
