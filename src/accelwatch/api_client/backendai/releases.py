"""Which release a manager is, and what its API can by it.

An answer of 404 or an unknown field would say the same later, in the middle of a step; the release
says it before.
"""

import re
from enum import StrEnum
from typing import Self

import msgspec

from accelwatch.api_client.backendai.client import BackendAiClient, decoded
from accelwatch.api_client.backendai.errors import BackendAiUnavailableError
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.untrusted_text import printable

# A manager is restarted for an upgrade; until the next query its earlier abilities are assumed.
_KEEP_S = 300.0
_NUMBERS = re.compile(r"(\d{2})\.(\d{1,2})(?:\.(\d{1,4}))?")


class Ability(StrEnum):
    """What some releases can and others cannot."""

    # `requested_slots` of a session.
    REQUESTED_SLOTS = "requested_slots"
    # `agent_ids` of a session, and `priority`.
    AGENT_IDS = "agent_ids"
    # `compute_session_node`, with the sessions that depend on one.
    DEPENDENTS = "dependents"
    # /v2/sessions and /v2/agents, with a session's whole specification.
    V2 = "v2"


# The first release of each, by year and month.
_SINCE: dict[Ability, tuple[int, int]] = {
    Ability.REQUESTED_SLOTS: (24, 3),
    Ability.AGENT_IDS: (24, 9),
    Ability.DEPENDENTS: (24, 9),
    Ability.V2: (26, 4),
}
# The oldest whose API has been read; what is older may understand something else by the same words.
OLDEST = (23, 3)


class Release(msgspec.Struct, frozen=True, order=True):
    """Year, month and patch, such as 26.9.6."""

    year: int
    month: int
    patch: int = 0

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From a manager's own words, such as 26.9.6 or 24.09.0rc1; None for what is none."""
        numbers = _NUMBERS.match(text)
        return cls(*(int(number or 0) for number in numbers.groups())) if numbers else None

    def can(self, ability: Ability) -> bool:
        """Whether its API can that."""
        return (self.year, self.month) >= _SINCE[ability]

    @property
    def supported(self) -> bool:
        """Whether its API is known at all."""
        return (self.year, self.month) >= OLDEST

    def __str__(self) -> str:
        """As the manager writes it from 25.1 on."""
        return f"{self.year}.{self.month}.{self.patch}"


class _Root(msgspec.Struct, frozen=True):
    manager: str


class ManagerRelease:
    """Of one manager; what was read is kept for five minutes."""

    def __init__(self, client: BackendAiClient, clock: Clock | None = None) -> None:
        self._client = client
        self._clock = clock or SystemClock()
        self._read_at = float("-inf")
        self._release: Release | None = None

    async def current(self) -> Release:
        """Raises BackendAiError."""
        now = self._clock.monotonic()
        if self._release is not None and now - self._read_at < _KEEP_S:
            return self._release
        text = decoded(await self._client.get("/"), _Root).manager
        release = Release.parsed(text)
        if release is None or not release.supported:
            oldest = f"{OLDEST[0]}.{OLDEST[1]:02}"
            raise BackendAiUnavailableError(
                f"release {printable(text)[:40]!r} of the manager is not known; {oldest} or newer "
                "is needed",
                sent=False,
            )
        self._release, self._read_at = release, now
        return release
