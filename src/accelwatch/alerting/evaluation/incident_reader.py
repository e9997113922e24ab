"""Incidents for those who only read them, whoever evaluates the rules: this process or another hub."""

from typing import Protocol

from accelwatch.alerting.evaluation.notifier_owner import NotifiedBy
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.muting import Mute, Muting


class IncidentReader(Protocol):
    """As they stand now; for one event loop."""

    @property
    def version(self) -> int:
        """Grows whenever incidents have changed."""

    @property
    def open(self) -> list[Incident]:
        """What is going on, in the order in which it was opened."""

    @property
    def closed(self) -> list[Incident]:
        """What is over, the latest first."""

    def incident(self, id_: str) -> Incident | None:
        """One incident, if it is known here."""

    @property
    def muting(self) -> Muting:
        """The silences and windows, and what they mute."""

    def mute_of(self, incident: Incident) -> Mute | None:
        """Why nobody is notified of an incident; None when people are."""

    def is_covered_by_leader(self, incident: Incident) -> bool:
        """Whether people are notified of what leads its cause instead."""

    @property
    def rule_count(self) -> int:
        """How many rules are in force."""

    @property
    def rules_digest(self) -> str:
        """SHA-256 of the rules in force."""

    @property
    def interval_s(self) -> float | None:
        """Between two evaluations; None where another process evaluates."""

    @property
    def evaluated_age_s(self) -> float | None:
        """Seconds since the last evaluation; None before the first, and where another process does."""

    @property
    def notified_by(self) -> NotifiedBy:
        """Who notifies people of incidents."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with journal, rules and alerts; empty when all is well."""
