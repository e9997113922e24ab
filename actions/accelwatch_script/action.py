"""The action: hooks as configured, what they told, and what is seen."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from accelwatch.action.contract import ActionContext, ActionUnavailableError
from accelwatch.action.following import followed
from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import JobSeen, NodeSeen, Observed
from accelwatch.action.step import (
    Begun,
    Committed,
    Proposal,
    Recovery,
    Step,
    StepKind,
    Told,
    ToldStatus,
)
from accelwatch.plugins.options import checked
from accelwatch_script import answer, judging, seen
from accelwatch_script.call import Call, of_intent
from accelwatch_script.checkpoint_search import CheckpointSearch
from accelwatch_script.process import MOST_KEPT
from accelwatch_script.program_hook import ProgramHook, Slots, user_of
from accelwatch_script.request_hook import RequestHook
from accelwatch_script.settings import OBSERVE, SURVEY, HookOptions, ScriptOptions, check

_MOST_SURVEY = 4 << 20
_MOST_TOLD = 1024
_OF_RUNS = frozenset({IntentKind.MOVE_JOB, IntentKind.FOLLOW_JOB})
_NOBODY_COULD_SAY = frozenset({ToldStatus.RETRY, ToldStatus.UNKNOWN})
"""Answers to a poll after which what was accepted is accepted still."""


class _Pending(msgspec.Struct):
    """What a call has told, as long as nobody has seen its effect."""

    call: Call
    told: Told
    at: float
    """Monotonic seconds."""
    ask_at: float


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
            kind: self._hook(f"hooks.{kind.value}", one) for kind, one in options.hooks.items()
        }
        self.observer = self._optional(OBSERVE, options.observe)
        self.surveyor = self._optional(SURVEY, options.survey)
        self._checkpoints = (
            None
            if options.checkpoints is None
            else CheckpointSearch(options.checkpoints, self._user)
        )
        self._told: OrderedDict[str, _Pending] = OrderedDict()
        self._asking: dict[str, asyncio.Task[None]] = {}

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
            looks=key in (OBSERVE, SURVEY),
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
        looking = {OBSERVE: self.observer, SURVEY: self.surveyor}
        named = {**{key: hook for key, hook in looking.items() if hook is not None}, **hooks}
        return [f"{key}: {said}" for key, hook in named.items() if (said := hook.complaint())]

    async def survey(self) -> Sequence[NodeSeen]:
        """What the survey hook sees; nothing without one. Raises ActionUnavailableError."""
        if self.surveyor is None:
            return ()
        deadline = self._clock.wall() + self.surveyor.timeout_s
        return seen.surveyed(await self.surveyor.run(Call(hook=SURVEY, deadline=deadline)))

    async def observe(self, intent: Intent) -> Observed:
        """What is seen now, and what the call before has told. Raises ActionUnavailableError."""
        key = _key(msgspec.json.encode(intent))
        self._ask(key)
        observed = await self._with_checkpoint(intent, await self._look(intent))
        pending = self._told.get(key)
        if pending is None:
            return observed
        if judging.as_wanted(intent, observed):
            del self._told[key]
            return observed
        return seen.with_told(observed, pending.told, self._clock.monotonic() - pending.at)

    async def _look(self, intent: Intent) -> Observed:
        now = self._clock.wall()
        if self.observer is None:
            return Observed(time=now)
        call = of_intent(intent, None, "", now + self.observer.timeout_s)
        call = msgspec.structs.replace(call, hook=OBSERVE)
        return seen.observed(await self.observer.run(call), intent, now)

    async def _with_checkpoint(self, intent: Intent, observed: Observed) -> Observed:
        search, job = self._checkpoints, intent.job
        if intent.kind not in _OF_RUNS or job is None:
            return observed
        found, before = observed.own.get(seen.CHECKPOINT, ""), observed.own.get(seen.BEFORE, "")
        if search is None:
            return seen.with_checkpoint(observed, found, before, None)
        if not found:
            found, before = await search.newest(str(job))
        return seen.with_checkpoint(observed, found, before, search.step_of(str(job), found))

    def _ask(self, key: str) -> None:
        """Have what was accepted asked for, when it is time; nobody waits for the answer."""
        pending = self._told.get(key)
        if pending is None or pending.told.status is not ToldStatus.ACCEPTED:
            return
        now = self._clock.monotonic()
        if not pending.told.reference or now < pending.ask_at or key in self._asking:
            return
        pending.ask_at = now + seen.poll_after_s(pending.told)
        self._asking[key] = task = asyncio.create_task(self._asked(key, pending))
        task.add_done_callback(lambda _: self._asking.pop(key, None))

    async def _asked(self, key: str, pending: _Pending) -> None:
        hook = self.hooks[IntentKind(pending.call.hook)]
        call = msgspec.structs.replace(
            pending.call,
            poll=pending.told.reference,
            deadline=self._clock.wall() + hook.timeout_s,
        )
        told = (await hook.run(call)).told
        if self._told.get(key) is not pending or told.status in _NOBODY_COULD_SAY:
            return
        if told.status is ToldStatus.ACCEPTED and not told.reference:
            told = msgspec.structs.replace(told, reference=pending.told.reference)
        self._keep(key, pending.call, told)

    def propose(self, intent: Intent, observed: Observed) -> Proposal:
        """The hook to call next, or why there is none."""
        if intent.kind is IntentKind.FOLLOW_JOB and intent.kind in self.intents:
            return followed(intent, observed.job, observed.time)
        hook = self.hooks.get(intent.kind)
        return judging.proposal(intent, observed, None if hook is None else hook.options)

    async def perform(self, step: Step, operation: Committed) -> Told:
        """Call the hook of a step. Raises nothing."""
        try:
            intent, last = _intent_of(step)
            hook = self.hooks[IntentKind(step.kind)]
        except (KeyError, ValueError, msgspec.DecodeError) as error:
            return answer.refused(f"no step of ours: {error}").told
        if self._clock.wall() > operation.deadline:
            return answer.refused("its time is over").told
        if operation.dry_run and not hook.options.dry_run:
            text = f"dry run: the hook {step.kind} would be called"
            return Told(status=ToldStatus.DONE, text=text)
        if changed := await self._changed(intent, step):
            return changed
        call = msgspec.structs.replace(
            _call(intent, last, step, operation.operation, operation.attempt),
            deadline=min(operation.deadline, self._clock.wall() + hook.timeout_s),
            fence=operation.mark.token,
            dry_run=operation.dry_run,
        )
        told = (await hook.run(call, operation.withdrawn)).told
        if not operation.dry_run and told.status is not ToldStatus.NOT_BEGUN:
            self._keep(_key(step.arguments[judging.INTENT].encode()), call, told)
        return told

    def take_up(self, begun: Begun, operation: str, attempt: int) -> None:
        """Go on asking for what was accepted, maybe by another process; what is known stays as it is."""
        told = begun.told
        if told is None or told.status is not ToldStatus.ACCEPTED or not told.reference:
            return
        try:
            intent, last = _intent_of(begun.step)
            key = _key(begun.step.arguments[judging.INTENT].encode())
        except (KeyError, msgspec.DecodeError):
            return
        if key not in self._told and intent.kind in self.hooks:
            self._keep(key, _call(intent, last, begun.step, operation, attempt), told)
            self._told[key].ask_at = self._clock.monotonic()

    async def _changed(self, intent: Intent, step: Step) -> Told | None:
        """Why a step must not be done any more: what it was proposed for is not so now."""
        if not step.precondition:
            return None
        try:
            now = judging.precondition(intent, await self._look(intent))
        except ActionUnavailableError as error:
            return Told(status=ToldStatus.RETRY, text=str(error))
        for name, value in step.precondition.items():
            if now.get(name) != value:
                text = f"{name} was {value!r} and is {now.get(name)!r}: not called"
                return answer.refused(text).told
        return None

    def _keep(self, key: str, call: Call, told: Told) -> None:
        now = self._clock.monotonic()
        self._told[key] = _Pending(call, told, now, now + seen.poll_after_s(told))
        self._told.move_to_end(key)
        while len(self._told) > _MOST_TOLD:
            self._told.popitem(last=False)

    def recover(self, begun: Begun, observed: Observed) -> Recovery:
        """What has become of a call that nobody saw the end of."""
        try:
            intent = msgspec.json.decode(begun.step.arguments[judging.INTENT], type=Intent)
            hook = self.hooks[IntentKind(begun.step.kind)]
        except (KeyError, ValueError, msgspec.DecodeError):
            return Recovery.UNKNOWN
        return judging.recovery(begun, intent, observed, hook.options, hook.longest_s)

    async def close(self) -> None:
        """End what still runs, and give connections back."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        for hook in (*self.hooks.values(), self.observer, self.surveyor):
            if hook is not None:
                await hook.close()


def _intent_of(step: Step) -> tuple[Intent, JobSeen | None]:
    """What a step is for, and its job as it was seen. Raises KeyError, msgspec.DecodeError."""
    job = step.arguments.get(judging.JOB)
    return (
        msgspec.json.decode(step.arguments[judging.INTENT], type=Intent),
        msgspec.json.decode(job, type=JobSeen) if job else None,
    )


def _call(intent: Intent, last: JobSeen | None, step: Step, operation: str, attempt: int) -> Call:
    """The call of a step, of an operation by its id; its deadline is the caller's to fill in."""
    return msgspec.structs.replace(
        of_intent(intent, last, step.arguments.get(judging.CHECKPOINT, ""), 0.0),
        operation_id=_operation_id(intent, step),
        attempt=attempt,
        attempt_id=operation,
        precondition=step.precondition,
    )


def _operation_id(intent: Intent, step: Step) -> str:
    """The same for each attempt at a step; the journal counts each of them as an operation."""
    asked = step.arguments[judging.INTENT].encode() + msgspec.json.encode(step.precondition)
    return f"{intent.mark.incident}-{_key(asked)[:16]}"


def _key(intent: bytes) -> str:
    return hashlib.sha256(intent).hexdigest()
