"""Pages of several hubs as one: incidents, silences, maintenance, remedies. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentsPage
from accelwatch.alerting.evaluation.silences.documents import (
    MaintenancePage,
    MutingDocument,
    MutingPage,
    SilencesPage,
)
from accelwatch.alerting.incidents.model.incident import IncidentState
from accelwatch.fleet.avoid.documents import AvoidPage, AvoidReason, NodeToAvoid
from accelwatch.fleet.documents.remedies import (
    Commanded,
    NoteDocument,
    RemediesPage,
    RemedyDocument,
    SparesPage,
)
from accelwatch.fleet.hub_client.several.names.incident_ids import incident_in, with_hub
from accelwatch.fleet.hub_client.several.names.shared_nodes import Ownership
from accelwatch.schema.natural_order import natural

Muting = TypeVar("Muting", bound=MutingDocument)
Page = TypeVar(
    "Page", AvoidPage, IncidentsPage, SilencesPage, MaintenancePage, RemediesPage, SparesPage
)


def problems_of(
    pages: Mapping[int, Page], faults: Mapping[int, str], hubs: Sequence[str]
) -> tuple[str, ...]:
    """Hubs that do not answer, then what is wrong with those that do."""
    problems = [f"hub {hubs[hub]}: {text}" for hub, text in sorted(faults.items())]
    for hub, page in pages.items():
        problems += [f"{hubs[hub]}: {text}" for text in page.problems]
    return tuple(problems)


def incidents_merged(
    pages: Mapping[int, IncidentsPage], faults: Mapping[int, str], owner: Ownership
) -> IncidentsPage:
    """Ongoing ones first, the latest of each first."""
    digests = {page.digest for page in pages.values()}
    incidents = [
        incident_in(incident, hub, owner)
        for hub, page in pages.items()
        for incident in page.incidents
    ]
    incidents.sort(key=lambda incident: incident.opened, reverse=True)
    incidents.sort(key=lambda incident: incident.state == IncidentState.CLOSED)
    intervals = [page.interval_s for page in pages.values() if page.interval_s is not None]
    ages = [page.evaluated_age_s for page in pages.values() if page.evaluated_age_s is not None]
    return IncidentsPage(
        evaluated=any(page.evaluated for page in pages.values()),
        rules=max((page.rules for page in pages.values()), default=0),
        digest=next(iter(digests)) if len(digests) == 1 else "",
        interval_s=max(intervals, default=None),
        evaluated_age_s=max(ages, default=None),
        problems=problems_of(pages, faults, owner.hubs),
        incidents=tuple(incidents),
    )


def silences_merged(
    pages: Mapping[int, SilencesPage], faults: Mapping[int, str], hubs: Sequence[str]
) -> SilencesPage:
    """The first to end first."""
    silences = [
        _named(silence, hubs[hub]) for hub, page in pages.items() for silence in page.silences
    ]
    return SilencesPage(
        evaluated=_evaluated(pages.values()),
        problems=problems_of(pages, faults, hubs),
        silences=tuple(sorted(silences, key=lambda silence: silence.ends)),
    )


def maintenance_merged(
    pages: Mapping[int, MaintenancePage], faults: Mapping[int, str], hubs: Sequence[str]
) -> MaintenancePage:
    """The first to begin first."""
    windows = [
        _named(window, hubs[hub]) for hub, page in pages.items() for window in page.maintenance
    ]
    return MaintenancePage(
        evaluated=_evaluated(pages.values()),
        problems=problems_of(pages, faults, hubs),
        maintenance=tuple(sorted(windows, key=lambda window: window.starts)),
    )


def remedy_in(remedy: RemedyDocument, hub: int, owner: Ownership) -> RemedyDocument:
    """What a hub does about a node, by the names of the picture."""
    name = owner.hubs[hub]
    return msgspec.structs.replace(
        remedy,
        node=owner.name_of(hub, remedy.node),
        incident=with_hub(remedy.incident, name),
        incidents=tuple(with_hub(incident, name) for incident in remedy.incidents),
    )


def commanded_in(answer: Commanded, hub: int, owner: Ownership) -> Commanded:
    """What has come of a person's word at a hub, by the names of the picture."""
    name = owner.hubs[hub]
    notes = tuple(
        NoteDocument(
            text=f"{name}: {note.text}",
            node=owner.name_of(hub, note.node),
            incident=with_hub(note.incident, name),
        )
        for note in answer.notes
    )
    remedy = None if answer.remedy is None else remedy_in(answer.remedy, hub, owner)
    return Commanded(notes=notes, remedy=remedy)


def commanded_merged(answers: Mapping[int, Commanded], owner: Ownership) -> Commanded:
    """What has come of a word about all nodes."""
    notes = [
        note
        for hub, answer in sorted(answers.items())
        for note in commanded_in(answer, hub, owner).notes
    ]
    return Commanded(notes=tuple(notes), remedy=None)


def avoid_merged(
    pages: Mapping[int, AvoidPage], faults: Mapping[int, str], owner: Ownership
) -> AvoidPage:
    """The nodes that any hub would avoid, by name; the list lacks those of hubs that do not answer."""
    reasons: dict[str, list[AvoidReason]] = {}
    nodes: dict[str, NodeToAvoid] = {}
    for hub, page in pages.items():
        for node in page.nodes:
            name = owner.name_of(hub, node.node)
            nodes.setdefault(name, node)
            reasons.setdefault(name, []).extend(
                msgspec.structs.replace(reason, incident=with_hub(reason.incident, owner.hubs[hub]))
                for reason in node.reasons
            )
    hidden = sum(len(owner.hidden[hub]) for hub in pages)
    return AvoidPage(
        time=max(page.time for page in pages.values()),
        rules=max(page.rules for page in pages.values()),
        nodes_total=sum(page.nodes_total for page in pages.values()) - hidden,
        whole=not faults and all(page.whole for page in pages.values()),
        problems=problems_of(pages, faults, owner.hubs),
        nodes=tuple(
            msgspec.structs.replace(nodes[name], node=name, reasons=tuple(reasons[name]))
            for name in sorted(nodes, key=natural)
        ),
    )


def spares_merged(
    pages: Mapping[int, SparesPage], faults: Mapping[int, str], owner: Ownership
) -> SparesPage:
    """The spares of all hubs that answer, by the names of their nodes."""
    spares = [
        msgspec.structs.replace(
            spare,
            node=owner.name_of(hub, spare.node),
            incident=with_hub(spare.incident, owner.hubs[hub]),
        )
        for hub, page in pages.items()
        for spare in page.spares
    ]
    return SparesPage(
        acts=any(page.acts for page in pages.values()),
        test_max_age_s=max((page.test_max_age_s for page in pages.values()), default=0.0),
        spares=tuple(sorted(spares, key=lambda spare: natural(spare.node))),
        problems=problems_of(pages, faults, owner.hubs),
    )


def remedies_merged(
    pages: Mapping[int, RemediesPage], owner: Ownership, faults: Mapping[int, str] | None = None
) -> RemediesPage:
    """Of hubs that act, each sentence with its hub; of at least one page."""
    acting = {hub: page for hub, page in pages.items() if page.acts} or dict(pages)
    names = owner.hubs

    def texts_of(field: str) -> str:
        texts = {hub: getattr(page, field) for hub, page in acting.items()}
        return "; ".join(f"{names[hub]}: {text}" for hub, text in texts.items() if text)

    remedies = [
        remedy_in(remedy, hub, owner) for hub, page in acting.items() for remedy in page.remedies
    ]
    breakers = [page.breaker for page in acting.values() if page.breaker != "closed"]
    return RemediesPage(
        acts=any(page.acts for page in acting.values()),
        ceiling="/".join(dict.fromkeys(page.ceiling for page in acting.values())),
        actions=tuple(dict.fromkeys(name for page in acting.values() for name in page.actions)),
        budgets=tuple(
            msgspec.structs.replace(budget, group=with_hub(budget.group, names[hub]))
            for hub, page in acting.items()
            for budget in page.budgets
        ),
        stopped_by=texts_of("stopped_by"),
        stopped_why=texts_of("stopped_why"),
        breaker=breakers[0] if breakers else "closed",
        breaker_why=texts_of("breaker_why"),
        frozen=texts_of("frozen"),
        approval_needed=texts_of("approval_needed"),
        problems=problems_of(acting, faults or {}, names),
        remedies=tuple(sorted(remedies, key=lambda remedy: remedy.since)),
        vetoes=tuple(
            msgspec.structs.replace(veto, node=owner.name_of(hub, veto.node))
            for hub, page in acting.items()
            for veto in page.vetoes
        ),
    )


def _named(muting: Muting, hub: str) -> Muting:
    return msgspec.structs.replace(muting, id=with_hub(muting.id, hub))


def _evaluated(pages: Iterable[MutingPage]) -> bool:
    return any(page.evaluated for page in pages)
