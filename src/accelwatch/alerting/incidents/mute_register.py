"""Silences and maintenance windows as people and schedulers set and end them, kept in the journal."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

import msgspec

from accelwatch.alerting.incidents.incident_manager import IncidentManager
from accelwatch.alerting.incidents.journal.patient import PatientJournal
from accelwatch.alerting.incidents.journal.records import MaintenanceRecord, SilenceRecord
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.muting import MuteSource, Muting
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence
from accelwatch.alerting.incidents.mute_states import MuteStates
from accelwatch.base.errors import UnmetError


class MuteRegister:
    """What mutes the incidents of a process; for one event loop."""

    def __init__(
        self,
        manager: IncidentManager,
        journal: PatientJournal,
        wall: Callable[[], float],
        *,
        changing: asyncio.Lock,
        on_changes: Callable[[Sequence[Incident]], None],
    ) -> None:
        """`wall` gives Unix seconds. `changing` is held by whoever changes incidents or mutes;
        `on_changes` gets incidents whose mute has changed.
        """
        self._journal = journal
        self._wall = wall
        self._changing = changing
        self._on_changes = on_changes
        self._states = MuteStates(Muting(), manager, wall)

    async def restore(self, muting: Muting, manager: IncidentManager) -> None:
        """What the journal knows from before."""
        self._states = MuteStates(muting, manager, self._wall)
        await self._states.evaluate(manager.open)

    @property
    def muting(self) -> Muting:
        """The silences and windows, and what they mute."""
        return self._states.muting

    async def evaluate(self, incidents: Sequence[Incident]) -> list[Incident]:
        """Evaluate incidents that have changed; those that are muted otherwise now, not reported yet."""
        return await self._states.evaluate(incidents)

    async def refresh(self) -> None:
        """Let silences and windows begin and end; incidents that are muted otherwise are reported."""
        async with self._changing:
            await self._advance()

    async def mute(self, source: MuteSource) -> str:
        """Put a silence or window in force; what is wrong with the journal, if anything."""
        async with self._changing:
            return await self._set(source, source.named)

    async def announce(self, windows: Iterable[Maintenance]) -> None:
        """Heed the windows that a scheduler keeps, instead of those that it announced before."""
        async with self._changing:
            self.muting.announce(windows)
            await self._advance()

    async def unmute(self, id_: str, actor: str) -> tuple[MuteSource, str]:
        """End a silence or window; how it is now, and what is wrong with the journal, if anything.

        Raises UnmetError when there is none, or none any more.
        """
        async with self._changing:
            source = self.muting.get(id_)
            if source is None:
                raise UnmetError(f"no silence or maintenance {id_[:100]!r}, or it is over")
            expired = msgspec.structs.replace(source, ends=min(self._wall(), source.ends))
            return expired, await self._set(expired, actor)

    async def _set(self, source: MuteSource, actor: str) -> str:
        record = SilenceRecord(source) if isinstance(source, Silence) else MaintenanceRecord(source)
        problem = await self._journal.write([record], self._wall(), actor=actor)
        self.muting.set(source)
        await self._advance()
        return problem

    async def _advance(self) -> None:
        changed = await self._states.advance()
        if changed:
            self._on_changes(changed)
