"""Which incidents are muted now, and by which silence or window of maintenance. Pure.

A group is muted when all of its open members are, or when a silence names it by its id. While none of
members is open it stays as it was: nobody is notified of an incident that was muted to its end.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Maintenance, Operator, Silence
from accelwatch.alerting.rules.document import Severity
from accelwatch.base.errors import UsageError

MOST_SILENCES = 200
MOST_WINDOWS = 1000
# Of all windows together. All of these are held against incidents, so none is unbounded.
MOST_NODES = 20_000

MuteSource = Silence | Maintenance


class Mute(msgspec.Struct, frozen=True, kw_only=True):
    """Why an incident is muted."""

    # Of the silence or window.
    id: str
    # `silence` or `maintenance`.
    kind: str
    reason: str
    by: str
    # Unix seconds.
    until: float


class Muting:
    """The silences and windows that are in force or announced, and what they mute."""

    def __init__(
        self, silences: Iterable[Silence] = (), windows: Iterable[Maintenance] = ()
    ) -> None:
        self._silences = {silence.id: silence for silence in silences}
        self._windows = {window.id: window for window in windows}
        self._announced: tuple[Maintenance, ...] = ()
        self._in_force: tuple[MuteSource, ...] = ()
        # Windows in force by each of their nodes, those of every node by None.
        self._covering: dict[str | None, list[tuple[Maintenance, frozenset[str]]]] = {}
        self._mutes: dict[str, Mute] = {}

    @property
    def silences(self) -> list[Silence]:
        """Those that are not over, the first to end first."""
        return sorted(self._silences.values(), key=lambda silence: (silence.ends, silence.id))

    @property
    def windows(self) -> list[Maintenance]:
        """Those that are not over, the first to begin first."""
        windows = (*self._windows.values(), *self._announced)
        return sorted(windows, key=lambda window: (window.starts, window.id))

    def check_room(self, kind: type[MuteSource]) -> None:
        """Raise UsageError when there are too many already."""
        if kind is Silence and len(self._silences) >= MOST_SILENCES:
            raise UsageError(f"there are {MOST_SILENCES} silences already; end some")
        if kind is Maintenance and len(self._windows) >= MOST_WINDOWS:
            raise UsageError(f"there are {MOST_WINDOWS} windows of maintenance already; end some")

    def check_nodes(self, window: Maintenance) -> None:
        """Raise UsageError when there would be too many nodes in windows."""
        named = sum(len(kept.names) for kept in self._windows.values())
        if named + len(window.names) > MOST_NODES:
            raise UsageError(
                f"there would be more than {MOST_NODES} nodes in windows of maintenance; "
                "end some, or announce it for every node"
            )

    def set(self, source: MuteSource) -> None:
        """Have one more, or the same one changed."""
        if isinstance(source, Silence):
            self._silences[source.id] = source
        else:
            self._windows[source.id] = source

    def announce(self, windows: Iterable[Maintenance]) -> None:
        """The windows that somebody else keeps, instead of those that he announced before."""
        self._announced = tuple(windows)[:MOST_WINDOWS]

    def get(self, id_: str) -> MuteSource | None:
        """The silence or window of an id, if it is ours and not over."""
        return self._silences.get(id_) or self._windows.get(id_)

    def is_announced(self, id_: str) -> bool:
        """Whether somebody else keeps the window of an id."""
        return any(window.id == id_ for window in self._announced)

    @property
    def idle(self) -> bool:
        """Whether nothing is muted, and nothing is there that could mute."""
        return not (self._mutes or self._in_force)

    def advance(self, now: float) -> bool:
        """Forget what is over; whether others are in force than before."""
        self._silences = {id_: kept for id_, kept in self._silences.items() if now < kept.ends}
        self._windows = {id_: kept for id_, kept in self._windows.items() if now < kept.ends}
        before = self._in_force
        self._announced = tuple(window for window in self._announced if now < window.ends)
        windows = (*self._windows.values(), *self._announced)
        sources: tuple[MuteSource, ...] = (*self._silences.values(), *windows)
        self._in_force = tuple(kept for kept in sources if kept.starts <= now)
        if self._in_force == before:
            return False
        self._covering = {}
        for kept in self._in_force:
            if isinstance(kept, Maintenance):
                names = kept.names
                for name in names or (None,):
                    self._covering.setdefault(name, []).append((kept, names))
        return True

    def mute_of(self, id_: str) -> Mute | None:
        """What mutes an incident, as it was when it was last checked."""
        return self._mutes.get(id_)

    def muted_now(self, incident: Incident) -> Mute | None:
        """What would mute an incident that nobody keeps."""
        return self._of_single(incident, incident.updated)

    def is_covered(self, incident: Incident, leader: Incident | None) -> bool:
        """Whether people are notified of `leader`, which leads its cause, instead.

        One that is muted or over stands for nobody else, and nobody stands for a critical incident.
        """
        if leader is None or incident.severity is Severity.CRITICAL:
            return False
        return leader.is_open and self.mute_of(leader.id) is None

    def forget(self, id_: str) -> None:
        """Drop an incident that is no longer needed."""
        self._mutes.pop(id_, None)

    def evaluate_mutes(
        self, incidents: Iterable[Incident], members: Mapping[str, Sequence[Incident]], now: float
    ) -> list[Incident]:
        """Evaluate incidents again; returns those whose mute has changed.

        `members` has the members of each group that may be among them; evaluate those before.
        """
        changed = []
        for incident in incidents:
            if incident.members or incident.entity.group:
                mute = self._of_group(incident, members.get(incident.id, ()), now)
            else:
                mute = self._of_single(incident, now)
            if mute == self._mutes.get(incident.id):
                continue
            changed.append(incident)
            if mute is None:
                del self._mutes[incident.id]
            else:
                self._mutes[incident.id] = mute
        return changed

    def _of_single(self, incident: Incident, now: float) -> Mute | None:
        if not self._in_force:
            return None
        source = self.source_of(incident.labels(), incident.nodes, now)
        return None if source is None else _mute(source)

    def source_of(
        self, labels: Mapping[str, str], nodes: Sequence[str], now: float
    ) -> MuteSource | None:
        """The silence or window in force for something with these labels on these nodes."""
        for silence in self._silences.values():
            if silence.mutes(labels, now):
                return silence
        concerned = set(nodes)
        for first in (nodes[0] if concerned else None, None):
            for window, names in self._covering.get(first, ()):
                if window.starts <= now < window.ends and (not names or concerned <= names):
                    return window
        return None

    def _of_group(self, group: Incident, members: Sequence[Incident], now: float) -> Mute | None:
        labels = group.labels()
        for silence in self._silences.values():
            if silence.mutes(labels, now) and _names(silence, group.id):
                return _mute(silence)
        mutes = [self._mutes.get(member.id) for member in members if member.is_open]
        if not mutes:
            return self._mutes.get(group.id)
        certain = [mute for mute in mutes if mute is not None]
        if len(certain) < len(mutes):
            return None
        return min(certain, key=lambda mute: (mute.until, mute.id))


def _names(silence: Silence, id_: str) -> bool:
    return any(
        (matcher.name, matcher.operator, matcher.value) == ("id", Operator.IS, id_)
        for matcher in silence.matchers
    )


def _mute(source: MuteSource) -> Mute:
    return Mute(
        id=source.id,
        kind="silence" if isinstance(source, Silence) else "maintenance",
        reason=source.reason,
        by=source.named,
        until=source.ends,
    )
