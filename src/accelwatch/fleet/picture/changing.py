"""What a dashboard may have done about incidents, as it sees it."""

from collections.abc import Coroutine, Sequence
from typing import Protocol


class IncidentChanges(Protocol):
    """Each says what was done, in words, and raises AccelwatchError when it was refused."""

    def silence(
        self, matchers: Sequence[str], lasts: str, reason: str
    ) -> Coroutine[None, None, str]:
        """Silence the incidents that all matchers (`id=i7`) fit, for a while (`2h`)."""
        ...

    def expire_silence(self, id_: str) -> Coroutine[None, None, str]:
        """End a silence."""
        ...

    def close(self, id_: str, reason: str) -> Coroutine[None, None, str]:
        """Close an incident by hand."""
        ...
