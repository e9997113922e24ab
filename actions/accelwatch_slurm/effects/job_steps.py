"""Steps that change a job: hold, requeue, steer, let go, start, signal."""

import math

from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.observed import JobState
from accelwatch.action.step import Committed, Report, ReportStatus, Step
from accelwatch.base.clock import Clock
from accelwatch_slurm.commands.changing import DONE, Handler, release_job, updated
from accelwatch_slurm.commands.commands import Commands, report_of
from accelwatch_slurm.commands.reading import Reader
from accelwatch_slurm.observing.observer import Observer
from accelwatch_slurm.proposals.probing import IGNORED
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.job_components import nodes_of
from accelwatch_slurm.texts.job_text import SlurmJob, job_of

_STEERED = ("ExcNodeList", "ReqNodeList", "ReservationName", "AdminComment", "StartTime")


class JobSteps:
    """What is done to jobs."""

    def __init__(
        self, commands: Commands, reader: Reader, observer: Observer, clock: Clock
    ) -> None:
        self._commands = commands
        self._reader = reader
        self._observer = observer
        self._clock = clock

    def handlers(self) -> dict[str, Handler]:
        """By kind of step."""
        return {
            steps.HOLD: self._hold,
            steps.LET_GO: self._release,
            steps.ALLOW_REQUEUE: self._allow_requeue,
            steps.SIGNAL: self._signal,
            steps.PROBE: self._probe,
            steps.REQUEUE: self._requeue,
            steps.CANCEL: self._cancel,
            steps.STEER: self._steer,
            steps.UNSTEER: self._steer,
            steps.LEAVE_RESERVATION: self._leave_reservation,
            steps.START: self._start,
        }

    async def _job(self, step: Step, *states: JobState) -> SlurmJob:
        job = await self._reader.job(step.arguments["job"])
        if job is None:
            raise ChangedError(f"Slurm knows no job {step.arguments['job']} any more")
        if job.restarts != int(step.precondition["restarts"]):
            raise ChangedError(f"job {job.id} has been restarted meanwhile")
        if states and job.state not in states:
            raise ChangedError(f"job {job.id} is {job.state.value} by now")
        return job

    async def _hold(self, step: Step, _: Committed) -> Report:
        job = await self._job(
            step, JobState.RUNNING, JobState.COMPLETING, JobState.WAITING, JobState.HELD
        )
        token = step.arguments["word"]
        if job.priority == 0 and token in job.admin_comment:
            return DONE
        if job.priority == 0:
            raise ChangedError(f"job {job.id} is held by another person or tool")
        comment = f"{job.admin_comment} {token}".strip()
        return await updated(
            self._commands, f"jobid={job.handle}", "priority=0", f"admincomment={comment}"
        )

    async def _release(self, step: Step, _: Committed) -> Report:
        job = await self._job(step, JobState.HELD, JobState.WAITING)
        return await release_job(self._commands, job, step.arguments["word"])

    async def _allow_requeue(self, step: Step, _: Committed) -> Report:
        job = await self._job(step)
        return await updated(self._commands, f"jobid={job.handle}", "requeue=1")

    async def _signal(self, step: Step, _: Committed) -> Report:
        job = await self._job(step, JobState.RUNNING)
        signal = step.arguments["signal"]
        answer = report_of(
            "scancel",
            await self._commands.change("scancel", f"--signal={signal}", "--batch", job.id),
        )
        if answer.status is ReportStatus.DONE:
            self._observer.remember_signal(job.id, step.arguments["asked"], signal)
        return answer

    async def _probe(self, step: Step, _: Committed) -> Report:
        """Neither the batch script nor slurmd's own steps get it, but every node does."""
        job = await self._job(step, JobState.RUNNING)
        if step.arguments["node"] not in job.nodes:
            raise ChangedError(f"job {job.id} has left {step.arguments['node']}")
        arguments = (f"--signal={IGNORED}", job.id)
        answer = report_of("scancel", await self._commands.change("scancel", *arguments))
        if answer.status in (ReportStatus.DONE, ReportStatus.UNKNOWN):
            node = step.arguments["node"]
            self._observer.remember_signal(node, step.arguments["asked"], IGNORED)
        return answer

    async def _requeue(self, step: Step, _: Committed) -> Report:
        died = step.precondition.get("died", "")
        job = await self._job(step, JobState.FINISHED if died else JobState.RUNNING)
        if died and job.slurm_state != died:
            raise ChangedError(f"job {job.id} is {job.slurm_state.lower()} by now")
        nodes = job.nodes
        if job.heterogeneous:
            lines = await self._reader.component_lines(job.base_id)
            nodes = nodes_of(
                [component for component in map(job_of, lines.splitlines()) if component]
            )
        if not died and ",".join(nodes) != step.precondition["nodes"]:
            raise ChangedError(f"job {job.id} runs on other nodes by now")
        return report_of(
            "scontrol", await self._commands.change("scontrol", "requeue", job.base_id)
        )

    async def _cancel(self, step: Step, _: Committed) -> Report:
        job = await self._job(step)
        return report_of("scancel", await self._commands.change("scancel", job.base_id))

    async def _steer(self, step: Step, _: Committed) -> Report:
        job = await self._job(step, JobState.WAITING, JobState.HELD, JobState.COMPLETING)
        changes = [f"{key}={step.arguments[key]}" for key in _STEERED if key in step.arguments]
        return await updated(self._commands, f"jobid={job.handle}", *changes)

    async def _leave_reservation(self, step: Step, _: Committed) -> Report:
        """Of a job that runs nothing but its reservation can be changed."""
        job = await self._job(step, JobState.RUNNING)
        name = step.arguments["ReservationName"]
        return await updated(self._commands, f"jobid={job.handle}", f"ReservationName={name}")

    async def _start(self, step: Step, _: Committed) -> Report:
        job = await self._job(step, JobState.WAITING)
        if self._clock.wall() < math.floor(job.submitted) + 1:
            return Report(status=ReportStatus.RETRY, text="the same second", again_after_s=1.0)
        return await updated(self._commands, f"jobid={job.handle}", "StartTime=now")
