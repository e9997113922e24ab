"""The action: reads, proposes, performs, recovers; each by a module of its own."""

import shlex
from collections.abc import Mapping, Sequence

from accelwatch.action.contract import ActionContext
from accelwatch.action.following import followed
from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import NodeObservation, Observed, ReservationObservation
from accelwatch.action.step import (
    Committed,
    Proposal,
    Recovery,
    Refusal,
    RefusalKind,
    Report,
    StartedStep,
    Step,
    StepKind,
)
from accelwatch.plugins.options import checked
from accelwatch_slurm.commands.commands import Commands
from accelwatch_slurm.commands.options import SlurmOptions
from accelwatch_slurm.commands.performing import Performer
from accelwatch_slurm.commands.reading import Reader
from accelwatch_slurm.effects.fence_steps import FenceSteps
from accelwatch_slurm.effects.job_steps import JobSteps
from accelwatch_slurm.effects.node_steps import NodeSteps
from accelwatch_slurm.effects.reservation_steps import ReservationSteps
from accelwatch_slurm.effects.trial_steps import TrialSteps
from accelwatch_slurm.observing.observer import Observer
from accelwatch_slurm.proposals.draining import propose_quarantine, propose_release
from accelwatch_slurm.proposals.fencing import propose_fence
from accelwatch_slurm.proposals.moving import propose_move, reserve_first
from accelwatch_slurm.proposals.probing import propose_probe
from accelwatch_slurm.proposals.rebooting import NO_PROGRAM, propose_reboot
from accelwatch_slurm.proposals.recovering import recovered
from accelwatch_slurm.proposals.restoring import propose_restore
from accelwatch_slurm.proposals.signalling import propose_cancel, propose_signal
from accelwatch_slurm.proposals.swapping import propose_swap
from accelwatch_slurm.proposals.testing import propose_spare, propose_test
from accelwatch_slurm.texts.observed_context import ObservedContext, observed_context_of
from accelwatch_slurm.texts.steps import INTENTS, steps_of


class SlurmAction:
    """One cluster."""

    def __init__(self, context: ActionContext) -> None:
        """Raises ConfigError."""
        self._options = options = checked(context.options, SlurmOptions)
        self._commands = commands = Commands(options)
        reader = Reader(commands)
        self._observer = observer = Observer(options, commands, reader, context.clock)
        nodes = NodeSteps(options, commands, reader, context.clock)
        handlers = nodes.handlers()
        handlers |= FenceSteps(options, commands, reader, nodes).handlers()
        handlers |= TrialSteps(options, commands, reader).handlers()
        handlers |= JobSteps(commands, reader, observer, context.clock).handlers()
        handlers |= ReservationSteps(commands, reader).handlers()
        self._steps = steps_of(power_timeout_s=options.power_timeout_s)
        self._performer = Performer(handlers, self._steps, context.clock)

    @property
    def intents(self) -> frozenset[IntentKind]:
        """The intents that it carries out; probes and swaps only where the options say so."""
        probes = {IntentKind.PROBE} if self._options.probe_silent else set()
        swaps = {IntentKind.SWAP_IN_JOB} if self._options.cycle_info else set()
        return INTENTS | probes | swaps

    @property
    def corrects(self) -> frozenset[IntentKind]:
        """A job waits, maybe for hours, with a list of the nodes that are bad."""
        return frozenset({IntentKind.MOVE_JOB})

    @property
    def steps(self) -> Mapping[str, StepKind]:
        """What its steps are like."""
        return self._steps

    async def observe_all(self) -> Sequence[NodeObservation]:
        """All nodes at once. Raises ActionUnavailableError."""
        return await self._observer.observe_all()

    @property
    def controller_boot(self) -> str:
        """When the controller of the latest poll was started."""
        controller = self._observer.controller
        return "" if controller is None else controller.boot

    @property
    def impossible(self) -> Mapping[IntentKind, str]:
        """What Slurm, as it is configured, would refuse."""
        controller = self._observer.controller
        if controller is None or controller.reboots:
            return {}
        return {IntentKind.REBOOT: NO_PROGRAM}

    async def reservations(self) -> Sequence[ReservationObservation]:
        """Those that keep the nodes of jobs. Raises ActionUnavailableError."""
        return await self._observer.reservations()

    async def observe(self, intent: Intent) -> Observed:
        """How things stand for an intent, read now. Raises ActionUnavailableError."""
        return await self._observer.observe(intent)

    def propose(self, intent: Intent, observed: Observed) -> Proposal:
        """The next step towards it, or why there is none. Pure."""
        context = observed_context_of(observed, self._options.mark)
        if intent.kind not in self.intents:
            return Refusal(RefusalKind.IMPOSSIBLE, f"Slurm cannot do that: {intent.kind.value}")
        match intent.kind:
            case IntentKind.QUARANTINE:
                return propose_quarantine(intent, context)
            case IntentKind.RELEASE:
                return propose_release(intent, context)
            case IntentKind.FENCE:
                return propose_fence(intent, context, power_off=bool(self._options.power_off))
            case IntentKind.MOVE_JOB:
                return propose_move(intent, context, reserve_nodes=self._options.hold_place)
            case IntentKind.RESTORE_JOB:
                return propose_restore(intent, context)
            case IntentKind.SIGNAL_JOB:
                return propose_signal(intent, context)
            case IntentKind.CANCEL_JOB:
                return propose_cancel(intent, context)
            case IntentKind.FOLLOW_JOB:
                return followed(intent, observed.job, observed.time)
        return self._propose_rest(intent, context)

    def _propose_rest(self, intent: Intent, context: ObservedContext) -> Proposal:
        options = self._options
        match intent.kind:
            case IntentKind.PROBE:
                return propose_probe(intent, context)
            case IntentKind.SWAP_IN_JOB:
                return propose_swap(intent, context)
            case IntentKind.REBOOT:
                return propose_reboot(intent, context, has_field=options.mark != "none")
            case IntentKind.TEST:
                tests = options.tests
                users, minutes = options.test_users, options.test_minutes
                return propose_test(intent, context, tests=tests, users=users, minutes=minutes)
            case IntentKind.DRAW_SPARE | IntentKind.RETURN_SPARE:
                return self._propose_spare(intent, context)
        return Refusal(RefusalKind.IMPOSSIBLE, f"Slurm cannot do that: {intent.kind.value}")

    def _propose_spare(self, intent: Intent, context: ObservedContext) -> Proposal:
        """A spare is reserved for the job that needs it before anybody else may have it."""
        options, draw = self._options, intent.kind is IntentKind.DRAW_SPARE
        if (
            draw
            and options.spares
            and options.hold_place
            and (reservation := reserve_first(intent, context))
        ):
            return reservation
        name, users = options.spares, options.spare_users
        return propose_spare(intent, context, name=name, users=users, draw=draw)

    async def perform(self, step: Step, operation: Committed) -> Report:
        """Do one step. Raises nothing: the report says what went wrong."""
        return await self._performer.perform(step, operation)

    def recover(self, started_step: StartedStep, observed: Observed) -> Recovery:
        """What has become of a step whose end nobody saw. Pure."""
        return recovered(started_step, observed_context_of(observed, self._options.mark))

    def needs(self, kind: IntentKind) -> str:
        """Which option has to be given for it, and how; empty when nothing is missing."""
        options = self._options
        if kind in (IntentKind.DRAW_SPARE, IntentKind.RETURN_SPARE) and not options.spares:
            return (
                "options.spares of slurm has to name the reservation over the spares: "
                "scontrol create reservation=spare-nodes nodes=... users=... starttime=now "
                "duration=infinite, and options: {spares: spare-nodes}"
            )
        if kind in (IntentKind.REBOOT, IntentKind.TEST) and options.mark == "none":
            return "options.mark of slurm is none; write extra or comment"
        if kind is IntentKind.TEST and not options.tests:
            return "options.tests of slurm has none"
        return ""

    def release_command(self, node: str) -> str:
        """The command that gives a node back, as a person types it."""
        return f"scontrol update nodename={shlex.quote(node)} state=undrain"

    async def close(self) -> None:
        """Accept no more commands."""
        self._commands.close()
