"""Incidents as the bytes that streams send: all of them, or the changes since a client's last frame."""

from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.base.slices import LongWork
from accelwatch.fleet.wire import IncidentNow, RulesNow
from accelwatch.web.http.stream import framed

NO_RULES = RulesNow(
    evaluated=False, rules=0, problems=(), open={}, muted=0, omitted=0, is_reset=False
)


class IncidentFrames:
    """The published incidents, numbered by refreshes with a change."""

    def __init__(self) -> None:
        # Of the last refresh that brought something; 0 before the first.
        self.sequence = 0
        self.rules = NO_RULES
        # Each incident with the refresh that brought it.
        self._messages: tuple[tuple[int, IncidentNow], ...] = ()
        # A client whose sequence is lower gets everything again.
        self._restart_sequence = 0
        # Encoded once for all viewers, void with the next refresh.
        self._frames: dict[tuple[str, int], list[bytes]] = {}

    def publish(
        self,
        rules: RulesNow,
        messages: Iterable[tuple[int, IncidentNow]],
        restart_sequence: int,
    ) -> None:
        """Replace the published messages; clients behind `restart_sequence` are sent everything."""
        self.rules, self._messages = rules, tuple(messages)
        self._restart_sequence = restart_sequence
        self._frames = {}
        self.sequence += 1

    async def frames(self, form: str, after: int) -> tuple[Sequence[bytes], int]:
        """What has come after a refresh, in a stream's form, and up to which refresh.

        Made once for all clients of the same sequence.
        """
        sequence = self.sequence
        if after >= sequence:
            return (), after
        key = form, after
        made = self._frames.get(key)
        if made is None:
            frames, work, made = self._frames, LongWork(), []
            for message in self._after(after):
                made.append(framed(message, form))
                await work.yield_control()
            frames[key] = made
        return made, sequence

    def _after(self, after: int) -> list[RulesNow | IncidentNow]:
        is_restart = after < self._restart_sequence or not after
        rules = msgspec.structs.replace(self.rules, is_reset=is_restart)
        messages = [
            message for sequence, message in self._messages if is_restart or sequence > after
        ]
        return [rules, *messages]
