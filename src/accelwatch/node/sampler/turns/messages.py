"""What arrives in the inbox of a collector's loop: answers to calls, events, and orders."""

from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

import msgspec

from accelwatch.node.store.reports import Component
from accelwatch.schema.event import ErrorEvent


class CallResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a call returned or raised, and when."""

    call: int
    result: object = None
    error: Exception | None = None
    timestamp: float
    wall: float
    duration_s: float


class AnswerSource(Protocol):
    """A thread whose answers wait for the loop."""

    def answers(self) -> list[CallResult]:
        """What has come so far."""
        ...

    def stop(self) -> None:
        """Let the thread end after its present call."""
        ...


class Answers(msgspec.Struct, frozen=True):
    """Calls in succession have returned; their answers are to be read from `of`."""

    of: AnswerSource


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Events that a backend's source reported; the source waits until `accepted` is called."""

    backend: str
    events: tuple[ErrorEvent, ...]
    accepted: Callable[[], None]


class Admit(msgspec.Struct, frozen=True, kw_only=True):
    """Call again what was held out so far."""

    component: Component


class Stop(msgspec.Struct, frozen=True):
    """End the collector."""


Message = CallResult | Answers | Batch | Admit | Stop
Inbox = SimpleQueue[Message]
Job = Callable[[], object]
