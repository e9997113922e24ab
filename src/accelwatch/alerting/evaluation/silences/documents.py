"""Silences and windows of maintenance as the API tells them; what a client of it may rely on."""

from collections.abc import Collection, Mapping

import msgspec

from accelwatch.alerting.incidents.model.silence import Maintenance, Silence
from accelwatch.schema.timestamps import timestamp

_MOST_UNKNOWN = 20


class SilenceDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A silence; times are RFC 3339."""

    id: str
    matchers: tuple[str, ...]
    starts: str
    ends: str
    # False of one that is announced, and in the answer that ends it.
    in_force: bool
    by: str
    # Whether `by` has proved to be it.
    verified: bool
    reason: str
    # Open incidents of which nobody is told because of it.
    mutes: int


class MaintenanceDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A window of maintenance; times are RFC 3339."""

    id: str
    # Host ranges as they were given; empty for every node.
    nodes: tuple[str, ...]
    starts: str
    ends: str
    in_force: bool
    by: str
    verified: bool
    reason: str
    mutes: int


class SilencesPage(msgspec.Struct, frozen=True, kw_only=True):
    """The silences that are not over, the first to end first."""

    # Whether there are rules at all, and so incidents to be silent about.
    evaluated: bool = msgspec.field(name="judged", default=True)
    # What is wrong with the journal or with rules.
    problems: tuple[str, ...] = ()
    silences: tuple[SilenceDocument, ...] = ()


class MaintenancePage(msgspec.Struct, frozen=True, kw_only=True):
    """The windows that are not over, the first to begin first."""

    evaluated: bool = msgspec.field(name="judged", default=True)
    problems: tuple[str, ...] = ()
    maintenance: tuple[MaintenanceDocument, ...] = ()


class SilenceChanged(msgspec.Struct, frozen=True, kw_only=True):
    """A silence that was set or ended."""

    silence: SilenceDocument
    # Why it is not written down, and so does not outlive a restart; empty when it is.
    problem: str
    # Labels of its matchers that nothing here has now.
    unknown: tuple[str, ...] = ()


class MaintenanceChanged(msgspec.Struct, frozen=True, kw_only=True):
    """A window that was announced or ended."""

    maintenance: MaintenanceDocument
    # Nodes of it that are not known here now; some of them, where they are many.
    unknown: tuple[str, ...]
    problem: str


class NoteWritten(msgspec.Struct, frozen=True, kw_only=True):
    """An incident into whose history a person has written."""

    id: str
    text: str
    problem: str


class Closed(msgspec.Struct, frozen=True, kw_only=True):
    """An incident that was closed by hand."""

    id: str
    closed: str
    problem: str


def silence_document(silence: Silence, now: float, counts: Mapping[str, int]) -> SilenceDocument:
    """A silence as it is told; `counts` has muted incidents by id."""
    return SilenceDocument(
        id=silence.id,
        matchers=tuple(map(str, silence.matchers)),
        starts=timestamp(silence.starts),
        ends=timestamp(silence.ends),
        in_force=silence.starts <= now < silence.ends,
        by=silence.by,
        verified=silence.verified,
        reason=silence.reason,
        mutes=counts.get(silence.id, 0),
    )


def window_document(
    window: Maintenance, now: float, counts: Mapping[str, int]
) -> MaintenanceDocument:
    """A window as it is told; `counts` has muted incidents by id."""
    return MaintenanceDocument(
        id=window.id,
        nodes=window.nodes,
        starts=timestamp(window.starts),
        ends=timestamp(window.ends),
        in_force=window.starts <= now < window.ends,
        by=window.by,
        verified=window.verified,
        reason=window.reason,
        mutes=counts.get(window.id, 0),
    )


def unknown_in(window: Maintenance, existing: Collection[str]) -> tuple[str, ...]:
    """Nodes of a window that are not known; some of them, where they are many."""
    return tuple(sorted(name for name in window.names if name not in existing)[:_MOST_UNKNOWN])
