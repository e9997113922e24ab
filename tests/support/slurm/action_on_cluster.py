"""The Slurm action on a real cluster, for tests that are not asynchronous."""

import asyncio
import time
from pathlib import Path
from typing import Any

from accelwatch.action.contract import ActionContext
from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.observed import NodeObservation
from accelwatch.remediation.policy.guards.ownership import Imprint
from accelwatch_lab.cluster.slurm.installed import program
from accelwatch_slurm import SlurmAction
from accelwatch_slurm.texts.job_text import job_of
from support.actions.pursuits import Pursuit, pursue
from support.slurm.lab_cluster import WorkingSlurm


def imprint_of(seen: NodeObservation) -> Imprint | None:
    """What is kept of a node that was just seen to be ours; None of one without a mark."""
    if seen.annotation is None:
        return None
    return Imprint(
        annotation=seen.annotation, reason=seen.reason, set_by=seen.set_by, set_at=seen.set_at
    )


class Hand:
    """Pursues intents on one cluster."""

    def __init__(self, slurm: WorkingSlurm, **options: Any) -> None:
        self.slurm = slurm
        known = {"slurm_conf": str(slurm.conf), "commands": str(Path(program("scontrol")).parent)}
        self.action = SlurmAction(ActionContext(name="lab", options={**known, **options}))

    def intent(self, kind: IntentKind, node: str, incident: str = "inc-1", **more: Any) -> Intent:
        return Intent(
            kind=kind,
            mark=more.pop("mark", None) or OwnerAnnotation(incident, more.pop("token", 1)),
            node=node,
            rule="nvidia.gpu.lost",
            reason="GPU 3 has fallen off the bus",
            asked=more.pop("asked", 1.0),
            deadline=time.time() + 120.0,
            **more,
        )

    def key(self, job: str) -> JobKey:
        seen = job_of(self.slurm.job(job))
        assert seen is not None
        number, _, part = seen.id.partition("_")
        number, joint, component = number.partition("+")
        return JobKey("lab", number, seen.submitted, part or f"{joint}{component}")

    def pursue(self, kind: IntentKind, node: str, **more: Any) -> Pursuit:
        within_s = more.pop("within_s", 90.0)
        before = more.pop("before", None)
        twice = more.pop("twice", False)
        intent = self.intent(kind, node, **more)
        return asyncio.run(
            pursue(self.action, intent, within_s=within_s, before=before, twice=twice)
        )
