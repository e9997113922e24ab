"""How much computes on a node and on the other nodes of its jobs: what a plan is priced by."""

from collections.abc import Iterable

import msgspec

from accelwatch.fleet.state.fleet import Fleet
from accelwatch.remediation.policy.plan.model import Worth


def worth_of(fleet: Fleet, name: str) -> Worth:
    """As far as owners are known, as of when the nodes were last brought up to date.

    A partition whose device counts is not counted besides it.
    """
    node, slots = fleet.nodes.get(name), fleet.table.slots_of(name)
    devices = 0 if node is None else len(node.devices)
    if slots is None:
        return Worth(devices=devices)
    groups = fleet.groups.by("job")
    of_jobs = list(zip(groups.rows.tolist(), groups.groups.tolist(), strict=True))
    own = set(slots.rows)
    jobs = {job for row, job in of_jobs if row in own}
    rows = {row for row, job in of_jobs if job in jobs}
    shown = {row: fleet.table.devices[row] for row in rows}
    identities = {
        (fleet.table.node[row], device.id) for row, device in shown.items() if device is not None
    }
    counted = [
        row
        for row, device in shown.items()
        if device is None or (fleet.table.node[row], device.parent_id) not in identities
    ]
    return Worth(devices=devices, job_devices=len(counted))


def with_nodes(worth: Worth, fleet: Fleet, names: Iterable[str]) -> Worth:
    """What it is worth where only the scheduler knows the nodes of the jobs: whole nodes are counted."""
    nodes = (fleet.nodes.get(name) for name in names)
    devices = sum(len(node.devices) for node in nodes if node is not None)
    return msgspec.structs.replace(worth, job_devices=devices)
