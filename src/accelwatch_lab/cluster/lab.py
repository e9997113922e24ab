"""A lab: a scheduler, simulated agents, a hub that acts, a receiver of alerts, all in one folder."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch_lab.cluster.backendai.scheduler import BackendAiScheduler
from accelwatch_lab.cluster.configuration import write_configuration
from accelwatch_lab.cluster.http_client import NoAnswerError, page
from accelwatch_lab.cluster.kubernetes.scheduler import KubernetesScheduler
from accelwatch_lab.cluster.ports import free_ports
from accelwatch_lab.cluster.scheduler import LabScheduler, SchedulerKind
from accelwatch_lab.cluster.simulated import Simulated
from accelwatch_lab.cluster.slurm.installed import missing
from accelwatch_lab.cluster.slurm.scheduler import SlurmScheduler
from accelwatch_lab.cluster.slurm.step_daemons import kill_step_daemons
from accelwatch_lab.cluster.stand_in.scheduler import StandIn
from accelwatch_lab.cluster.waiting import WaitTimeoutError, until

NODES = ("n001", "n002", "n003", "n004")
SPARE = NODES[-1]
_SCHEDULERS: dict[SchedulerKind, Callable[[Path, Sequence[str]], LabScheduler]] = {
    SchedulerKind.SLURM: SlurmScheduler,
    SchedulerKind.STAND_IN: StandIn,
    SchedulerKind.KUBERNETES: KubernetesScheduler,
    SchedulerKind.BACKENDAI: BackendAiScheduler,
}
_RECORD = "lab.json"
_READY_S = 60.0
# Of the start: scheduler, receiver, agents, hub, and until it acts.
_STEPS = 5


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Where the servers of a lab are, each as `host:port`."""

    hub: str
    simulator: str
    alerts: str
    scheduler: SchedulerKind = SchedulerKind.SLURM


class Lab:
    """One that may run in a folder."""

    def __init__(self, folder: Path, kind: SchedulerKind | None = None) -> None:
        """`folder` is absolute. Nothing `kind`: the folder's scheduler, else Slurm where it is."""
        self.folder = folder
        written = self._written()
        usual = SchedulerKind.STAND_IN if missing() else SchedulerKind.SLURM
        self.kind = kind or (usual if written is None else written.scheduler)
        self.scheduler: LabScheduler = _SCHEDULERS[self.kind](folder, NODES)
        self.processes = self.scheduler.processes

    @property
    def alerts_file(self) -> Path:
        """What the receiver has got, as JSON lines."""
        return self.folder / "alerts.jsonl"

    def record(self) -> Record | None:
        """Where everything is; None when no whole lab runs here.

        Raises UsageError for one that runs with another scheduler.
        """
        record = self._written()
        if record is None or not record.hub or not self.processes.runs("hub"):
            return None
        if record.scheduler is not self.kind:
            raise UsageError(
                f"a lab with the scheduler {record.scheduler} runs in {self.folder};"
                " end it with `accelwatch lab down`, or take another --folder"
            )
        return record

    def _written(self) -> Record | None:
        try:
            return msgspec.json.decode((self.folder / _RECORD).read_bytes(), type=Record)
        except (*DECODE_ERRORS, OSError):
            return None

    def simulated(self, record: Record) -> Simulated:
        """Its agents."""
        return Simulated(self.folder, self.processes, record.simulator)

    def up(self, on_progress: Callable[[int, int, str], None] = lambda *_: None) -> Record:
        """Start it and wait until the hub acts. Raises AccelwatchError; nothing runs on then.

        `on_progress` gets how many steps of how many are done, and what is started now.
        """
        if self.record() is not None:
            raise UsageError(f"a lab runs in {self.folder} already; `accelwatch lab down` ends it")
        self._make_folder()
        try:
            return self._start(on_progress)
        except BaseException:
            self.stop()
            raise

    def down(self) -> int:
        """End it and remove its folder; how many processes there were. Raises UsageError."""
        if self.folder.exists() and not self._is_ours():
            raise UsageError(f"{self.folder} is not a lab folder; nothing was removed")
        stopped = self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        return stopped

    def stop(self) -> int:
        """End every process; the folder stays, with what was printed."""
        self.scheduler.cancel_jobs()
        stopped = self.processes.stop()
        kill_step_daemons(self.folder)
        return stopped + self.processes.sweep()

    def _make_folder(self) -> None:
        if self.folder.exists() and any(self.folder.iterdir()):
            if not self._is_ours():
                raise UsageError(f"{self.folder} is not empty and not a lab folder; use another")
            self.down()
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / _RECORD).write_bytes(
                msgspec.json.encode(Record(hub="", simulator="", alerts="", scheduler=self.kind))
            )
        except OSError as error:
            raise AccelwatchError(
                f"{error.filename}: cannot be written: {error.strerror}"
            ) from error

    def _is_ours(self) -> bool:
        return (self.folder / _RECORD).exists() or not any(self.folder.iterdir())

    def _start(self, on_progress: Callable[[int, int, str], None]) -> Record:
        ports = free_ports(3)
        hub, simulator, alerts = (f"127.0.0.1:{port}" for port in ports)
        record = Record(hub=hub, simulator=simulator, alerts=alerts, scheduler=self.kind)
        on_progress(0, _STEPS, f"starting {self.scheduler.title}")
        self.scheduler.start([SPARE])
        on_progress(1, _STEPS, "starting the alert receiver")
        self._start_module(
            "alerts", "accelwatch_lab.cluster.alert_receiver", alerts, self.alerts_file
        )
        on_progress(2, _STEPS, "starting simulated agents")
        self.simulated(record).start(len(NODES))
        on_progress(3, _STEPS, "starting the hub")
        write_configuration(
            self.folder,
            hub=hub,
            alerts=alerts,
            paired=() if self.scheduler.shows_boots else NODES,
            spares=[SPARE],
            sinks=self.scheduler.sinks(),
            actions=self.scheduler.actions(),
        )
        argv = [sys.executable, "-m", "accelwatch", "hub", "-c", str(self.folder / "hub.yaml")]
        self.processes.start("hub", argv)
        on_progress(4, _STEPS, "waiting until the hub acts")
        try:
            until(lambda: self._acts(record), "the hub acts", _READY_S)
        except WaitTimeoutError as error:
            raise WaitTimeoutError(
                f"{error}; it says: {self.scheduler.output_of('hub')}"
            ) from error
        (self.folder / _RECORD).write_bytes(msgspec.json.encode(record))
        return record

    def _start_module(self, name: str, module: str, address: str, file: Path) -> None:
        port = address.rpartition(":")[2]
        self.processes.start(name, [sys.executable, "-m", module, port, str(file)])

    def _acts(self, record: Record) -> bool:
        """Whether the hub reaches all nodes and may start an operation."""
        if not self.processes.runs("hub"):
            raise WaitTimeoutError("the hub has ended")
        try:
            nodes = page(record.hub, "/v1/nodes")["nodes"]
            remedies = page(record.hub, "/v1/remedies")
            ready = spare_is_ready(record)
        except NoAnswerError:
            return False
        up = [node for node in nodes if node["state"] == "up"]
        return len(up) == len(NODES) and remedies["acts"] and not remedies["frozen"] and ready


def spare_is_ready(record: Record) -> bool:
    """Whether the spare could be drawn now. Raises NoAnswerError."""
    spares = page(record.hub, "/v1/spares")["spares"]
    return any(spare["usable"] and spare["standing"] == "ready" for spare in spares)


def usual_folder() -> Path:
    """Where a lab is when nobody says: the user's state, else the temporary files. Raises UsageError."""
    home = os.environ.get("XDG_STATE_HOME") or (
        f"{os.environ['HOME']}/.local/state" if os.environ.get("HOME") else ""
    )
    if not home:
        raise UsageError("neither XDG_STATE_HOME nor HOME is set; say where: --folder DIR")
    return Path(home).absolute() / "accelwatch" / "lab"
