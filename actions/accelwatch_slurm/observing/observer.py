"""Reads what an intent is about, and the whole cluster for a poll."""

import asyncio
from collections.abc import Sequence

from accelwatch.action.intent import Intent, IntentKind, JobKey
from accelwatch.action.observed import (
    HoldState,
    JobState,
    NodeObservation,
    Observed,
    ReservationObservation,
)
from accelwatch.base.clock import Clock
from accelwatch_slurm.commands.commands import Commands
from accelwatch_slurm.commands.options import SlurmOptions
from accelwatch_slurm.commands.reading import Controller, Reader
from accelwatch_slurm.observing.first_seen import MOST_REMEMBERED, FirstSeen
from accelwatch_slurm.observing.job_files import JobFiles
from accelwatch_slurm.observing.observed_job import job_in_context
from accelwatch_slurm.observing.proofs import NodeProofs
from accelwatch_slurm.texts.hold_state import observed_node
from accelwatch_slurm.texts.job_text import SlurmJob, job_of
from accelwatch_slurm.texts.node_text import SlurmNode
from accelwatch_slurm.texts.observed_context import (
    BAD,
    BUSY,
    CHECKPOINT,
    COMPONENTS,
    CYCLE,
    JOB,
    JOBS,
    LINGERING,
    NODE,
    OFF,
    PROOF,
    REBOOTS,
    RESERVATIONS,
    SIGNALLED,
    TRIAL,
    observed_context_of,
    trial_name,
)
from accelwatch_slurm.texts.reservation_text import OF_JOB, SlurmReservation

_WITH_JOBS = (IntentKind.QUARANTINE, IntentKind.FENCE, IntentKind.REBOOT)
_EMPTIED = (IntentKind.FENCE, IntentKind.REBOOT)
_PROVEN = (IntentKind.FENCE, IntentKind.MOVE_JOB)
# After which a job that ends counts as kept by a hung node or a long epilog.
_LINGERS_S = 2.0


class Observer:
    """Reads for intents; remembers signals sent, and since when jobs end."""

    def __init__(
        self, options: SlurmOptions, commands: Commands, reader: Reader, clock: Clock
    ) -> None:
        self._options = options
        self._reader = reader
        self._clock = clock
        self._signalled: dict[tuple[str, str], str] = {}
        # By job, since when it ends.
        self._completing = FirstSeen[str](clock)
        self._files = JobFiles(options, commands)
        self._proofs = NodeProofs(options, commands, reader, clock)
        # As of the latest poll; None before the first.
        self.controller: Controller | None = None

    def remember_signal(self, whom: str, request: str, signal: str) -> None:
        """That a job, or the jobs of a node, were sent a signal for an intent; a restart forgets it."""
        if len(self._signalled) > MOST_REMEMBERED:
            self._signalled.clear()
        self._signalled[whom, request] = signal

    async def observe_all(self) -> list[NodeObservation]:
        """All nodes; `controller` then has the start time of the controller that answered."""
        (nodes, now), jobs, reservations = await asyncio.gather(
            self._nodes_and_controller(), self._reader.job_table(), self._reader.reservations()
        )
        while self.controller is None or now.boot != self.controller.boot:
            # It may have been started between the two reads: what it shows now is of this start.
            self.controller = now
            nodes, now = await self._nodes_and_controller()
        self.controller = now
        field = self._options.mark
        return [
            observed_node(
                node,
                reservations,
                field,
                jobs.by_node.get(node.name, ()),
                restartable=jobs.restartable,
                owners=jobs.owners,
            )
            for node in nodes
        ]

    async def _nodes_and_controller(self) -> tuple[list[SlurmNode], Controller]:
        """All nodes, and since when the controller runs, read in this order."""
        nodes = await self._reader.nodes()
        return nodes, await self._reader.controller()

    async def reservations(self) -> list[ReservationObservation]:
        """The reservations that keep the nodes of jobs, with the job of each as Slurm knows it."""
        shown = (await self._reader.reservations()).values()
        ours = [reservation for reservation in shown if reservation.name.startswith(OF_JOB)]
        # As many are read together as there are threads: a poll waits for all of them.
        return list(await asyncio.gather(*map(self._job_of_reservation, ours)))

    async def _job_of_reservation(self, shown: SlurmReservation) -> ReservationObservation:
        """An array's task and a component of a heterogeneous job look the same in the name."""
        number, _, index = shown.name.removeprefix(OF_JOB).partition("-")
        suffixes = (f"_{index}", f"+{index}") if index else ("",)
        cluster = (await self._reader.cluster()).name
        node = shown.nodes[0] if shown.nodes else ""
        for suffix in suffixes:
            job = job_of(await self._reader.job_line(f"{number}{suffix}"))
            if job is not None:
                key = JobKey(cluster, number, job.submitted, suffix.removeprefix("_"))
                return ReservationObservation(name=shown.name, node=node, job=key)
        key = JobKey(cluster, number, 0.0, suffixes[0].removeprefix("_"))
        return ReservationObservation(name=shown.name, node=node, job=key)

    async def observe(self, intent: Intent) -> Observed:
        """What an intent is about."""
        bad = intent.avoided
        keys: Sequence[JobKey] = ()
        node, nodes, reservations, job = await asyncio.gather(
            self._reader.node_line(intent.node),
            asyncio.gather(*(self._reader.node_line(name) for name in bad if name != intent.node)),
            self._reader.reservation_lines((*bad, intent.spare), self._options.spares),
            self._reader.job_line(str(intent.job)) if intent.job else _nothing(),
        )
        if intent.node in bad:
            nodes = [node, *nodes]
        own = {NODE: node, RESERVATIONS: reservations}
        if intent.job is not None:
            own |= {JOB: job, BAD: "\n".join(filter(None, nodes))}
            parsed = job_of(job)
            if parsed is not None and parsed.heterogeneous:
                own[COMPONENTS] = await self._reader.component_lines(parsed.base_id)
        if intent.kind in _WITH_JOBS and node:
            keys = (await self._reader.jobs()).get(intent.node, ())
        if intent.kind in _EMPTIED:
            own[JOBS] = await self._reader.job_lines(keys)
        own |= await self._of_kind(intent, job)
        proven = False
        if intent.kind in _PROVEN:
            own[BAD] = "\n".join(filter(None, nodes))
            lost = intent.kind is IntentKind.FENCE
            own[OFF] = ",".join(await self._proofs.nodes_without_power(own[BAD], lost=lost))
            proven, own[PROOF] = await self._proofs.proof(intent, own)
        return self._observed(intent, own, keys, proven)

    async def _of_kind(self, intent: Intent, job: str) -> dict[str, str]:
        """What only intents of its kind are about."""
        match intent.kind:
            case IntentKind.TEST:
                trial = await self._reader.trial_line(trial_name(intent))
                return {TRIAL: trial, BUSY: "" if trial else await self._busy(intent)}
            case IntentKind.REBOOT:
                return {REBOOTS: "yes" if (await self._reader.controller()).reboots else ""}
            case IntentKind.SIGNAL_JOB:
                key = str(intent.job), repr(intent.asked)
                return {SIGNALLED: self._signalled.get(key, "")}
            case IntentKind.SWAP_IN_JOB if intent.job is not None:
                return {CYCLE: await self._files.cycle(intent.job)}
            case IntentKind.PROBE:
                sent = self._signalled.get((intent.node, repr(intent.asked)), "")
                keys = () if sent else (await self._reader.jobs()).get(intent.node, ())
                return {SIGNALLED: sent, JOBS: await self._reader.job_lines(keys)}
            case IntentKind.MOVE_JOB | IntentKind.FOLLOW_JOB if intent.job is not None:
                lingering = self._lingering(str(intent.job), job_of(job))
                return {CHECKPOINT: await self._files.checkpoint(intent.job), LINGERING: lingering}
        return {}

    async def _busy(self, intent: Intent) -> str:
        """Those of the idle nodes of a test that have got a job, with commas between them."""
        idle = [name for name in dict.fromkeys((intent.spare, intent.peer)) if name]
        jobs = await self._reader.jobs() if idle else {}
        return ",".join(name for name in idle if jobs.get(name))

    def _observed(
        self, intent: Intent, own: dict[str, str], keys: Sequence[JobKey], proven: bool
    ) -> Observed:
        observed = Observed(time=self._clock.wall(), own=own, proven_dead=proven)
        context = observed_context_of(observed, self._options.mark)
        node = NodeObservation(name=intent.node, hold_state=HoldState.MISSING)
        if context.node is not None:
            node = observed_node(context.node, context.reservations, context.field, keys)
        return Observed(
            time=observed.time,
            node=node,
            job=None if intent.job is None else job_in_context(intent.job, context, self._options),
            proven_dead=proven,
            own=own,
        )

    def _lingering(self, name: str, job: SlurmJob | None) -> str:
        """For how long a job has been seen to end, in words; empty while that is not long.

        Slurm does not report when that began: SubmitTime is set anew when it has ended.
        """
        if job is None or job.state is not JobState.COMPLETING:
            self._completing.forget(name)
            return ""
        for_s = self._completing.elapsed_s(name)
        return f"job {job.id} has been ending for {for_s:.0f} s" if for_s >= _LINGERS_S else ""


async def _nothing() -> str:
    return ""
