"""What one sink knows, and is still to know, of one incident; a row of the outbox."""

import math

import msgspec

from accelwatch.alerting.delivery.stages.cadence import Cadence, reminds_at, rings_at
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice, NoticeKind

NEVER = math.inf
Key = tuple[str, str]
"""Incident and sink."""


class Message(msgspec.Struct, kw_only=True):
    """One message, updated in place; times in Unix seconds."""

    incident: str
    sink: str
    notice: Notice
    """What waits, or what was said last."""
    waits: bool = True
    due: float = 0.0
    """When it is to be said; while nothing waits, when it is to be said again."""
    placed: float = 0.0
    """When `due` was set, by which a clock that jumped back is recognised."""
    queued: float = 0.0
    """Since when something waits."""
    seen: float = 0.0
    """The incident's last change that counts in it."""
    reference: str = ""
    attempts: int = 0
    """In vain, since something was delivered."""
    error: str = ""
    told_at: float | None = None
    """When something was last delivered; None while the sink knows nothing."""
    rung_at: float = 0.0
    """When something was last said that is meant to be heard."""
    told_severity: Severity = Severity.INFO
    told_closed: bool = False
    reopened: int = 0
    cadences: tuple[Cadence, ...] = ()
    """How often and when it rings, as the routes have it; none while nobody is to hear of it."""
    asked: str = ""
    """What people were asked in it last."""
    called: float = 0.0
    """Unix seconds of the latest call for a person that counts in it."""
    once: bool = False
    """Whether it is no incident, which is open until it is over."""

    @property
    def key(self) -> Key:
        """Incident and sink."""
        return self.incident, self.sink

    def shift(self, seconds: float) -> None:
        """Have all that was said before be as long ago on a clock that was set."""
        self.queued += seconds
        self.rung_at += seconds
        if self.told_at is not None:
            self.told_at += seconds

    @property
    def unknown(self) -> bool:
        """Whether the sink surely has heard nothing of it."""
        return self.told_at is None and self.attempts == 0

    @property
    def is_final(self) -> bool:
        """Whether nothing is said again of it by itself."""
        return self.told_closed or self.once

    @property
    def reminds_at(self) -> float:
        """When it is to ring again that it is still open."""
        at = reminds_at(self.cadences, self.notice.severity, self.rung_at)
        return NEVER if at is None else at

    @property
    def rings(self) -> bool:
        """Whether what waits is meant to be heard."""
        return rings(self.notice, self.told_severity)

    def rings_at(self, timestamp: float) -> float:
        """From when on what rings at a moment may ring."""
        return rings_at(self.cadences, self.notice.severity, timestamp)


def rings(notice: Notice, reported: Severity) -> bool:
    """Whether a notice is meant to be heard, where a severity was told before: an edit rings no bell."""
    return notice.kind is not NoticeKind.UPDATED or notice.severity.weight > reported.weight


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Message)


def encoded(message: Message) -> bytes:
    """The row."""
    return _ENCODER.encode(message)


def decoded(body: bytes) -> Message | None:
    """The message of a row; None for one that cannot be read."""
    try:
        return _DECODER.decode(body)
    except msgspec.MsgspecError:
        return None
