"""Which incidents people are notified of from here, and when of their end."""

import logging
from collections.abc import Callable, Mapping

from accelwatch.alerting.delivery.approval_requests import ApprovalRequests
from accelwatch.alerting.delivery.stages.resolve_wait import resolve_wait_s
from accelwatch.alerting.evaluation.notifier_owner import NotifiedBy, NotifierOwner
from accelwatch.alerting.incidents.incident_store import IncidentStore
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.rule import Rule
from accelwatch.base.clock import Clock

logger = logging.getLogger(__name__)


class Notifying:
    """Decides for one process; the loop's thread only."""

    def __init__(
        self,
        clock: Clock,
        incident_store: IncidentStore,
        owner: NotifierOwner | None,
        rules: Callable[[], Mapping[str, Rule]],
    ) -> None:
        """`owner` knows whether a hub notifies people instead, `rules` are those in force."""
        self._clock = clock
        self._incident_store = incident_store
        self._owner = owner
        self._rules = rules
        # As it was at the last tick.
        self._by = NotifiedBy.HERE

    @property
    def by(self) -> NotifiedBy:
        """Who notifies people of incidents."""
        return NotifiedBy.HERE if self._owner is None else self._owner.now

    @property
    def problem(self) -> str:
        """What people should know of who notifies; empty while all is well."""
        return "" if self._owner is None else self._owner.problem

    def remember(self, fingerprints: dict[str, float], wall: float) -> None:
        """Restore what an earlier process has written."""
        if self._owner is not None:
            self._owner.remember(fingerprints, wall)
        self._by = self.by

    def to_write(self, wall: float) -> dict[str, float]:
        """What the journal should remember, if that is worth a write."""
        return {} if self._owner is None else self._owner.to_write(wall)

    def update(self) -> bool:
        """Whether somebody else notifies people than at the tick before."""
        before, self._by = self._by, self.by
        if self._by is before:
            return False
        logger.info("notifications of incidents come from=%s", self._by.value)
        return True

    def is_silent_about(self, incident: Incident) -> bool:
        """Whether this process notifies nobody of an incident."""
        if self._by is NotifiedBy.HUB or self._incident_store.mute_of(incident) is not None:
            return True
        if self._incident_store.is_covered_by_leader(incident):
            return True
        return self._by is NotifiedBy.LOCAL and not any(map(self._is_local, incident.rules))

    def resolve_wait_s(
        self, id_: str, resolve_after_s: float, approval_requests: ApprovalRequests
    ) -> float:
        """For how many seconds the end of an incident waits until people are notified of it."""
        incident = self._incident_store.incident(id_)
        if incident is None:
            return 0.0
        rule = self._rules().get(incident.rule)
        return resolve_wait_s(
            incident,
            self._clock.wall(),
            resolve_after_s=resolve_after_s,
            cooldown_s=0.0 if rule is None else rule.cooldown_s,
            working=approval_requests.works_on(incident),
        )

    def _is_local(self, id_: str) -> bool:
        rule = self._rules().get(id_)
        return rule is not None and rule.local
