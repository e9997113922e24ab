"""What is remembered of a group: who is in it, who may join it, and since when it is calm."""

import itertools
from collections.abc import Iterable

import msgspec

from accelwatch.alerting.incidents.model.incident import Incident


class GroupState(msgspec.Struct, kw_only=True):
    """Of what is, or may become, a group; times in monotonic seconds."""

    # The group's own, once it is open.
    incident: Incident | None = None
    # Those in the group that are open, by id.
    members: dict[str, Incident] = {}
    # Those that are open and may join it, the first to begin first.
    candidates: dict[str, Incident] = {}
    # Ids of all that the group has ever had: one that comes back is no candidate.
    member_ids: set[str] = set()
    # When members and candidates were opened or came back.
    started_at: dict[str, float] = {}
    calm_since: float | None = None

    def restore(self, incident: Incident, members: Iterable[Incident]) -> None:
        """A group that was open before, with those of its members that still are."""
        self.incident = incident
        self.members = {member.id: member for member in members}
        self.member_ids = set(incident.members)
        # They began before anything that may join from now on.
        self.started_at = dict.fromkeys(self.members, float("-inf"))

    def update(self, incident: Incident, now: float, at: float) -> None:
        """Have a member or a candidate as it stands; `now` in Unix seconds, `at` in monotonic ones."""
        kept = self.members if incident.id in self.member_ids else self.candidates
        kept[incident.id] = incident
        self.started_at.setdefault(incident.id, at - max(now - incident.started_at, 0.0))

    def admit(self, candidates: Iterable[Incident]) -> None:
        """These are members from now on."""
        for candidate in candidates:
            self.members[candidate.id] = self.candidates.pop(candidate.id)
            self.member_ids.add(candidate.id)

    def leave(self, id_: str) -> None:
        """One that is over: the group does not wait for its end any more."""
        for kept in (self.members, self.candidates, self.started_at):
            kept.pop(id_, None)

    def started_since(self, since: float) -> list[Incident]:
        """The candidates that began at a moment or later."""
        return [
            candidate for id_, candidate in self.candidates.items() if self.started_at[id_] >= since
        ]

    def expire_candidates(self, since: float) -> None:
        """Those that began before a moment may join no more."""
        started = self.started_at
        for id_ in list(itertools.takewhile(lambda id_: started[id_] < since, self.candidates)):
            del self.candidates[id_], started[id_]

    def is_calm(self, calm_s: float, at: float) -> bool:
        """Whether no member has been open for so long.

        A candidate keeps no group open: it may have opened long before, and stay open for days.
        """
        if self.members:
            self.calm_since = None
            return False
        if self.calm_since is None:
            self.calm_since = at
        return at - self.calm_since >= calm_s
