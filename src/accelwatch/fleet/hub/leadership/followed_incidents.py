"""The incidents of the hub that leads, for readers of a hub that waits."""

from collections.abc import Callable

from accelwatch.alerting.evaluation.notifier_owner import NotifiedBy
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.muting import Mute, Muting
from accelwatch.fleet.hub.leadership.journal_watch import JournalWatch


class FollowedIncidents:
    """An `IncidentReader` of the copy of the journal."""

    def __init__(self, watch: JournalWatch, problems: Callable[[], tuple[str, ...]]) -> None:
        """`problems` says how far the copy is behind, where that is too much."""
        self._watch = watch
        self._problems = problems

    @property
    def version(self) -> int:
        """Grows whenever incidents have changed."""
        return self._watch.copy.version

    @property
    def open(self) -> list[Incident]:
        """What is going on, in the order in which it was opened."""
        return self._watch.copy.open

    @property
    def closed(self) -> list[Incident]:
        """What is over, the latest first."""
        return self._watch.copy.closed

    def incident(self, id_: str) -> Incident | None:
        """One incident, if it is known here."""
        return self._watch.copy.incident(id_)

    @property
    def muting(self) -> Muting:
        """The silences and windows of the journal; those that a scheduler announces the leader has."""
        return self._watch.copy.muting

    def mute_of(self, incident: Incident) -> Mute | None:
        """Why nobody is notified of an incident; None when people are."""
        return self._watch.copy.mute_of(incident)

    def is_covered_by_leader(self, incident: Incident) -> bool:
        """Whether people are notified of what leads its cause instead."""
        return self._watch.copy.is_covered_by_leader(incident)

    @property
    def rule_count(self) -> int:
        """How many rules the leader has; 0 while none is known."""
        leader = None if self._watch.shared is None else self._watch.shared.leader
        return 0 if leader is None else leader.entry.rules

    @property
    def rules_digest(self) -> str:
        """SHA-256 of the leader's rules; empty while none is known."""
        leader = None if self._watch.shared is None else self._watch.shared.leader
        return "" if leader is None else leader.entry.rules_digest

    @property
    def interval_s(self) -> float | None:
        """None: nothing is evaluated here."""
        return None

    @property
    def evaluated_age_s(self) -> float | None:
        """None: nothing is evaluated here."""
        return None

    @property
    def notified_by(self) -> NotifiedBy:
        """The leader, which is a hub."""
        return NotifiedBy.HUB

    @property
    def problems(self) -> tuple[str, ...]:
        """How far the copy is behind, where that is too much."""
        return self._problems()
