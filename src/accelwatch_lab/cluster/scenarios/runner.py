"""Runs a scenario in a lab that is up: interventions, what is observed, and what was missing."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch_lab.cluster.http_client import page, post
from accelwatch_lab.cluster.lab import Lab, Record, spare_is_ready
from accelwatch_lab.cluster.scenarios.catalogue import SCENARIOS, Intervention, Phase, Scenario
from accelwatch_lab.cluster.scenarios.interventions import Interventions
from accelwatch_lab.cluster.scenarios.observations import PhaseContext, observed
from accelwatch_lab.cluster.scenarios.report import Entry, ScenarioReport, copies, resumed_at
from accelwatch_lab.cluster.slurm.step_counter import CHECKPOINT_EVERY, lines_of
from accelwatch_lab.cluster.snapshot import LabSnapshot, read_snapshot
from accelwatch_lab.cluster.waiting import WaitTimeoutError, until

# Of four nodes, by the lab's budget.
MOST_OUT = 2
_JOB_NODES = 2
_POLL_EVERY_S = 0.1
# As long as a phase has: what was evicted may begin again only after its nodes were released, on
# Kubernetes when the Job controller's back-off is over (12 s were measured).
_RESUMES_WITHIN_S = 60.0
_FAULTS = frozenset({Intervention.LOSE_GPU, Intervention.HANG_NODE, Intervention.CUT_LINKS})
OnEntry = Callable[[ScenarioReport, Entry], None]


class ScenarioRunner:
    """One scenario in one lab."""

    def __init__(self, lab: Lab, record: Record, name: str, on_entry: OnEntry) -> None:
        """`on_entry` gets each line of the timeline when it is observed."""
        self._lab = lab
        self._record = record
        self._scenario: Scenario = SCENARIOS[name]
        self.report = ScenarioReport(scenario=name, title=self._scenario.title)
        self._on_entry = on_entry
        self._interventions = Interventions(lab, record)
        self._job = ""
        # A node that an administrator holds.
        self._theirs = ""

    def run(self) -> ScenarioReport:
        """Run it; what was missing stands in the report. Raises AccelwatchError for a broken lab."""
        self._wait_for_idle()
        try:
            self._start_job()
            for phase in self._scenario.phases:
                if not self._phase(phase):
                    break
            self._check_result()
        finally:
            self._interventions.restore()
            self._lab.scheduler.cancel(self._job)
        return self.report

    def _wait_for_idle(self) -> None:
        """Nothing is left of what was played before. Raises AccelwatchError."""
        post(self._record.hub, "/v1/breaker/reset", {"reason": "a scenario starts", "by": "lab"})
        try:
            until(self._is_idle, "the hub is idle, and nodes, spare and hub are ready")
        except WaitTimeoutError as error:
            text = f"{error}; start over: accelwatch lab down, then accelwatch lab up"
            raise WaitTimeoutError(text) from error

    def _is_idle(self) -> bool:
        page_ = page(self._record.hub, "/v1/remedies")
        busy = page_["remedies"] or page_["held"] or page_["frozen"] or page_["stopped_by"]
        if busy or page_["breaker"] != "closed":
            return False
        out = any(node.out for node in self._lab.scheduler.nodes_now().values())
        return spare_is_ready(self._record) and not out

    def _start_job(self) -> None:
        self._job = self._lab.scheduler.submit(_JOB_NODES)
        until(self._has_checkpoint, "the job runs and has written a checkpoint")
        now = self._lab.scheduler.job_now(self._job)
        nodes = "" if now is None else ", ".join(now.nodes)
        self._add_entry("job", f"job {self._job} runs on {nodes}, ten steps a second")

    def _has_checkpoint(self) -> bool:
        steps = [line.step for line in lines_of(self._lab.folder, self._job) if line.what == "step"]
        return max(steps, default=0) > CHECKPOINT_EVERY

    def _phase(self, phase: Phase) -> bool:
        """Whether everything was seen that it should have led to."""
        before = self._now()
        job = before.job
        written = max((line.restart for line in before.lines), default=0)
        node = self._subject(phase, before)
        since = time.time()
        for intervention in phase.interventions:
            at = time.time()
            if intervention in _FAULTS and self.report.fault_at is None:
                self.report.fault_at = at
            what, text = self._interventions.apply(intervention, node)
            self._theirs = {Intervention.ADMIN_DRAIN: node, Intervention.GIVE_BACK: ""}.get(
                intervention, self._theirs
            )
            self._add_entry(
                what, text, at if intervention is not Intervention.WAIT else time.time()
            )
        faulty = (
            ()
            if phase.interventions == (Intervention.REPAIR,)
            else tuple(self._interventions.faulty)
        )
        restarts = 0 if job is None else job.restarts
        context = PhaseContext(node, faulty, since, restarts, written)
        return self._await(phase, context)

    def _subject(self, phase: Phase, now: LabSnapshot) -> str:
        """The node that a phase is about: the job's first for a new fault, else a faulty one."""
        if not _FAULTS.isdisjoint(phase.interventions):
            nodes = () if now.job is None else now.job.nodes
            return nodes[0] if nodes else self._lab.scheduler.names[0]
        if Intervention.REPAIR_FIRST in phase.interventions:
            return self._interventions.faulty[0]
        if self._interventions.faulty:
            return self._interventions.faulty[-1]
        return self._theirs or self._lab.scheduler.names[0]

    def _await(self, phase: Phase, context: PhaseContext) -> bool:
        waiting = list(phase.expected)
        end = time.monotonic() + phase.within_s
        while True:
            now = self._now()
            self._never(now)
            for what in tuple(waiting):
                observation = observed(what, now, context)
                if observation is not None:
                    waiting.remove(what)
                    self._add_entry(what.value, observation.text, observation.at)
            if not waiting:
                return True
            if time.monotonic() > end:
                names = ", ".join(waiting)
                self.report.missing.append(f"not seen within {phase.within_s:g} s: {names}")
                return False
            time.sleep(_POLL_EVERY_S)

    def _now(self) -> LabSnapshot:
        return read_snapshot(
            self._lab, self._record, self._job, scheduler=not self._interventions.controller_hangs
        )

    def _never(self, now: LabSnapshot) -> None:
        """What may not be at any moment."""
        ours = sorted(name for name, node in now.nodes.items() if node.ours)
        if len(ours) > MOST_OUT:
            self._wrong(f"more nodes were quarantined than the budget of {MOST_OUT} allows")
        theirs = now.nodes.get(self._theirs)
        if theirs is not None and (theirs.ours or not theirs.out):
            self._wrong(f"{self._theirs} was touched while an administrator held it")

    def _check_result(self) -> None:
        fault_at = self.report.fault_at
        if fault_at is not None:
            # What went wrong is not waited for: its faults are still there.
            seconds = 0.0 if self.report.missing else _RESUMES_WITHIN_S
            at = wait_until_resumed(self._lab.folder, self._job, fault_at, seconds)
            self.report.recovered_s = None if at is None else at - fault_at
            if at is None:
                self._wrong("the job did no step after the fault")
        if copies(lines_of(self._lab.folder, self._job)):
            self._wrong("an old copy of the job has written beside the new one")

    def _wrong(self, text: str) -> None:
        if text not in self.report.missing:
            self.report.missing.append(text)

    def _add_entry(self, what: str, text: str, at: float | None = None) -> None:
        entry = Entry(at=time.time() if at is None else at, what=what, text=text)
        self.report.entries.append(entry)
        self._on_entry(self.report, entry)


def wait_until_resumed(folder: Path, job: str, fault_at: float, seconds: float) -> float | None:
    """When a job of a lab did its first step after a fault (Unix seconds); None if not in time."""
    with contextlib.suppress(WaitTimeoutError):
        until(lambda: resumed_at(lines_of(folder, job), fault_at), "the job goes on", seconds)
    return resumed_at(lines_of(folder, job), fault_at)


def check_playable(lab: Lab, name: str) -> None:
    """Raises UsageError for a scenario that means nothing with the lab's scheduler."""
    if reason := lab.scheduler.unplayable.get(name):
        raise UsageError(f"{name} is not played with {lab.scheduler.title}: {reason}")


def run_scenario(lab: Lab, record: Record, name: str, on_entry: OnEntry) -> ScenarioReport:
    """Run a scenario by its name in a lab that is up. Raises AccelwatchError."""
    check_playable(lab, name)
    try:
        return ScenarioRunner(lab, record, name, on_entry).run()
    except AccelwatchError as error:
        raise type(error)(f"{name}: {error}") from error
