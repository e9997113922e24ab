"""Request bodies of silences, maintenance and closing by hand, and their checks.

Bodies are JSON objects; a field that is not known is refused, since a typo must not pass unnoticed.
"""

import datetime
from collections.abc import Collection
from typing import TypeVar

import msgspec

from accelwatch.alerting.incidents.model.silence import (
    LONGEST_S,
    MOST_MATCHERS,
    Maintenance,
    Silence,
    matchers,
)
from accelwatch.base import durations
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import expand
from accelwatch.base.names.nearest import nearest
from accelwatch.web.pages.page import Change, only
from accelwatch.web.pages.routes import ON_BEHALF_OF

# Nodes of one window; a rack has a hundred, and a whole cluster is `all`.
MOST_NAMED = 4096
_LONGEST_TEXT = 500
_LONGEST_NAME = 100

RequestBody = TypeVar("RequestBody", bound=msgspec.Struct)


class _Span(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From when to when, why, and who says so."""

    reason: str
    # RFC 3339 with its zone; now if it is left out.
    starts: str = msgspec.field(name="from", default="")
    until: str = ""
    # A duration such as `2h`, instead of `until`.
    lasts: str = msgspec.field(name="for", default="")
    # Counts where nobody has to prove who he is, and is marked as unverified.
    by: str = ""


class NewSilence(_Span, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/silences."""

    # Such as `node=n12` or `rule=~nvidia.*`; all must hold.
    matchers: tuple[str, ...]


class NewMaintenance(_Span, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/maintenance."""

    # Host ranges, `n[1-9]`.
    nodes: tuple[str, ...] = ()
    # Every node, instead of `nodes`.
    all: bool = False


class Closing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/incidents/{id}/close."""

    reason: str
    by: str = ""


class NewNote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/incidents/{id}/note."""

    text: str
    by: str = ""


def decode_request(body: bytes, shape: type[RequestBody]) -> RequestBody:
    """A request's body. Raises UsageError."""
    try:
        return msgspec.json.decode(body, type=shape)
    except DECODE_ERRORS as error:
        raise UsageError(f"invalid body: {error}") from error


def silence_of(request: NewSilence, id_: str, now: float, user: str) -> Silence:
    """The requested silence. Raises UsageError."""
    starts, ends = _span(request, now)
    parsed = tuple(matcher for text in request.matchers for matcher in matchers(text))
    if not parsed:
        raise UsageError("matchers: say what to silence, such as node=n12 or rule=~nvidia.*")
    if len(parsed) > MOST_MATCHERS:
        raise UsageError(f"matchers: more than {MOST_MATCHERS}")
    return Silence(
        id=id_,
        matchers=parsed,
        starts=starts,
        ends=ends,
        by=who(user, request.by),
        verified=bool(user),
        reason=reason_of(request.reason),
    )


def unknown_labels(silence: Silence, existing: Collection[str]) -> tuple[str, ...]:
    """Labels that nothing here has, and that resemble no label here.

    Raises UsageError for one that is another misspelt.
    """
    unknown: list[str] = []
    for name in dict.fromkeys(matcher.name for matcher in silence.matchers):
        if name in existing:
            continue
        if close := nearest(name, sorted(existing)):
            raise UsageError(
                f"matchers: nothing here has a label {name[:60]!r}; did you mean {close}?"
            )
        unknown.append(name)
    return tuple(unknown)


def window_of(request: NewMaintenance, id_: str, now: float, user: str) -> Maintenance:
    """The requested window. Raises UsageError."""
    starts, ends = _span(request, now)
    ranges = tuple(text.strip() for text in request.nodes)
    if request.all == bool(ranges) or not all(ranges):
        raise UsageError('nodes: name some, such as ["n[1-9]"], or say "all": true for every node')
    names = 0
    for text in ranges:
        names += len(expand(text))
        if names > MOST_NAMED:
            raise UsageError(f'nodes: more than {MOST_NAMED}; set several windows, or "all": true')
    return Maintenance(
        id=id_,
        nodes=ranges,
        starts=starts,
        ends=ends,
        by=who(user, request.by),
        verified=bool(user),
        reason=reason_of(request.reason),
    )


def _span(request: _Span, now: float) -> tuple[float, float]:
    """Unix seconds of beginning and end."""
    starts = timestamp_of("from", request.starts) if request.starts else now
    if bool(request.until) == bool(request.lasts):
        raise UsageError('say until when: either "for": "2h", or "until" with a time')
    lasts = request.lasts
    ends = (
        starts + durations.seconds_with_unit(lasts)
        if lasts
        else timestamp_of("until", request.until)
    )
    if ends <= max(starts, now):
        raise UsageError("it would end before it starts, or has ended already")
    if ends - now > LONGEST_S:
        raise UsageError(f"it would last beyond {LONGEST_S / 86_400:g} days from now")
    return starts, ends


def timestamp_of(name: str, text: str) -> float:
    """Unix seconds of RFC 3339 with its zone. Raises UsageError that begins with `name`."""
    try:
        parsed = datetime.datetime.fromisoformat(text)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None:
        raise UsageError(
            f"{name}: {text[:40]!r} is not a valid time with time zone; write 2030-01-31T12:00:00Z"
        )
    return parsed.timestamp()


def who(user: str, provided: str) -> str:
    """The name that was proved, else the one that is given. Raises UsageError."""
    name = user or " ".join(provided.split())
    if len(name) > _LONGEST_NAME:
        raise UsageError(f"by: more than {_LONGEST_NAME} characters")
    return name


def for_whom(actor: str, change: Change) -> str:
    """Who did it, with the person for whom a hub over this one asked: `upper (for ana)`.

    Raises UsageError for a long name.
    """
    person = who("", only(change.query, ON_BEHALF_OF.name) or "")
    return f"{actor} (for {person})" if person else actor


def reason_of(text: str) -> str:
    """A reason on one line. Raises UsageError for none, and for a long one."""
    return _line_of("reason", text, "a reason is required; it is kept in the audit log")


def note_of(text: str) -> str:
    """A note on one line. Raises UsageError for none, and for a long one."""
    return _line_of("text", text, "a note needs a text; it is kept in the audit log")


def _line_of(key: str, text: str, hint: str) -> str:
    line = " ".join(text.split())
    if not line:
        raise UsageError(f"{key}: {hint}")
    if len(line) > _LONGEST_TEXT:
        raise UsageError(f"{key}: more than {_LONGEST_TEXT} characters")
    return line
