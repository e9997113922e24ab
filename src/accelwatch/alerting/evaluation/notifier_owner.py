"""Who notifies people of an agent's incidents: the agent, a hub, or the agent for a silent hub."""

from enum import StrEnum
from typing import Protocol

from accelwatch.schema.display import duration

# How long a hub that was there once is remembered over restarts.
REMEMBERED_S = 30 * 86_400.0
# Among the fingerprints of the journal: until when a hub is remembered.
HUB_FINGERPRINT = "\x1fhub"
_WRITE_EVERY_S = 600.0


class NotifiedBy(StrEnum):
    """By whom people are notified of incidents."""

    # By this process.
    HERE = "here"
    # By a hub that follows this node; here is only judged.
    HUB = "hub"
    # By this process of rules that are marked `local`: the hub has been silent for too long.
    LOCAL = "local"


class Presence(Protocol):
    """What is known of hubs that notify people."""

    @property
    def silent_s(self) -> float | None:
        """Since when there is none: 0 while one is there, None if there never was any."""
        ...

    def restore(self, ago_s: float) -> None:
        """An earlier process knew of one so many seconds ago."""
        ...


class NotifierOwner:
    """Decides at each tick; times in seconds."""

    def __init__(self, presence: Presence, most_silent_s: float, *, beside: bool = False) -> None:
        """After `most_silent_s` without a hub this process notifies; with `beside` in any case."""
        self._presence = presence
        self.most_silent_s = most_silent_s
        self.beside = beside
        # Whether a hub was there when it was last written down, and when.
        self._written: tuple[bool, float] | None = None

    @property
    def now(self) -> NotifiedBy:
        """Who notifies now."""
        silent_s = self._presence.silent_s
        if self.beside or silent_s is None:
            return NotifiedBy.HERE
        return NotifiedBy.HUB if silent_s < self.most_silent_s else NotifiedBy.LOCAL

    @property
    def problem(self) -> str:
        """What people should know; empty while all is well."""
        silent_s = self._presence.silent_s
        if self.now is not NotifiedBy.LOCAL or silent_s is None:
            return ""
        return (
            f"the hub that notifies people has been silent for {duration(silent_s)}: "
            "this agent notifies only for rules with local: true"
        )

    def remember(self, fingerprints: dict[str, float], wall: float) -> None:
        """Restore what an earlier process has written."""
        until = fingerprints.get(HUB_FINGERPRINT)
        if until is not None:
            self._presence.restore(max(wall - (until - REMEMBERED_S), 0.0))

    def to_write(self, wall: float) -> dict[str, float]:
        """What the journal should remember, if that is worth a write."""
        silent_s = self._presence.silent_s
        if silent_s is None:
            return {}
        there = silent_s == 0.0
        if self._written is not None:
            was, at = self._written
            if was == there and not (there and abs(wall - at) >= _WRITE_EVERY_S):
                return {}
        self._written = there, wall
        return {HUB_FINGERPRINT: wall - silent_s + REMEMBERED_S}
