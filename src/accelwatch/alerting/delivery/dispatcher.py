"""Sends notifications: one task per sink sends due messages from the queue and retries them.

Nothing that a sink does, or does not do, reaches anybody else: each delivery has a deadline, whatever is
raised is an outcome, and one that does not even heed its cancellation is left behind.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping

from accelwatch.alerting.delivery.approval_requests import (
    ApprovalRequests,
    NoApprovalRequests,
)
from accelwatch.alerting.delivery.formatting.text import lasting
from accelwatch.alerting.delivery.losses import Losses
from accelwatch.alerting.delivery.messages.message import NEVER, Traits
from accelwatch.alerting.delivery.messages.outlook import Outlook
from accelwatch.alerting.delivery.notice_builder import NoticeBuilder
from accelwatch.alerting.delivery.outbox import Outbox
from accelwatch.alerting.delivery.queue import Queue
from accelwatch.alerting.delivery.routing import Routes
from accelwatch.alerting.delivery.sinks import sinks_of
from accelwatch.alerting.delivery.transport.circuit import Circuit
from accelwatch.alerting.delivery.transport.dead_man import DeadManPing
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.sink import Notice, Outcome, Sink, Status
from accelwatch.base.clock import Clock
from accelwatch.base.errors import AccelwatchError
from accelwatch.config.alerts import Alerts

logger = logging.getLogger(__name__)

# Messages are due by the wall clock, which may be set while the loop waits by the monotonic one.
_LONGEST_WAIT_S = 30.0
# Beyond a sink's own deadline, so that its own error is reported rather than ours.
_GRACE_S = 2.0
_CLOSING_S = 5.0


class Dispatcher:
    """Sends notifications of incidents; for one event loop."""

    def __init__(
        self,
        settings: Alerts,
        outbox: Outbox,
        clock: Clock,
        *,
        sinks: Mapping[str, Sink] | None = None,
        well: Callable[[], bool] | None = None,
        approval_requests: ApprovalRequests | None = None,
        end_wait: Callable[[str], float] = lambda _: 0.0,
    ) -> None:
        """`well` says whether the engine sees and judges; without it nothing is pinged.

        `end_wait` says for how many seconds the end of an incident, by its id, waits from now on.

        Raises ConfigError, PluginError for a sink that cannot be built.
        """
        self._settings = settings
        self._clock = clock
        requests = approval_requests or NoApprovalRequests()
        self._outbox = outbox
        self._sinks = dict(sinks_of(settings, clock) if sinks is None else sinks)
        self._timeouts = {configured.name: configured.timeout_s for configured in settings.sinks}
        traits = {name: Traits(sink.edits, sink.repeat_s) for name, sink in self._sinks.items()}
        self._notices = NoticeBuilder(settings, requests)
        self._queue = Queue(
            Routes(settings),
            traits,
            self._notices.notice,
            settings.storm_wait_s,
            Outlook(
                request_names=self._notices.request_names,
                decides_within_s=requests.soon,
                is_decided=requests.decided,
                resolve_wait_s=end_wait,
            ),
        )
        self._circuits = {name: Circuit(sink.pace_s) for name, sink in self._sinks.items()}
        self._bells = {name: asyncio.Event() for name in self._sinks}
        self._to_save = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._left_behind: dict[str, asyncio.Task[Outcome]] = {}
        self._losses = Losses(self._queue, self._circuits)
        self._unsaved = ""
        # A hub whose outbox is not written down is not well either.
        healthy = None if well is None else (lambda: well() and not self._unsaved)
        self._dead_man = (
            DeadManPing(settings.dead_man, healthy) if settings.dead_man.url_file else None
        )

    async def start(self) -> None:
        """Go on with what an earlier process left, and begin to send."""
        self._queue.messages.restore(self._outbox.rows(), self._clock.wall())
        self._tasks = [asyncio.create_task(self._serve(name)) for name in self._sinks]
        self._tasks.append(asyncio.create_task(self._save_changes()))
        if self._dead_man is not None:
            self._tasks.append(asyncio.create_task(self._dead_man.run()))

    def changed(self, incident: Incident, muted: bool = False) -> None:
        """Adopt how an incident stands.

        One that has not changed costs nothing, so it may be called for all that are open: after a
        start, and when a silence begins or ends.
        """
        for name in self._queue.changed(incident, muted, self._clock.wall()):
            self._bells[name].set()
        self._to_save.set()

    def call(self, incident: Incident) -> None:
        """Call a person for what no incident that is kept is about, as the routes say."""
        for name in self._queue.call(incident, self._clock.wall()):
            self._bells[name].set()
        self._to_save.set()

    async def close(self) -> None:
        """Stop, write down what waits, and give connections back."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self._save()
        closing = [asyncio.ensure_future(sink.close()) for sink in self._sinks.values()]
        if self._dead_man is not None:
            closing.append(asyncio.ensure_future(self._dead_man.close()))
        if closing:
            done, late = await asyncio.wait(closing, timeout=_CLOSING_S)
            for task in late:
                task.cancel()
            for task in done:
                task.exception()
        for left in self._left_behind.values():
            left.cancel()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong now, a sentence each."""
        now = self._clock.wall()
        problems = [self._unsaved] if self._unsaved else []
        for name in self._sinks:
            waiting = [
                message for message in self._queue.messages.waiting(name, now) if message.error
            ]
            if waiting and not self._circuits[name].closed:
                since = lasting(now - min(message.pending_since for message in waiting))
                error = max(waiting, key=lambda message: message.scheduled_at).error
                problems.append(f"alerts.{name}: {len(waiting)} wait for {since}: {error}")
        problems += self._losses.problems
        if self._queue.messages.dropped:
            problems.append(
                f"alerts: {self._queue.messages.dropped} dropped, too many were waiting"
            )
        if self._dead_man is not None and self._dead_man.problem:
            problems.append(f"alerts.dead_man: {self._dead_man.problem}")
        return tuple(problems)

    async def _serve(self, name: str) -> None:
        """Send what is due to one sink, for ever."""
        bell, circuit = self._bells[name], self._circuits[name]
        while True:
            # Cleared before the queue is read: what is queued from here on rings it again.
            bell.clear()
            wait_s = self._wait_s(name, circuit)
            if wait_s > 0.0:
                resting = circuit.until > self._clock.monotonic()
                await _pause(None if resting else bell, min(wait_s, _LONGEST_WAIT_S))
                continue
            message = self._queue.next(name, self._clock.wall())
            if message is None:
                continue
            sent = message.notice
            linked = self._notices.linked(name, message.incident, sent)
            outcome = await self._deliver(name, linked, message.reference)
            if outcome.status is Status.RETRY:
                circuit.failed(self._clock.monotonic(), outcome.retry_after_s)
            elif outcome.status is not Status.NO_RECIPIENT:  # no receiver was contacted
                circuit.succeeded(self._clock.monotonic())
            now = self._clock.wall()
            lost = self._queue.settle(message, sent, outcome, now)
            if lost is not None:
                other = self._losses.report(lost, now)
            else:
                other = self._losses.settle(name, sent, outcome, now)
            if other:
                self._bells[other].set()
            self._to_save.set()

    def _wait_s(self, name: str, circuit: Circuit) -> float:
        now = self._clock.wall()
        due = self._queue.messages.due_at(name, now)
        if due == NEVER:
            return _LONGEST_WAIT_S
        return max(due - now, circuit.until - self._clock.monotonic(), 0.0)

    async def _deliver(self, name: str, notice: Notice, reference: str) -> Outcome:
        before = self._left_behind.get(name)
        if before is not None and not before.done():
            return Outcome(status=Status.RETRY, message="it hangs, and heeds no cancellation")
        task = asyncio.ensure_future(self._sinks[name].deliver(notice, reference))
        deadline_s = self._timeouts.get(name, 10.0) + _GRACE_S
        try:
            done, _ = await asyncio.wait({task}, timeout=deadline_s)
        except asyncio.CancelledError:
            task.cancel()
            self._left_behind[name] = task
            raise
        if not done:
            task.cancel()
            self._left_behind[name] = task
            return Outcome(status=Status.RETRY, message=f"no answer within {deadline_s:g} s")
        if task.cancelled() or (error := task.exception()) is not None:
            what = "cancelled itself" if task.cancelled() else f"met {type(error).__name__}"
            return Outcome(status=Status.RETRY, message=f"the plug-in {what}")
        return task.result()

    async def _save_changes(self) -> None:
        """Write what has changed, for ever."""
        while True:
            await self._to_save.wait()
            self._to_save.clear()
            await self._save()

    async def _save(self) -> None:
        changes = self._queue.messages.drain_changes()
        if not changes:
            return
        try:
            await self._outbox.save(changes)
        except AccelwatchError as error:
            # They are sent all the same; the next change writes them too.
            self._queue.messages.restore_changes(changes)
            if not self._unsaved:
                logger.error("alerts: what waits cannot be written down: %s", error)
            self._unsaved = f"alerts: what waits would not outlive a restart: {error}"
        else:
            self._unsaved = ""


async def _pause(bell: asyncio.Event | None, wait_s: float) -> None:
    """Wait so long, or until the bell rings."""
    if bell is None:
        await asyncio.sleep(wait_s)
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(wait_s):
            await bell.wait()
