"""What one sink knows, and is still to know, of one incident; a row of the outbox."""

import math
from typing import NamedTuple

import msgspec

from accelwatch.alerting.delivery.messages.cadence import Cadence, reminds_at, rings_at
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice, NoticeKind
from accelwatch.base.decode_errors import DECODE_ERRORS

NEVER = math.inf
# Incident and sink.
Key = tuple[str, str]
# Rows of earlier versions have these names.
_NAMES_IN_ROWS = {
    "is_pending": "waits",
    "scheduled_at": "placed",
    "pending_since": "queued",
    "incident_updated": "seen",
    "notified_at": "told_at",
    "notified_severity": "told_severity",
    "is_end_notified": "told_closed",
    "request_names": "asked",
    "called_at": "called",
    "is_one_off": "once",
}


class Traits(NamedTuple):
    """What a sink can do, as its contract says."""

    edits: bool = False
    repeat_s: float | None = None


class Message(msgspec.Struct, kw_only=True, rename=_NAMES_IN_ROWS):
    """One message, updated in place; times in Unix seconds."""

    incident: str
    sink: str
    # What is pending, or what was delivered last.
    notice: Notice
    # Whether `notice` is still to be delivered.
    is_pending: bool = True
    # When it is to be delivered; while nothing is pending, when the sink is to be reminded.
    due: float = 0.0
    # When `due` was set, by which a clock that jumped back is recognised.
    scheduled_at: float = 0.0
    pending_since: float = 0.0
    # The incident's last change that counts in it.
    incident_updated: float = 0.0
    # What the sink calls its message, for edits and replies.
    reference: str = ""
    # In vain, since something was delivered.
    attempts: int = 0
    error: str = ""
    # When something was last delivered; None while the sink knows nothing.
    notified_at: float | None = None
    # When a notice that alerts was last delivered.
    alerted_at: float = msgspec.field(default=0.0, name="rung_at")
    notified_severity: Severity = Severity.INFO
    # Whether the sink knows that the incident is over.
    is_end_notified: bool = False
    # How often the incident had come back, as of the last change that counts in it.
    reopened: int = 0
    # How often and when it rings, as the routes have it; none while the incident is muted.
    cadences: tuple[Cadence, ...] = ()
    # The requests that it last carried.
    request_names: str = ""
    # The latest call for a person that counts in it.
    called_at: float = 0.0
    # Whether it is no incident, which would stay open until it is over.
    is_one_off: bool = False

    @property
    def key(self) -> Key:
        """Incident and sink."""
        return self.incident, self.sink

    def shift(self, seconds: float) -> None:
        """Have all that was delivered before be as long ago on a clock that was set."""
        self.pending_since += seconds
        self.alerted_at += seconds
        if self.notified_at is not None:
            self.notified_at += seconds

    @property
    def is_undelivered(self) -> bool:
        """Whether it certainly never arrived: an attempt that failed may have arrived."""
        return self.notified_at is None and self.attempts == 0

    @property
    def is_final(self) -> bool:
        """Whether nothing is delivered again of it by itself."""
        return self.is_end_notified or self.is_one_off

    @property
    def is_closing(self) -> bool:
        """Whether the end of its incident is pending."""
        return self.is_pending and self.notice.kind is NoticeKind.CLOSED

    @property
    def reminds_at(self) -> float:
        """When it is to ring again that it is still open."""
        at = reminds_at(self.cadences, self.notice.severity, self.alerted_at)
        return NEVER if at is None else at

    @property
    def rings(self) -> bool:
        """Whether the pending notice alerts."""
        return rings(self.notice, self.notified_severity)

    def rings_at(self, timestamp: float) -> float:
        """From when on what rings at a moment may ring."""
        return rings_at(self.cadences, self.notice.severity, timestamp)


def rings(notice: Notice, notified: Severity) -> bool:
    """Whether a notice rings, where a severity was notified before: an edit does not."""
    return notice.kind is not NoticeKind.UPDATED or notice.severity.weight > notified.weight


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Message)


def encoded(message: Message) -> bytes:
    """The row."""
    return _ENCODER.encode(message)


def decoded(body: bytes) -> Message | None:
    """The message of a row; None for one that cannot be read."""
    try:
        return _DECODER.decode(body)
    except DECODE_ERRORS:
        return None
