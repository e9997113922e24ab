"""The collector: the loop that drives every backend and reports events, usually in a child process.

The loop thread alone decides and reports; it never calls into a backend.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from queue import Empty

from accelwatch.backend import Context
from accelwatch.base.clock import Clock
from accelwatch.node.sampler.protocol.load import Factory
from accelwatch.node.sampler.protocol.settings import CollectSettings, QuarantinedComponent
from accelwatch.node.sampler.stack.opening import not_there
from accelwatch.node.sampler.stack.stack import Stack
from accelwatch.node.sampler.turns.calls import Calls, CollectorContext, Emit, Note
from accelwatch.node.sampler.turns.gate import PATIENCE_S, Gate
from accelwatch.node.sampler.turns.messages import Admit, Answers, Batch, CallResult, Inbox, Stop
from accelwatch.node.sampler.turns.schedule import HEARTBEAT_S, Ticks
from accelwatch.node.store.reports import BackendChanged, Component, Done, Events, Heartbeat
from accelwatch.node.store.usage import cpu_seconds, resident_bytes
from accelwatch.schema.snapshot import NO_ACCELERATORS

# How long what is known is held back while turns are made; fast devices have all had theirs by then.
_FLUSH_DELAY_S = 0.01
# After the start, when those that are here have come up.
_LATER_S = 2.0
# So long what is no accelerator stands back at most.
_HOST_BACKENDS_S = 0.25
# How long backends are given to close before the process ends anyway.
_CLOSE_S = 0.3


class Collector:
    """Runs until it is stopped, or, for a single reading, until everything is reported."""

    def __init__(
        self,
        settings: CollectSettings,
        backends: Mapping[str, Callable[[], Factory]],
        emit: Emit,
        clock: Clock,
        *,
        note: Note = lambda _: None,
        gate: Gate | None = None,
        environ: Mapping[str, str] | None = None,
        started_at: float | None = None,
        absent: Callable[[str], str] | None = None,
        flush: Callable[[], None] = lambda: None,
    ) -> None:
        """Every thread calls `note` before and after each call into a backend.

        `absent` says why a backend need not be loaded now, each time that it would be brought up.

        `flush` sends the reports that `emit` was given. The collector calls it before each driver call,
        and when no report is due soon.
        """
        self.inbox: Inbox = Inbox()
        self._settings = settings
        self._backends = backends
        self._clock = clock
        self._flush = flush
        self._flushed_at = clock.monotonic()
        self._environ = dict(os.environ if environ is None else environ)
        start = clock.monotonic() if started_at is None else started_at
        self._collector = CollectorContext(
            settings=settings,
            clock=clock,
            calls=Calls(note, clock, self.inbox, flush),
            emit=emit,
            inbox=self.inbox,
            gate=gate or Gate(),
            absent=absent or (lambda _: ""),
            started_at=start,
            end=start + settings.timeout_s if settings.one_shot else math.inf,
        )
        self._heartbeat = Ticks(start, HEARTBEAT_S)
        self._stacks: dict[str, Stack] = {}
        # Backends that were absent at the start, until they are looked for again.
        self._later: list[str] = []
        self._later_at = start + _LATER_S
        # Backends without accelerators, until they are started.
        self._host_backends: list[str] = []
        self._host_backends_at = start + _HOST_BACKENDS_S

    def start(
        self,
        quarantined: Iterable[QuarantinedComponent] = (),
        absent: Mapping[str, str] | None = None,
    ) -> None:
        """Begin with every backend that is neither held out nor known to be absent, with the reason.

        Accelerators come first: people wait for them, and loading anything else would take the
        interpreter from them. A collector that goes on looks for what is absent a little later again,
        and then for as long as it lives.
        """
        self._collector.quarantined.update((entry.component, entry.reason) for entry in quarantined)
        for name in sorted(self._backends, key=NO_ACCELERATORS.__contains__):
            if absent and name in absent:
                self._collector.emit(BackendChanged(status=not_there(name, absent[name])))
                if not self._settings.one_shot:
                    self._later.append(name)
            elif name in NO_ACCELERATORS and not self._settings.one_shot:
                self._host_backends.append(name)
            elif Component(name) not in self._collector.quarantined:
                self._start_backend(name)
        self._start_host_backends(self._clock.monotonic())

    def run(self) -> None:
        """Loop until a Stop arrives or a single reading is complete."""
        going = True
        while going:
            self._flush_if_due()
            going = self.step(self._wait())
        self._flush()

    def step(self, timeout_s: float) -> bool:
        """Handle one message, or what is due after at most `timeout_s`; False when all is over."""
        try:
            message = (
                self.inbox.get(timeout=timeout_s) if timeout_s > 0 else self.inbox.get_nowait()
            )
        except Empty:
            message = None
        if isinstance(message, Stop):
            return False
        if message is not None:
            self._handle(message)
        if (message is None and timeout_s > 0) or self._collector.calls.is_stalled:
            self._collector.calls.poll()
        else:  # before a deadline is held against what came in time
            self._collector.calls.collect_answers()
        now = self._clock.monotonic()
        self._start_host_backends(now)
        if self._later and now >= self._later_at:
            self._start_deferred()
        for stack in self._stacks.values():
            stack.wake(now)
        if not self._settings.one_shot and self._heartbeat.due(now):
            self._collector.emit(_heartbeat())
        if self._settings.one_shot and all(stack.finished for stack in self._stacks.values()):
            self._collector.emit(Done())
            return False
        return True

    def close(self) -> None:
        """Give backends back that are not being called; waits a moment for them."""
        closing: set[str] = set()
        for name, stack in self._stacks.items():
            if stack.close(partial(closing.discard, name)):
                closing.add(name)
        self._collector.calls.close()
        until = self._clock.monotonic() + _CLOSE_S
        while closing and (left := until - self._clock.monotonic()) > 0:
            try:
                message = self.inbox.get(timeout=left)
            except Empty:
                return
            if isinstance(message, CallResult):
                self._collector.calls.deliver(message)

    def _flush_if_due(self) -> None:
        """Send buffered reports unless more will come soon: each send wakes the owner.

        A single reading is never buffered: its deadline may come before.
        """
        now = self._clock.monotonic()
        more = self._collector.calls.waiting and not self._settings.one_shot
        if more and now - self._flushed_at < _FLUSH_DELAY_S:
            return
        self._flushed_at = now
        self._flush()

    def _wait(self) -> float:
        wake_times = [stack.next_wake for stack in self._stacks.values()]
        if self._host_backends:
            wake_times.append(self._host_backends_at)
        if self._later:
            wake_times.append(self._later_at)
        if not self._settings.one_shot:
            wake_times.append(self._heartbeat.next)
        nearest = min(wake_times, default=0.0)
        longest = PATIENCE_S if self._collector.calls.waiting else HEARTBEAT_S
        return min(max(nearest - self._clock.monotonic(), 0.0), longest)

    def _handle(self, message: CallResult | Answers | Batch | Admit) -> None:
        if isinstance(message, CallResult):
            self._collector.calls.deliver(message)
        elif isinstance(message, Answers):
            self._collector.calls.finish_turns(message.of)
        elif isinstance(message, Batch):
            self._collector.emit(Events(backend=message.backend, events=message.events))
            message.accepted()
        else:
            self._admit(message.component)

    def _admit(self, component: Component) -> None:
        """Call a part again: a device at its next turn."""
        self._collector.quarantined.pop(component, None)
        if component.events and component.backend in self._stacks:
            self._stacks[component.backend].listen()
        elif not component.slot:
            self._start_backend(component.backend)

    def _start_host_backends(self, now: float) -> None:
        """Start the other backends once accelerators are reported, or are late."""
        if not self._host_backends:
            return
        if now >= self._host_backends_at or all(stack.finished for stack in self._stacks.values()):
            names, self._host_backends = self._host_backends, []
            self._start_unquarantined(names)

    def _start_deferred(self) -> None:
        later, self._later = self._later, []
        self._start_unquarantined(later)

    def _start_unquarantined(self, names: Iterable[str]) -> None:
        for name in names:
            if Component(name) not in self._collector.quarantined:
                self._start_backend(name)

    def _start_backend(self, name: str) -> None:
        if name in self._stacks or name not in self._backends:
            return
        settings = self._settings
        keeps = settings.state_dir is not None and not settings.one_shot
        context = Context(
            root=Path(settings.root),
            clock=self._clock,
            environ=self._environ,
            state_dir=Path(settings.state_dir) if keeps and settings.state_dir else None,
            options=settings.options.get(name, {}),
            wake_suspended=settings.wake_suspended,
            one_shot=settings.one_shot,
        )
        stack = Stack(name, self._backends[name], context, self._collector)
        self._stacks[name] = stack
        stack.wake(self._clock.monotonic())


def _heartbeat() -> Heartbeat:
    return Heartbeat(cpu_s=cpu_seconds(), resident_bytes=resident_bytes())
