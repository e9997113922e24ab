"""The actions that the contract is asked of: one that is added here has every test of the folder."""

import json
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.action.contract import Action, ActionContext
from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.observed import (
    HoldState,
    JobObservation,
    JobState,
    NodeObservation,
    Observed,
)
from accelwatch.action.step import ReportStatus, Step
from accelwatch.base.clock import ManualClock
from accelwatch_kubernetes import KubernetesAction
from accelwatch_kubernetes.marks.patches import hold_patch, new_hold
from accelwatch_script import ScriptAction
from accelwatch_script.settings import NEVER_CALLED
from accelwatch_slurm import SlurmAction
from accelwatch_slurm.texts.steps import STEPS
from support.actions import backendai_subject
from support.kubernetes.nodes import OPTIONS, Object, parsed, stored
from support.kubernetes.nodes import node as cluster_node

NOW = 1795355600.0
FIXTURES = Path(__file__).parents[3] / "fixtures"

# What a command does instead of its work, as a shell script.
BREAKAGES = {
    "hangs": "exec sleep 600",
    "hangs with a child": "sleep 600 & sleep 600",
    "garbage": "printf '\\000\\377 = =\\n+++ NodeName State\\n'",
    "nothing": "exit 0",
    "rc 1": "echo 'scontrol: error: something' >&2; exit 1",
    "no permission": "echo 'slurm_update error: Access/permission denied' >&2; exit 1",
    "controller away": "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1",
    "munge dead": "echo 'error: Munge encode failed: Failed to access socket' >&2; exit 1",
    "endless": "exec yes NodeName=x",
    "killed": "kill -9 $$",
}


class Subject(msgspec.Struct, frozen=True):
    """One action, in the hands of the contract."""

    name: str
    # The action; with a folder, the one whose programs are there.
    make: Callable[[Path | None], Action]
    # Names of the programs that it runs.
    programs: tuple[str, ...]
    # Intents, each with how things may stand; every kind of intent and step is among them.
    situations: Callable[[], Sequence[tuple[Intent, Observed]]]
    # Those in which somebody else holds the node.
    foreign: Callable[[], Sequence[tuple[Intent, Observed]]]
    # A step of every kind.
    steps: Callable[[], Sequence[Step]]


def breaks(folder: Path, subject: Subject, script: str) -> Action:
    """The action, all of whose programs do something else."""
    for name in subject.programs:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return subject.make(folder)


def intent(kind: IntentKind, node: str = "n1", **more: Any) -> Intent:
    """An intent of the contract's tests."""
    return Intent(
        kind=kind,
        mark=OwnerAnnotation("inc-1", 1),
        node=node,
        reason="GPU 3 has fallen off the bus",
        rule="nvidia.gpu.lost",
        asked=NOW,
        deadline=NOW + 600.0,
        **more,
    )


# Slurm

_TESTS = {"quick": ["/bin/true"]}
_KEY = JobKey("lab", "1", 1795355571.0)


def _slurm(folder: Path | None) -> Action:
    options: dict[str, object] = {
        "commands": str(folder) if folder else "/nonexistent",
        "timeout_s": 0.2,
        "test_timeout_s": 60.0,
        "tests": _TESTS,
        "spares": "spares",
        "probe_silent": True,
        "power_off": [f"{folder or '/nonexistent'}/power", "off", "{node}"],
        "power_state": [f"{folder or '/nonexistent'}/power", "state", "{node}"],
        "power_timeout_s": 0.2,
    }
    return SlurmAction(ActionContext(name="lab", options=options, clock=ManualClock(wall=NOW)))


def _lines(file: str) -> list[str]:
    return (FIXTURES / "slurm" / file).read_text().splitlines()


_OF_JOBS = (
    IntentKind.MOVE_JOB,
    IntentKind.RESTORE_JOB,
    IntentKind.SIGNAL_JOB,
    IntentKind.CANCEL_JOB,
    IntentKind.FOLLOW_JOB,
    IntentKind.PROBE,
    IntentKind.FENCE,
)


def _slurm_situations() -> Sequence[tuple[Intent, Observed]]:
    """Intents about jobs with each job beside some nodes, the others with each node."""
    reservations = "\n".join(_lines("22.05-reservations.txt"))
    nodes = [*_lines("22.05-nodes.txt"), *_lines("newer-nodes.txt"), ""]
    jobs = [*_lines("22.05-jobs.txt"), *_lines("newer-jobs.txt"), ""]
    more: dict[str, Any] = {"job": _KEY, "spare": "n5", "test": "quick", "signal": "USR1"}
    found = []
    for kind in IntentKind:
        of_jobs = kind in _OF_JOBS
        for node in nodes[:3] if of_jobs else nodes:
            name = node.partition(" ")[0].removeprefix("NodeName=") or "gone"
            for job in jobs if of_jobs else jobs[:1]:
                own = {"node": node, "bad": node, "job": job, "jobs": job}
                own["reservations"] = reservations
                found.append((intent(kind, name, **more), Observed(time=NOW, own=own)))
    return found


def _slurm_foreign() -> Sequence[tuple[Intent, Observed]]:
    node = _lines("newer-nodes.txt")[0]
    job = _lines("22.05-jobs.txt")[0]
    kinds = (
        IntentKind.QUARANTINE,
        IntentKind.RELEASE,
        IntentKind.FENCE,
        IntentKind.REBOOT,
        IntentKind.TEST,
    )
    observed = Observed(time=NOW, own={"node": node, "bad": node, "jobs": job, "reservations": ""})
    return [(intent(kind, "g1", test="quick"), observed) for kind in kinds]


def _slurm_steps() -> Sequence[Step]:
    arguments = {
        "node": "n1",
        "job": "1",
        "reason": "accelwatch:inc-1:x y",
        "word": "accelwatch:inc-1:held",
        "name": "accelwatch-inc-1-1",
        "nodes": "n2,n3",
        "user": "root",
        "signal": "USR1",
        "asked": "1.0",
        "test": "quick",
        "ExcNodeList": "n1",
    }
    before = {"restarts": "0", "nodes": "n2,n3", "reason": "accelwatch:inc-1:x y", "boot": "1.0"}
    return [Step(kind=kind, arguments=arguments, precondition=before, text=kind) for kind in STEPS]


# Scripts

_OBSERVER = "look"
_HOOK = "act"


# What a hook is called for.
_CALLED = tuple(kind for kind in IntentKind if kind not in NEVER_CALLED)


def _script(folder: Path | None) -> Action:
    where = folder or "/nonexistent"
    look = {"argv": [f"{where}/{_OBSERVER}"], "timeout": "200ms"}
    act = {"argv": [f"{where}/{_HOOK}"], "timeout": "200ms"}
    options: dict[str, object] = {
        "observe": look,
        "survey": look,
        "hooks": {kind.value: act for kind in _CALLED},
        "parallel": 32,
    }
    return ScriptAction(ActionContext(name="site", options=options, clock=ManualClock(wall=NOW)))


def _script_situations() -> Sequence[tuple[Intent, Observed]]:
    nodes = [
        None,
        *(
            NodeObservation(name="n1", hold_state=one, boot_id="b1", answering=True)
            for one in HoldState
        ),
    ]
    jobs = [
        None,
        *(
            JobObservation(key=_KEY, state=one, nodes=("n1", "n2"), requeueable=True)
            for one in JobState
        ),
    ]
    observed: list[dict[str, str]] = [{}, {"achieved": "yes"}, {"achieved": "no"}]
    reported = [{"told": one.value, "told_for_s": "1.0"} for one in ReportStatus]
    return [
        (
            intent(kind, job=_KEY, spare="n5", bad_nodes=("n1",), boot_id="b1"),
            Observed(time=NOW, node=node, job=job, own=own),
        )
        for kind in IntentKind
        for node in nodes
        for job in jobs
        for own in (*observed, *reported)
    ]


def _script_foreign() -> Sequence[tuple[Intent, Observed]]:
    kinds = (
        IntentKind.QUARANTINE,
        IntentKind.RESET_DEVICE,
        IntentKind.REBOOT,
        IntentKind.POWER_CYCLE,
    )
    node = NodeObservation(name="n1", hold_state=HoldState.FOREIGN, boot_id="b1", set_by="ann")
    observed = Observed(time=NOW, node=node, own={"achieved": "no"})
    return [(intent(kind, boot_id="b1"), observed) for kind in kinds]


def _script_steps() -> Sequence[Step]:
    steps = []
    for kind in _CALLED:
        arguments = {"intent": msgspec.json.encode(intent(kind, job=_KEY)).decode()}
        steps.append(Step(kind=kind.value, arguments=arguments, text=kind.value))
    before = {"boot_id": "b1"}
    return [*steps, msgspec.structs.replace(steps[-1], kind="reboot", precondition=before)]


# Kubernetes

_IDLE = {"key": "accelwatch.io/spare", "effect": "NoSchedule"}
_KEY_THERE = JobKey("cluster", "ml/Job/trainer", 1795355571.0)


def _kubernetes(folder: Path | None) -> Action:
    """Nobody listens at the discard port of this machine."""
    power = f"{folder or '/nonexistent'}/power"
    options: dict[str, object] = {
        "server": {"api_server": "http://127.0.0.1:9"},
        "power_off": [power, "off", "{node}"],
        "power_state": [power, "state", "{node}"],
        "power_timeout_s": 0.2,
    }
    context = ActionContext(name="cluster", options=options, clock=ManualClock(wall=NOW))
    return KubernetesAction(context)


def _held(ready: str) -> Object:
    """A node that we hold."""
    before = cluster_node("n1", ready=ready)
    hold = new_hold(
        parsed(before), OPTIONS, incident="inc-1", token=1, since=NOW, rule="r", reason="x"
    )
    return stored(before, hold_patch(parsed(before), hold, OPTIONS))


def _nodes() -> Sequence[Object | None]:
    half = _held("True")
    half["spec"].pop("taints")
    return [
        None,
        cluster_node("n1"),
        cluster_node("n1", ready="Unknown"),
        cluster_node("n1", cordoned=True),
        cluster_node("n1", deleting=True),
        cluster_node("n1", taints=[_IDLE]),
        _held("True"),
        _held("Unknown"),
        half,
    ]


def _kubernetes_situations() -> Sequence[tuple[Intent, Observed]]:
    jobs = [
        None,
        *(
            JobObservation(key=_KEY_THERE, state=state, nodes=("n1", "n2"), requeueable=True)
            for state in JobState
        ),
    ]
    return [
        (
            intent(kind, job=_KEY_THERE, spare=spare, bad_nodes=("n1",)),
            Observed(time=NOW, job=job, own=own),
        )
        for kind in IntentKind
        for document in _nodes()
        for job in (jobs if kind in _OF_JOBS else jobs[:1])
        for spare in ("", "s1")
        for own in [_own(document, spare)]
    ]


def _own(document: Object | None, spare: str) -> dict[str, str]:
    own = {} if document is None else {"node": json.dumps(document)}
    return own | ({"spare": json.dumps(cluster_node("s1", taints=[_IDLE]))} if spare else {})


def _kubernetes_foreign() -> Sequence[tuple[Intent, Observed]]:
    cordoned = json.dumps(cluster_node("n1", cordoned=True))
    observed = Observed(time=NOW, own={"node": cordoned, "spare": cordoned})
    kinds = (IntentKind.QUARANTINE, IntentKind.DRAW_SPARE)
    return [(intent(kind, spare="n1"), observed) for kind in kinds]


def _kubernetes_steps() -> Sequence[Step]:
    arguments = {
        "node": "n1",
        "incident": "inc-1",
        "rule": "r",
        "reason": "x",
        "job": "ml/Job/trainer",
        "namespace": "ml",
        "pod": "trainer-0",
        "path": "/apis/batch/v1/namespaces/ml/jobs/trainer",
        "patch": "{}",
        "proof": "its power is off",
    }
    before = {"uid": "uid-of-n1", "version": "7"}
    return [
        Step(kind=kind, arguments=arguments, precondition=before, text=kind)
        for kind in _kubernetes(None).steps
    ]


SUBJECTS = [
    Subject(
        "slurm",
        _slurm,
        ("scontrol", "squeue", "scancel", "sbatch", "power"),
        _slurm_situations,
        _slurm_foreign,
        _slurm_steps,
    ),
    Subject(
        "kubernetes",
        _kubernetes,
        ("power",),
        _kubernetes_situations,
        _kubernetes_foreign,
        _kubernetes_steps,
    ),
    Subject(
        "backendai",
        backendai_subject.backendai,
        ("power",),
        backendai_subject.situations,
        backendai_subject.foreign,
        backendai_subject.steps,
    ),
    Subject(
        "script",
        _script,
        (_OBSERVER, _HOOK),
        _script_situations,
        _script_foreign,
        _script_steps,
    ),
]
