"""Lines of nodes and jobs as scontrol prints them, and what the action slurm proposes for them."""

from typing import Any

from accelwatch.action.contract import ActionContext
from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.observed import Observed
from accelwatch.action.step import Proposal, Step
from accelwatch_slurm import SlurmAction

NOW = 1_795_356_000.0
KEY = JobKey("lab", "1", 1795355571.0)


def action(**options: Any) -> SlurmAction:
    return SlurmAction(ActionContext(name="lab", options=options))


def intent(kind: IntentKind, **more: Any) -> Intent:
    mark = more.pop("mark", OwnerAnnotation("inc-1", 2))
    return Intent(
        kind=kind, mark=mark, node="n1", rule="r", reason="x", asked=NOW, deadline=NOW, **more
    )


def node(state: str, reason: str = "", extra: str = "", boot: float = 1000.0) -> str:
    tail = f" Reason={reason} [root@{NOW - 100:.0f}]" if reason else ""
    tail += f" Extra={extra}" if extra else ""
    return (
        f"NodeName=n1 State={state} Partitions=main BootTime={boot:.0f} SlurmdStartTime=1000{tail}"
    )


def job(state: str, **more: str) -> str:
    fields = {
        "Priority": "5",
        "JobState": state,
        "Reason": "None",
        "Requeue": "1",
        "Restarts": "0",
        "BatchFlag": "1",
        "SubmitTime": "1795355571",
        "EligibleTime": "1795355571",
        "ReqNodeList": "(null)",
        "ExcNodeList": "(null)",
        "NodeList": "n[1-2]" if state == "RUNNING" else "",
        "UserId": "alice(1001)",
    }
    return "JobId=1 " + " ".join(f"{key}={value}" for key, value in {**fields, **more}.items())


def propose(wanted: Intent, own: dict[str, str], time: float = NOW, **options: Any) -> Proposal:
    proven = bool(own.get("proof"))
    return action(**options).propose(wanted, Observed(time=time, own=own, proven_dead=proven))


def kind_of(proposal: Proposal) -> str:
    return proposal.kind if isinstance(proposal, Step) else type(proposal).__name__
