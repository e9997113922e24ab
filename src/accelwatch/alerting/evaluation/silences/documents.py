"""Silences and windows of maintenance as the API returns them; a client may rely on them."""

import msgspec


class MutingDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What a silence and a window of maintenance have in common; times are RFC 3339."""

    id: str
    starts: str
    ends: str
    # False of one that is announced, and in the answer that ends it.
    in_force: bool
    by: str
    # Whether `by` has proved to be it.
    verified: bool
    reason: str
    # Open incidents of which nobody is notified because of it.
    mutes: int


class SilenceDocument(MutingDocument, frozen=True, kw_only=True):
    """A silence."""

    matchers: tuple[str, ...]


class MaintenanceDocument(MutingDocument, frozen=True, kw_only=True):
    """A window of maintenance."""

    # Host ranges as they were given; empty for every node.
    nodes: tuple[str, ...]


class MutingPage(msgspec.Struct, frozen=True, kw_only=True):
    """What the pages of silences and of maintenance have in common."""

    # Whether there are rules at all, and so incidents to be silent about.
    evaluated: bool = msgspec.field(name="judged", default=True)
    # What is wrong with the journal or with rules.
    problems: tuple[str, ...] = ()


class SilencesPage(MutingPage, frozen=True, kw_only=True):
    """The silences that are not over, the first to end first."""

    silences: tuple[SilenceDocument, ...] = ()


class MaintenancePage(MutingPage, frozen=True, kw_only=True):
    """The windows that are not over, the first to begin first."""

    maintenance: tuple[MaintenanceDocument, ...] = ()


class MutingChanged(msgspec.Struct, frozen=True, kw_only=True):
    """What the answers to a change have in common."""

    # Why it is not written down, and so does not outlive a restart; empty when it is.
    problem: str
    # Labels of its matchers, or nodes, that are not known here now; some of them, where they are many.
    unknown: tuple[str, ...] = ()


class SilenceChanged(MutingChanged, frozen=True, kw_only=True):
    """A silence that was set or ended."""

    silence: SilenceDocument


class MaintenanceChanged(MutingChanged, frozen=True, kw_only=True):
    """A window that was announced or ended."""

    maintenance: MaintenanceDocument


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
