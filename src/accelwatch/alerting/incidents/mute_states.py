"""Which open incidents silences and maintenance windows mute, and of which that has changed."""

from collections.abc import Callable, Sequence

from accelwatch.alerting.incidents.incident_manager import IncidentManager
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.muting import Muting
from accelwatch.base.slices import LongWork


class MuteStates:
    """The mutes of all incidents of a process; others have their turn while many are evaluated."""

    def __init__(self, muting: Muting, manager: IncidentManager, wall: Callable[[], float]) -> None:
        """`wall` gives Unix seconds."""
        self.muting = muting
        self._manager = manager
        self._wall = wall

    async def evaluate(self, incidents: Sequence[Incident]) -> list[Incident]:
        """Evaluate them, and all groups; those that are muted otherwise now, and their followers."""
        if self.muting.idle:
            return []
        now = self._wall()
        members = self._manager.members()
        groups = [incident for incident in self._manager.open if incident.entity.group]
        of_groups = {group.id for group in groups}
        singles = [incident for incident in incidents if incident.id not in of_groups]
        changed: list[Incident] = []
        work = LongWork()
        for incident in singles:
            changed += self.muting.evaluate_mutes((incident,), members, now)
            await work.yield_control()
        changed += self.muting.evaluate_mutes(groups, members, now)
        return self._with_followers(changed)

    async def advance(self) -> list[Incident]:
        """Let silences and windows start and end; the open incidents that are muted otherwise now."""
        if not self.muting.advance(self._wall()):
            return []
        return await self.evaluate(self._manager.open)

    def _with_followers(self, changed: list[Incident]) -> list[Incident]:
        """Those that are muted otherwise than before, and those that they stand for."""
        leaders = {incident.id for incident in changed if not incident.follows}
        if not leaders:
            return changed
        changed_ids = {incident.id for incident in changed}
        followers = (incident for incident in self._manager.open if incident.follows in leaders)
        return [*changed, *(incident for incident in followers if incident.id not in changed_ids)]
