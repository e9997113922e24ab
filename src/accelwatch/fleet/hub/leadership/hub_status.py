"""Which hub leads, which others there are, and what is wrong between them, as this hub knows it."""

import asyncio
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from accelwatch.alerting.incidents.journal.lease import Lease
from accelwatch.alerting.incidents.journal.shared import HubEntry, ListedHub
from accelwatch.base.clock import Clock
from accelwatch.base.version import __version__
from accelwatch.config.forms import split_address
from accelwatch.fleet.api.hub_pages import LEADS, UNPROVEN
from accelwatch.fleet.hub.leadership.cut_off import CutOffCheck
from accelwatch.fleet.hub.leadership.followed_incidents import FollowedIncidents
from accelwatch.fleet.hub.leadership.journal_watch import JournalWatch
from accelwatch.fleet.hub.leadership.leader import Leader
from accelwatch.fleet.hub.leadership.own_rules import OwnRules
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.leader_note import LeaderNote
from accelwatch.fleet.scrape_settings import TlsConfig
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.timestamps import timestamp_or_none
from accelwatch.web.sockets.listeners import is_loopback

if TYPE_CHECKING:
    from accelwatch.fleet.remedies.current import CurrentRemedies

logger = logging.getLogger(__name__)

# A hub that was not seen for so long is not there.
PRESENT_S = 10.0
_RULES_EVERY_S = 10.0


class HubStatus:
    """Of this hub among those that share its journal; the loop's thread only."""

    def __init__(
        self,
        leader: Leader,
        settings: Callable[[], HubSettings],
        state_dir: Path | None,
        clock: Clock,
    ) -> None:
        self._leader = leader
        self._settings = settings
        self._clock = clock
        self._own_rules = OwnRules()
        self._host = socket.gethostname()
        self.id = f"{self._host}:{'' if state_dir is None else state_dir.resolve()}"
        self.journal = settings().journal
        self.state_dir = state_dir
        self.watch = JournalWatch(self.journal, state_dir, clock, self.own_entry)
        # Whether this hub serves TLS, and so the others, whose settings are the same; set by its server.
        self.serves_tls: Callable[[], bool] = lambda: False
        # Stops this hub while it leads and is cut off.
        self.cut_off = CutOffCheck(lambda: self._lease, self._others, self._tls)
        self._incidents = FollowedIncidents(self.watch, self._late)
        # Which hubs have other rule files than the leader, when that was logged last.
        self._logged: tuple[str, ...] = ()

    @property
    def is_shared(self) -> bool:
        """Whether other hubs can have the same journal."""
        return self.journal.in_postgresql

    @property
    def leads(self) -> bool:
        """Whether this hub evaluates rules and notifies."""
        return self._leader.rules is not None

    @property
    def waiting(self) -> str:
        """Why this hub does not lead; empty while it does, and where it has no rules."""
        return self._leader.lease.waiting

    @property
    def _lease(self) -> Lease | None:
        rules = self._leader.rules
        writer = None if rules is None else rules.incident_store.writer
        return None if writer is None else writer.lease

    @property
    def acts(self) -> bool:
        """Whether this hub may begin remedies now, as far as settings and lease are concerned."""
        lease, remedies = self._lease, self._leader.remedies
        return (
            lease is not None
            and not lease.problem
            and remedies is not None
            and remedies.settings.acts
        )

    def own_entry(self) -> HubEntry:
        """What this hub says of itself."""
        lease, rules = self._lease, self._leader.rules
        if rules is not None:
            self._own_rules.set_rules(rules.rules)
        return HubEntry(
            id=self.id,
            name=self._host,
            address=address_of(self._settings().web.listen_address, self._host),
            version=__version__,
            rules_digest=self._own_rules.digest,
            rules=self._own_rules.count,
            token=0 if lease is None else lease.token,
            loss_risk="" if lease is None else lease.loss_risk,
        )

    async def run(self) -> None:
        """Check the rule files now and then, until cancelled."""
        while True:
            await self.check_rules()
            await asyncio.sleep(_RULES_EVERY_S)

    def _others(self) -> list[HubEntry]:
        hubs = () if self.watch.shared is None else self.watch.shared.hubs
        return [hub.entry for hub in hubs if hub.entry.id != self.id]

    def _tls(self) -> TlsConfig | None:
        """Whom other hubs have to be signed by: the same as targets; None where hubs serve http."""
        return self._settings().scrape.tls_config if self.serves_tls() else None

    @property
    def leader_status(self) -> str:
        """As `/-/leader` answers it; empty for a hub that waits."""
        if not self.leads:
            return ""
        lease = self._lease
        return UNPROVEN if lease is not None and lease.problem else LEADS

    async def check_rules(self) -> None:
        """See which rule files this hub has, and log once which hubs have others than the leader."""
        if self._leader.rules is None:
            await self._own_rules.refresh(self._settings().rules_in_force)
        differing = self._differing()
        for text in differing:
            if text not in self._logged:
                logger.warning("%s", text)
        self._logged = differing

    @property
    def leading_hub(self) -> ListedHub | None:
        """The hub that leads; None where it was not seen lately, so that nobody may lead by now."""
        shared = self.watch.shared
        leader = None if shared is None else shared.leader
        return leader if leader is not None and leader.age_s <= PRESENT_S else None

    @property
    def follows(self) -> bool:
        """Whether another hub leads, and this one knows what that has written."""
        return not self.leads and self.leading_hub is not None and self.watch.is_current

    @property
    def leader_note(self) -> LeaderNote | None:
        """Who leads; None where no other hub can."""
        if not self.is_shared:
            return None
        shared, leader = self.watch.shared, self.leading_hub
        late_s = self.watch.late_s
        has_leader = shared is not None and (leader is not None or self.leads)
        return LeaderNote(
            name=self.name_of(leader) or (self._host if self.leads else ""),
            since=timestamp_or_none(shared.since) if has_leader and shared is not None else None,
            is_this=self.leads,
            late_s=None if late_s is None else round(late_s, 1),
        )

    def name_of(self, hub: ListedHub | None) -> str:
        """Its host's name; its address where several hubs are on that host; empty for none."""
        shared = self.watch.shared
        if hub is None or shared is None:
            return ""
        namesakes = [other for other in shared.hubs if other.entry.name == hub.entry.name]
        return hub.entry.address or hub.entry.name if len(namesakes) > 1 else hub.entry.name

    @property
    def refusal(self) -> str:
        """Why this hub refuses changes, and which hub accepts them; empty while it leads."""
        leader = self.leading_hub
        if self.leads or not self.waiting:
            return ""
        if leader is None:
            return f"this hub does not lead, and no other was seen to: {self.waiting}"
        where = f" (--hub http://{leader.entry.address})" if leader.entry.address else ""
        return f"this hub only follows; {leader.entry.name} leads, send it there{where}"

    @property
    def problems(self) -> tuple[str, ...]:
        """What people have to know; that another hub leads is no problem."""
        waiting = () if self.follows else self._leader.problems
        if not self.is_shared:
            return waiting
        return (*waiting, *self._late(), *self._differing())

    def _late(self) -> tuple[str, ...]:
        """How far the copy of the journal is behind, where that is too much."""
        late_s = self.watch.late_s
        if self.leads or late_s is None or self.watch.is_current:
            return ()
        return (f"incidents here are as of {late_s:.0f} s ago: the journal cannot be read",)

    @property
    def incidents(self) -> FollowedIncidents | None:
        """Those of the hub that leads, while this one waits; None before it has read the journal."""
        is_followed = bool(self.waiting) and self.watch.is_copied
        return self._incidents if is_followed else None

    def remedies(self) -> "CurrentRemedies | None":
        """What the hub that leads is doing about them; None where no actions are configured."""
        settings = self._settings().remedy
        if self.incidents is None or not settings.actions:
            return None
        # Only a hub that acts, or shows who does, loads this.
        from accelwatch.fleet.remedies.current import followed_remedies

        leader = self.leading_hub
        loss_risk = "" if leader is None else leader.entry.loss_risk
        states = self.watch.copy.states(self._clock.wall())
        return followed_remedies(states, settings, loss_risk)

    def _differing(self) -> tuple[str, ...]:
        """A sentence for each hub that is there and has other rule files than the one that leads."""
        leader, shared = self.leading_hub, self.watch.shared
        if leader is None or shared is None:
            return ()
        return tuple(
            f"{self.name_of(hub)} has other rule files than {self.name_of(leader)}, which leads:"
            f" the {leader.entry.rules} rules of {self.name_of(leader)} count"
            for hub in shared.hubs
            if hub.age_s <= PRESENT_S and same_rules(hub, leader) is False
        )

    def series(self) -> dict[Series, Number]:
        """For /metrics; of a hub that shares no journal nothing."""
        if not self.is_shared:
            return {}
        series: dict[Series, Number] = {("fleet_hub_leads",): int(self.leads)}
        late_s, lease = self.watch.late_s, self._lease
        if late_s is not None:
            series["fleet_journal_read_age_seconds",] = round(late_s, 3)
        if lease is not None and (age_s := lease.age_s) is not None:
            series["fleet_lease_age_seconds",] = round(age_s, 3)
        return series


def same_rules(hub: ListedHub, leader: ListedHub | None) -> bool | None:
    """Whether two hubs have the same rule files; None where one has none that can be loaded."""
    if leader is None or not (hub.entry.rules_digest and leader.entry.rules_digest):
        return None
    return hub.entry.rules_digest == leader.entry.rules_digest


def address_of(listen_addresses: tuple[str, ...], host: str) -> str:
    """`host:port` by which other machines reach the first address that they can; else the first."""
    chosen = next((text for text in listen_addresses if not is_loopback(text)), None)
    chosen = chosen or next(iter(listen_addresses), "")
    if not chosen:
        return ""
    name, port = split_address(chosen)
    wildcard = name.strip("[]") in ("", "*", "0.0.0.0", "::")  # noqa: S104 - compared, not bound
    return f"{host if wildcard else name}:{port}"
