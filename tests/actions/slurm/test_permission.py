"""Nothing that changes anything is sent without the permission of its step, asked at the last moment."""

import asyncio
import time
from pathlib import Path

import pytest

from accelwatch.action.contract import ActionContext
from accelwatch.action.intent import OwnerAnnotation
from accelwatch.action.step import Committed, Report, ReportStatus, Step
from accelwatch_slurm import SlurmAction
from accelwatch_slurm.commands.commands import Commands, NotStartedError, permitted
from accelwatch_slurm.commands.options import SlurmOptions
from accelwatch_slurm.texts.steps import STEPS
from support.processes.shell_scripts import script

STOPPED = "everything is stopped by ada"
MARK = OwnerAnnotation("inc-1", 1)
REASON = "accelwatch:inc-1:low too little power"
OURS = (
    f"NodeName=n1 State=IDLE+DRAIN BootTime=1000 SlurmdStartTime=1001 Reason={REASON} [root@1500]"
    ' Extra={"accelwatch":{"i":"inc-1","t":1,"since":1500.0,"by":"accelwatch"}}'
)
JOB = "JobId=17 JobName=x UserId=ada(1) Priority=1 JobState={state} Restarts=0 NodeList={nodes} {more}"
LOOKS = """
case "$*" in
  *show*config*) printf 'ClusterName = lab\\nSLURM_VERSION = 22.05\\n' ;;
  *show*node*) echo '{node}' ;;
  *show*job*) echo '{job}' ;;
  *show*reservation*) echo 'ReservationName=spares Nodes=n9' ;;
  *) echo "$0 $*" >> {log} ;;
esac
"""


class Cluster:
    """Commands that show what they are told to, and write down what they would change."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.log = folder / "bin", folder / "log"

    def shows(self, node: str, job: str) -> None:
        text = LOOKS.replace("{node}", node).replace("{job}", job).replace("{log}", str(self.log))
        for name in ("scontrol", "scancel", "sbatch", "power"):
            script(self.bin / name, text)
        script(self.bin / "squeue", "")

    @property
    def sent(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


NODE_STEPS = {
    "drain": {"node": "n1", "reason": REASON},
    "undrain": {"node": "n1"},
    "resume": {"node": "n1"},
    "leave_down": {"node": "n1", "reason": "Not responding"},
    "unmark": {"node": "n1"},
    "set_down": {"node": "n1", "reason": REASON},
    "reboot": {"node": "n1", "reason": REASON, "asked": "1"},
}
JOB_STEPS = {
    "hold": {"job": "17", "word": "held"},
    "allow_requeue": {"job": "17"},
    "signal": {"job": "17", "signal": "USR1", "asked": "1"},
    "probe": {"job": "17", "node": "n1", "asked": "1"},
    "requeue": {"job": "17"},
    "cancel": {"job": "17"},
    "leave_reservation": {"job": "17", "ReservationName": ""},
}
WAITING_STEPS = {
    "let_go": {"job": "17", "word": "held"},
    "steer": {"job": "17", "ExcNodeList": "n1"},
    "unsteer": {"job": "17", "ExcNodeList": ""},
    "start": {"job": "17"},
}
POINTS = {
    "reserve": {"name": "place", "nodes": "n2", "user": "ada", "minutes": "720"},
    "renew_reservation": {"name": "place", "minutes": "720"},
    "delete_reservation": {"name": "place"},
    "draw": {"name": "spares", "nodes": "n8", "user": "ada"},
    "return": {"name": "spares", "nodes": "n8,n9", "user": "ada"},
}


# Steps that need commands of the site besides.
OF_OPTIONS = {"power_off", "run_test"}


def test_no_step_is_forgotten_here() -> None:
    tried = {*NODE_STEPS, *JOB_STEPS, *WAITING_STEPS, *POINTS}
    assert tried | OF_OPTIONS == STEPS.keys()


def step(kind: str, arguments: dict[str, str]) -> Step:
    precondition = {"restarts": "0", "nodes": "n9" if kind in ("draw", "return") else "n1"}
    precondition |= {"reason": REASON, "boot": "1000.0"}
    return Step(kind=kind, arguments=arguments, precondition=precondition)


def performed(cluster: Cluster, wanted: Step, stopped: str) -> Report:
    action = SlurmAction(ActionContext(name="lab", options={"commands": str(cluster.bin)}))
    operation = Committed(
        operation="op",
        attempt=1,
        annotation=MARK,
        deadline=time.time() + 60,
        withdrawn=lambda: stopped,
    )

    async def scenario() -> Report:
        report = await action.perform(wanted, operation)
        await action.close()
        return report

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [*NODE_STEPS.items(), *JOB_STEPS.items(), *WAITING_STEPS.items(), *POINTS.items()],
)
def test_a_step_whose_permission_is_withdrawn_sends_nothing(
    cluster: Cluster, kind: str, arguments: dict[str, str]
) -> None:
    node = "NodeName=n1 State=IDLE BootTime=1000" if kind == "drain" else OURS
    state, more = ("PENDING", "") if kind in WAITING_STEPS else ("RUNNING", "BatchFlag=1")
    nodes = "" if kind in WAITING_STEPS else "n1"
    cluster.shows(node, JOB.format(state=state, nodes=nodes, more=more))
    report = performed(cluster, step(kind, arguments), STOPPED)
    assert report == Report(status=ReportStatus.NOT_STARTED, text=STOPPED)
    assert cluster.sent == []
    performed(cluster, step(kind, arguments), "")
    assert cluster.sent != [], "without a STOP it is sent"


def test_what_waits_for_a_thread_asks_when_it_has_one(tmp_path: Path) -> None:
    started, gate, log = tmp_path / "begun", tmp_path / "gate", tmp_path / "log"
    hold = f"touch {started}; while [ ! -e {gate} ]; do sleep 0.05; done"
    script(tmp_path / "bin" / "squeue", hold)
    script(tmp_path / "bin" / "scontrol", f'echo "$*" >> {log}')
    commands = Commands(SlurmOptions(commands=str(tmp_path / "bin")))
    stopped = [""]

    async def change() -> None:
        with permitted(lambda: stopped[0]):
            await commands.change("scontrol", "update", "nodename=n1")

    async def scenario() -> BaseException | None:
        looks = [asyncio.create_task(commands.run("squeue")) for _ in range(4)]
        await asyncio.sleep(0)
        waits = asyncio.create_task(change())
        await asyncio.sleep(0)
        stopped[0] = STOPPED
        gate.touch()
        await asyncio.gather(*looks)
        return (await asyncio.gather(waits, return_exceptions=True))[0]

    error = asyncio.run(scenario())
    commands.close()
    assert isinstance(error, NotStartedError)
    assert str(error) == STOPPED
    assert not log.exists()


def test_a_step_of_several_commands_that_is_stopped_between_them_is_looked_at(
    cluster: Cluster,
) -> None:
    job = JOB.format(state="PENDING", nodes="", more="AdminComment=held")
    cluster.shows(OURS, job)
    action = SlurmAction(ActionContext(name="lab", options={"commands": str(cluster.bin)}))
    operation = Committed(
        operation="op",
        attempt=1,
        annotation=MARK,
        deadline=time.time() + 60,
        withdrawn=lambda: STOPPED if cluster.sent else "",
    )

    async def scenario() -> Report:
        report = await action.perform(step("let_go", {"job": "17", "word": "held"}), operation)
        await action.close()
        return report

    report = asyncio.run(scenario())
    assert (report.status, report.text) == (ReportStatus.UNKNOWN, STOPPED)
    assert [line.partition(" ")[2] for line in cluster.sent] == ["release 17"]
