"""The action: hooks as configured, their reports, and what is observed."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from accelwatch.action.contract import ActionContext, ActionUnavailableError
from accelwatch.action.following import followed
from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import NodeObservation, Observed
from accelwatch.action.step import (
    Committed,
    Proposal,
    Recovery,
    Report,
    ReportStatus,
    StartedStep,
    Step,
    StepKind,
)
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.plugins.options import checked
from accelwatch_script import answer, evaluation, observation
from accelwatch_script.call import Call, of_intent
from accelwatch_script.checkpoint_search import CheckpointSearch
from accelwatch_script.process.command import MOST_KEPT
from accelwatch_script.program_hook import ProgramHook, Slots, user_of
from accelwatch_script.request_hook import RequestHook
from accelwatch_script.settings import OBSERVE, SURVEY, HookOptions, ScriptOptions, check
from accelwatch_script.step_call import call_of_step, intent_of, key_of

_MOST_SURVEY = 4 << 20
_MAX_REPORTS = 1024
_OF_RUNS = frozenset({IntentKind.MOVE_JOB, IntentKind.FOLLOW_JOB})
# Answers to a poll after which what was accepted is accepted still.
_INCONCLUSIVE = frozenset({ReportStatus.RETRY, ReportStatus.UNKNOWN})


class _Pending(msgspec.Struct):
    """A call's report, as long as nobody has seen its effect."""

    call: Call
    report: Report
    # Monotonic seconds.
    at: float
    poll_at: float


class ScriptAction:
    """Speaks to a site's own scripts."""

    def __init__(self, context: ActionContext) -> None:
        """Raises ConfigError."""
        options = checked(context.options, ScriptOptions)
        check(options)
        self._clock = context.clock
        self._environ = context.environ
        self._slots = Slots(options.parallel)
        self._user = user_of(options.user)
        self.hooks = {
            kind: self._hook(f"hooks.{kind.value}", hook) for kind, hook in options.hooks.items()
        }
        self.observer = self._optional(OBSERVE, options.observe)
        self.survey_hook = self._optional(SURVEY, options.survey)
        self._checkpoints = (
            None
            if options.checkpoints is None
            else CheckpointSearch(options.checkpoints, self._user)
        )
        self._reports: OrderedDict[str, _Pending] = OrderedDict()
        self._polling: dict[str, asyncio.Task[None]] = {}

    def _optional(self, key: str, options: HookOptions | None) -> ProgramHook | RequestHook | None:
        return None if options is None else self._hook(key, options)

    def _hook(self, key: str, options: HookOptions) -> ProgramHook | RequestHook:
        if options.url:
            return RequestHook(key, options, self._environ, self._clock)
        return ProgramHook(
            key,
            options,
            self._environ,
            self._slots,
            user=self._user,
            is_observer=key in (OBSERVE, SURVEY),
            kept=_MOST_SURVEY if key == SURVEY else MOST_KEPT,
        )

    @property
    def intents(self) -> frozenset[IntentKind]:
        """What it has a hook for; who sees jobs and moves them can follow them too."""
        follows = self.observer is not None and IntentKind.MOVE_JOB in self.hooks
        return frozenset({*self.hooks, *([IntentKind.FOLLOW_JOB] if follows else [])})

    @property
    def steps(self) -> Mapping[str, StepKind]:
        """What the hooks are declared to be."""
        observing = self.observer.longest_s if self.observer is not None else 0.0
        return MappingProxyType(
            {
                kind.value: StepKind(
                    idempotent=hook.options.idempotent,
                    reversible=hook.options.reversible,
                    timeout_s=hook.longest_s + observing,
                    settle_s=hook.longest_s + hook.options.observe_for_s,
                    observe_for_s=hook.options.observe_for_s,
                )
                for kind, hook in self.hooks.items()
            }
        )

    def complaints(self) -> Sequence[str]:
        """Programs that would not be run now, each with its key and the mend."""
        hooks = {f"hooks.{kind.value}": hook for kind, hook in self.hooks.items()}
        observers = {OBSERVE: self.observer, SURVEY: self.survey_hook}
        named = {**{key: hook for key, hook in observers.items() if hook is not None}, **hooks}
        return [f"{key}: {problem}" for key, hook in named.items() if (problem := hook.complaint())]

    async def observe_all(self) -> Sequence[NodeObservation]:
        """What the survey hook sees; nothing without one. Raises ActionUnavailableError."""
        if self.survey_hook is None:
            return ()
        deadline = self._clock.wall() + self.survey_hook.timeout_s
        return observation.all_nodes(
            await self.survey_hook.run(Call(hook=SURVEY, deadline=deadline))
        )

    async def observe(self, intent: Intent) -> Observed:
        """What is observed now, and the report of the call before. Raises ActionUnavailableError."""
        key = key_of(msgspec.json.encode(intent))
        self._poll_if_due(key)
        observed = await self._with_checkpoint(intent, await self._run_observer(intent))
        pending = self._reports.get(key)
        if pending is None:
            return observed
        if evaluation.is_achieved(intent, observed):
            del self._reports[key]
            return observed
        return observation.with_report(
            observed, pending.report, self._clock.monotonic() - pending.at
        )

    async def _run_observer(self, intent: Intent) -> Observed:
        now = self._clock.wall()
        if self.observer is None:
            return Observed(time=now)
        call = of_intent(intent, None, "", now + self.observer.timeout_s)
        call = msgspec.structs.replace(call, hook=OBSERVE)
        return observation.observed(await self.observer.run(call), intent, now)

    async def _with_checkpoint(self, intent: Intent, observed: Observed) -> Observed:
        search, job = self._checkpoints, intent.job
        if intent.kind not in _OF_RUNS or job is None:
            return observed
        newest, before = (
            observed.own.get(observation.CHECKPOINT, ""),
            observed.own.get(observation.BEFORE, ""),
        )
        if search is None:
            return observation.with_checkpoint(observed, newest, before, None)
        if not newest:
            newest, before = await search.newest(str(job))
        return observation.with_checkpoint(
            observed, newest, before, search.step_of(str(job), newest)
        )

    def _poll_if_due(self, key: str) -> None:
        """Poll an accepted operation when it is due; nobody waits for the answer."""
        pending = self._reports.get(key)
        if pending is None or pending.report.status is not ReportStatus.ACCEPTED:
            return
        now = self._clock.monotonic()
        if not pending.report.reference or now < pending.poll_at or key in self._polling:
            return
        pending.poll_at = now + observation.poll_after_s(pending.report)
        self._polling[key] = task = asyncio.create_task(self._poll(key, pending))
        task.add_done_callback(lambda _: self._polling.pop(key, None))

    async def _poll(self, key: str, pending: _Pending) -> None:
        hook = self.hooks[IntentKind(pending.call.hook)]
        call = msgspec.structs.replace(
            pending.call,
            poll=pending.report.reference,
            deadline=self._clock.wall() + hook.timeout_s,
        )
        report = (await hook.run(call)).report
        if self._reports.get(key) is not pending or report.status in _INCONCLUSIVE:
            return
        if report.status is ReportStatus.ACCEPTED and not report.reference:
            report = msgspec.structs.replace(report, reference=pending.report.reference)
        self._store_report(key, pending.call, report)

    def propose(self, intent: Intent, observed: Observed) -> Proposal:
        """The hook to call next, or why there is none."""
        if intent.kind is IntentKind.FOLLOW_JOB and intent.kind in self.intents:
            return followed(intent, observed.job, observed.time)
        hook = self.hooks.get(intent.kind)
        return evaluation.proposal(intent, observed, None if hook is None else hook.options)

    async def perform(self, step: Step, operation: Committed) -> Report:
        """Call the hook of a step. Raises nothing."""
        try:
            intent, last = intent_of(step)
            hook = self.hooks[IntentKind(step.kind)]
        except (*DECODE_ERRORS, KeyError, ValueError) as error:
            return answer.refused(f"no step of ours: {error}").report
        if self._clock.wall() > operation.deadline:
            return answer.refused("its time is over").report
        if operation.dry_run and not hook.options.dry_run:
            text = f"dry run: the hook {step.kind} would be called"
            return Report(status=ReportStatus.DONE, text=text)
        if changed := await self._changed(intent, step):
            return changed
        call = msgspec.structs.replace(
            call_of_step(intent, last, step, operation.operation, operation.attempt),
            deadline=min(operation.deadline, self._clock.wall() + hook.timeout_s),
            fence=operation.annotation.token,
            dry_run=operation.dry_run,
        )
        report = (await hook.run(call, operation.withdrawn)).report
        if not operation.dry_run and report.status is not ReportStatus.NOT_STARTED:
            self._store_report(key_of(step.arguments[evaluation.INTENT].encode()), call, report)
        return report

    def resume_operation(self, started_step: StartedStep, operation: str, attempt: int) -> None:
        """Go on asking for what was accepted, maybe by another process; what is known stays as it is."""
        report = started_step.report
        if report is None or report.status is not ReportStatus.ACCEPTED or not report.reference:
            return
        try:
            intent, last = intent_of(started_step.step)
            key = key_of(started_step.step.arguments[evaluation.INTENT].encode())
        except (*DECODE_ERRORS, KeyError):
            return
        if key not in self._reports and intent.kind in self.hooks:
            self._store_report(
                key, call_of_step(intent, last, started_step.step, operation, attempt), report
            )
            self._reports[key].poll_at = self._clock.monotonic()

    async def _changed(self, intent: Intent, step: Step) -> Report | None:
        """Why a step must not be done any more: what it was proposed for is not so now."""
        if not step.precondition:
            return None
        try:
            now = evaluation.precondition(intent, await self._run_observer(intent))
        except ActionUnavailableError as error:
            return Report(status=ReportStatus.RETRY, text=str(error))
        for name, value in step.precondition.items():
            if now.get(name) != value:
                text = f"{name} was {value!r} and is {now.get(name)!r}: not called"
                return answer.refused(text).report
        return None

    def _store_report(self, key: str, call: Call, report: Report) -> None:
        now = self._clock.monotonic()
        self._reports[key] = _Pending(call, report, now, now + observation.poll_after_s(report))
        self._reports.move_to_end(key)
        while len(self._reports) > _MAX_REPORTS:
            self._reports.popitem(last=False)

    def recover(self, started_step: StartedStep, observed: Observed) -> Recovery:
        """What has become of a call that nobody saw the end of."""
        try:
            intent = msgspec.json.decode(
                started_step.step.arguments[evaluation.INTENT], type=Intent
            )
            hook = self.hooks[IntentKind(started_step.step.kind)]
        except (*DECODE_ERRORS, KeyError, ValueError):
            return Recovery.UNKNOWN
        return evaluation.recovery(started_step, intent, observed, hook.options, hook.longest_s)

    async def close(self) -> None:
        """End what still runs, and give connections back."""
        tasks = list(self._polling.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for hook in (*self.hooks.values(), self.observer, self.survey_hook):
            if hook is not None:
                await hook.close()
