"""A hub's facts on an entity besides its rule: identity, location, jobs, users."""

from collections.abc import Mapping

import msgspec

from accelwatch.alerting.incidents.model.incident import Facts
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.fleet.state.fleet import Fleet

# Jobs, users and nodes that are named.
MOST_NAMES = 64


def facts_of(fleet: Fleet, entity: Entity) -> Facts:
    """What is known now; nothing of an entity that has gone."""
    rows = _rows(fleet, entity)
    table = fleet.table
    entries = {table.at_number[number] for number in table.node[rows].tolist()}
    jobs = _names(fleet, rows, "job")
    users = _names(fleet, rows, "user")
    facts = Facts(
        labels=dict(next(iter(entries)).labels) if len(entries) == 1 else {},
        jobs=jobs,
        users=users,
        nodes=tuple(sorted(entry.node for entry in entries))[:MOST_NAMES],
    )
    device = table.devices[rows[0]] if entity.scope is Scope.DEVICE and rows else None
    if device is None:
        return facts
    return Facts(
        device_name=device.name,
        model=device.model or "",
        serial=device.serial or "",
        slot=device.pci_bus_id or "",
        vendor=device.vendor,
        driver_version=device.driver_version or "",
        labels=facts.labels,
        jobs=jobs,
        users=users,
        nodes=facts.nodes,
    )


def with_scheduled(fleet: Fleet, entity: Entity, facts: Facts, owners: Mapping[str, str]) -> Facts:
    """With the jobs that a scheduler shows on the entity's node, where its agent reports none.

    `owners` has the user of each job, empty where nobody knows.
    """
    jobs = facts.jobs
    if not jobs:
        slots = fleet.table.slots_of(entity.node)
        rows = [] if slots is None else list(slots.rows)
        if _names(fleet, rows, "job"):
            return facts  # the agent reports jobs, and none is of this device
        jobs = tuple(owners)[:MOST_NAMES]
    of_jobs = dict.fromkeys(owners[job] for job in jobs if owners.get(job))
    users = tuple(of_jobs)[:MOST_NAMES]
    # Who runs processes there is not always whose job it is.
    users = (facts.users or users) if facts.jobs else (users or facts.users)
    return msgspec.structs.replace(facts, jobs=jobs, users=users)


def _rows(fleet: Fleet, entity: Entity) -> list[int]:
    """The rows of an entity's devices."""
    if entity.scope is Scope.DEVICE:
        row = fleet.table.rows.get((entity.node, entity.device))
        return [] if row is None else [row]
    if entity.scope is Scope.NODE:
        slots = fleet.table.slots_of(entity.node)
        return [] if slots is None else list(slots.rows)
    by, name = ("job", entity.job) if entity.scope is Scope.JOB else ("rack", entity.rack)
    groups = fleet.groups.by(by)
    if name not in groups.names:
        return []
    matches: list[int] = groups.rows[groups.groups == groups.names.index(name)].tolist()
    return matches


def _names(fleet: Fleet, rows: list[int], name: str) -> tuple[str, ...]:
    occupancies = (fleet.table.occupancy[row] for row in rows)
    names = dict.fromkeys(
        value for occupancy in occupancies for value in occupancy.names.get(name, ())
    )
    return tuple(names)[:MOST_NAMES]
