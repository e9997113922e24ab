"""How things stand for an intent: what is read, remembered and proven."""

import asyncio
import sys
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from accelwatch.action import cycle_files
from accelwatch.action.intent import Intent, IntentKind, JobKey
from accelwatch.action.observed import (
    HoldState,
    JobObservation,
    JobState,
    NodeObservation,
    Observed,
    ReservationObservation,
)
from accelwatch.action.power_switch import PowerState
from accelwatch.base.clock import Clock
from accelwatch_slurm.commands.commands import Commands
from accelwatch_slurm.commands.options import SlurmOptions
from accelwatch_slurm.commands.reading import Controller, Reader
from accelwatch_slurm.proposals.fencing import Answered, is_out, is_set_down, proof_of
from accelwatch_slurm.texts.hold_state import observed_node
from accelwatch_slurm.texts.job_components import nodes_of
from accelwatch_slurm.texts.job_text import SlurmJob, job_of
from accelwatch_slurm.texts.node_text import SlurmNode, node_of
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
    ObservedContext,
    observed_context_of,
    trial_name,
)
from accelwatch_slurm.texts.reservation_text import OF_JOB, SlurmReservation

_WITH_JOBS = (IntentKind.QUARANTINE, IntentKind.FENCE, IntentKind.REBOOT)
_EMPTIED = (IntentKind.FENCE, IntentKind.REBOOT)
_PROVEN = (IntentKind.FENCE, IntentKind.MOVE_JOB)
# For the search of a checkpoint; what is not found in time is not known.
_SEARCH_S = 5.0
_MOST_REMEMBERED = 1024
# After which a job that ends is taken for one that a hung node or a long epilog keeps.
_LINGERS_S = 2.0
_Key = TypeVar("_Key")
# Of the controller's time-outs, which it takes a little longer to act on.
_SLACK = 1.2


class Observer:
    """Reads for intents; remembers signals sent, and since when a slurmd answers."""

    def __init__(
        self, options: SlurmOptions, commands: Commands, reader: Reader, clock: Clock
    ) -> None:
        self._options = options
        self._commands = commands
        self._reader = reader
        self._clock = clock
        self._answering: dict[tuple[str, float | None], float] = {}
        self._signalled: dict[tuple[str, str], str] = {}
        # By job: monotonic seconds at which it was first seen to end.
        self._completing: dict[str, float] = {}
        self._power = PowerState(
            options.power_state, options.power_timeout_s, self._has_no_power, clock
        )

        # As of the latest poll; None before the first.
        self.controller: Controller | None = None

    def remember_signal(self, whom: str, request: str, signal: str) -> None:
        """That a job, or the jobs of a node, were sent a signal for an intent; a restart forgets it."""
        if len(self._signalled) > _MOST_REMEMBERED:
            self._signalled.clear()
        self._signalled[whom, request] = signal

    async def observe_all(self) -> list[NodeObservation]:
        """All nodes, read after the start of the controller that `controller` then tells."""
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
        """All nodes, and since when the controller runs, asked in this order."""
        nodes = await self._reader.nodes()
        return nodes, await self._reader.controller()

    async def reservations(self) -> list[ReservationObservation]:
        """The reservations that keep the places of jobs, with the job of each as Slurm knows it."""
        shown = (await self._reader.reservations()).values()
        ours = [reservation for reservation in shown if reservation.name.startswith(OF_JOB)]
        # As many are asked for together as there are threads: a poll waits for all of them.
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
            own[OFF] = ",".join(await self._without_power(own[BAD], lost=lost))
            proven, own[PROOF] = await self._proof(intent, own)
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
                return {CYCLE: await self._cycle(intent.job)}
            case IntentKind.PROBE:
                sent = self._signalled.get((intent.node, repr(intent.asked)), "")
                keys = () if sent else (await self._reader.jobs()).get(intent.node, ())
                return {SIGNALLED: sent, JOBS: await self._reader.job_lines(keys)}
            case IntentKind.MOVE_JOB | IntentKind.FOLLOW_JOB if intent.job is not None:
                lingering = self._lingering(str(intent.job), job_of(job))
                return {CHECKPOINT: await self._checkpoint(intent.job), LINGERING: lingering}
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
            job=None if intent.job is None else self._observed_job(intent.job, context),
            proven_dead=proven,
            own=own,
        )

    def _observed_job(self, key: JobKey, context: ObservedContext) -> JobObservation:
        observed, checkpoints = observed_job(key, context.job), context.own.get(CHECKPOINT, "")
        if context.components and observed.nodes:
            observed = msgspec.structs.replace(observed, nodes=nodes_of(context.components))
        options = self._options.checkpoints
        if options is None or not checkpoints:
            return observed
        newest, earlier = options.read(checkpoints)
        step = options.step_of(str(key), newest)
        return msgspec.structs.replace(observed, checkpoint=newest, earlier=earlier, step=step)

    def _lingering(self, name: str, job: SlurmJob | None) -> str:
        """For how long a job has been seen to end, in words; empty while that is not long.

        Slurm tells of no moment at which it began to: SubmitTime is set anew when it has ended.
        """
        if job is None or job.state is not JobState.COMPLETING:
            self._completing.pop(name, None)
            return ""
        for_s = self._observed_for_s(self._completing, name)
        return f"job {job.id} has been ending for {for_s:.0f} s" if for_s >= _LINGERS_S else ""

    async def _checkpoint(self, key: JobKey) -> str:
        """The newest two checkpoints of a job, a line each; empty where none is found in time."""
        options = self._options.checkpoints
        if options is None:
            return ""
        result = await self._commands.program(options.search(str(key)), _SEARCH_S)
        return result.output.decode("utf-8", "replace") if result.ok else ""

    async def _cycle(self, key: JobKey) -> str:
        """The text of a job's newest cycle file; empty where none is read in time."""
        folder = self._options.cycle_info
        if not folder:
            return ""
        argv = (sys.executable, "-IS", cycle_files.__file__, folder, key.id)
        result = await self._commands.program(argv, _SEARCH_S)
        return result.output.decode("utf-8", "replace") if result.ok else ""

    async def _without_power(self, lines: str, *, lost: bool) -> list[str]:
        """The nodes of some lines that have no power.

        Only those that we set down are asked after, and with `lost` silent ones that we hold.
        """
        if not self._options.power_state:
            return []
        nodes = [node for node in map(node_of, lines.splitlines()) if node is not None]
        is_eligible = is_out if lost else is_set_down
        eligible = [node.name for node in nodes if is_eligible(node)]
        off = await asyncio.gather(*map(self._power.is_off, eligible))
        return [name for name, is_off in zip(eligible, off, strict=True) if is_off]

    async def _has_no_power(self, argv: Sequence[str], timeout_s: float) -> bool:
        """Whether the site's own command ends with 0."""
        return (await self._commands.program(argv, timeout_s)).ok

    async def _proof(self, intent: Intent, own: dict[str, str]) -> tuple[bool, str]:
        """Whether nothing runs on any bad node that does not answer, and why."""
        cluster = await self._reader.cluster()
        now = self._clock.wall()
        context = observed_context_of(Observed(time=now, own=own), self._options.mark)
        proofs = []
        for name in intent.may_run_on:
            node = context.bad.get(name)
            if node is None or (node.answering and not node.down and name != intent.node):
                continue
            answered = Answered(
                for_s=self._answered_s(context, name),
                silence_s=cluster.message_timeout_s * _SLACK,
                kill_s=cluster.kill_wait_s * _SLACK,
            )
            proofs.append(proof_of(context, name, answered))
        return bool(proofs) and all(proofs), "; ".join(filter(None, dict.fromkeys(proofs)))

    def _answered_s(self, context: ObservedContext, name: str) -> float:
        """Seconds for which a node has been seen to answer since its reason was set."""
        node = context.bad[name]
        key = name, node.set_at
        if not node.answering:
            self._answering.pop(key, None)
            return 0.0
        return self._observed_for_s(self._answering, key)

    def _observed_for_s(self, since: dict[_Key, float], key: _Key) -> float:
        """Seconds since it was first seen to be so; a table that has grown too large begins anew."""
        if len(since) > _MOST_REMEMBERED:
            since.clear()
        now = self._clock.monotonic()
        return now - since.setdefault(key, now)


async def _nothing() -> str:
    return ""


def observed_job(key: JobKey, job: SlurmJob | None) -> JobObservation:
    """The job in the words of the contract, under the key it was asked for by."""
    if job is None or not job.is_of(key):
        return JobObservation(key=key, state=JobState.MISSING)
    return JobObservation(
        key=key,
        state=job.state,
        user=job.user,
        submitted=job.submitted,
        nodes=job.nodes,
        restarts=job.restarts,
        started=job.started,
        may_start=job.may_start,
        requeueable=job.requeueable,
        interactive=not job.batch,
        failed=job.died,
        text=f"{job.slurm_state.lower()}, exit code {job.exit_code}" if job.died else job.reason,
    )
