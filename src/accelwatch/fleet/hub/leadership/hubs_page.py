"""`/v1/hubs`: the status of a hub among others as its document."""

from accelwatch.alerting.incidents.journal.lease import timeline_of
from accelwatch.alerting.incidents.journal.shared import ListedHub
from accelwatch.fleet.documents.hubs import HubDocument, HubsPage
from accelwatch.fleet.hub.leadership.hub_status import HubStatus, same_rules
from accelwatch.schema.timestamps import timestamp


def hubs_page(status: HubStatus) -> HubsPage:
    """As it stands now."""
    if not status.is_shared:
        folder = status.state_dir
        return HubsPage(
            leads=status.leads,
            acts=status.acts,
            waiting=status.waiting,
            journal="none" if folder is None else f"a file in {folder}",
            shared=False,
            auto_allowed=True if status.leads else None,
        )
    watch, leader, shared = status.watch, status.leading_hub, status.watch.shared
    entry = status.own_entry() if status.leads else None if leader is None else leader.entry
    note, late_s, database = status.leader_note, watch.late_s, status.journal.postgresql
    is_reachable = shared is not None and not watch.problem
    # What it was before the database went away says nothing about what happens now.
    loss_risk = None if entry is None or not is_reachable else entry.loss_risk
    return HubsPage(
        leads=status.leads,
        acts=status.acts,
        waiting=status.waiting,
        journal=f"PostgreSQL {database.database} on {', '.join(database.hosts)}",
        shared=True,
        leader=(note.name or None) if note is not None else None,
        since=None if note is None else note.since,
        token=None if shared is None else shared.token,
        timeline=None if shared is None else timeline_of(shared.token),
        database_reachable=is_reachable,
        late_s=None if late_s is None else round(late_s, 3),
        auto_allowed=None if loss_risk is None else not loss_risk,
        auto_refused=loss_risk or "",
        problems=(*filter(None, (watch.problem, watch.unannounced)), *status.problems),
        hubs=()
        if shared is None
        else tuple(
            _document(hub, leader, is_this=hub.entry.id == status.id) for hub in shared.hubs
        ),
    )


def _document(hub: ListedHub, leader: ListedHub | None, *, is_this: bool) -> HubDocument:
    entry = hub.entry
    return HubDocument(
        name=entry.name,
        address=entry.address,
        version=entry.version,
        leads=leader is not None and leader.entry.id == entry.id,
        is_this=is_this,
        last_contact=timestamp(hub.last_contact),
        age_s=round(hub.age_s, 3),
        late_s=entry.late_s,
        rules_digest=entry.rules_digest,
        rules=entry.rules,
        has_rules_of_leader=same_rules(hub, leader),
    )
