"""Choosing devices for a job: fails closed. What is lost, hung, unwell or unknown never qualifies."""

from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.backend import Visibility
from accelwatch.base.errors import UnmetError
from accelwatch.expr import Expression
from accelwatch.node.query.lookup import lookup
from accelwatch.node.query.visibility import Declared
from accelwatch.schema.device import DeviceState
from accelwatch.schema.display import size
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.values.free_memory import free_memory


class Criteria(msgspec.Struct, frozen=True, kw_only=True):
    """What the job needs of each device."""

    count: int = 1
    vendor: str | None = None
    free_memory_bytes: int | None = None
    max_utilization_ratio: float | None = None
    # No process may hold the device.
    unused: bool = False
    condition: Expression | None = None


class Refusal(msgspec.Struct, frozen=True):
    """Why a device does not qualify."""

    device: str
    reason: str


class Pick(msgspec.Struct, frozen=True):
    """The chosen devices, best first, with the variable that makes a job see just them."""

    views: tuple[DeviceView, ...]
    variable: str
    value: str


def pick(views: Sequence[DeviceView], criteria: Criteria, declared: Declared) -> Pick:
    """Devices of one vendor that fulfil the criteria, those with most free memory first.

    A device qualifies only when a backend has declared by which variable a job is given it.

    Raises UnmetError that says for every device why it did not qualify.
    """
    refusals: list[Refusal] = []
    fit: dict[str, list[DeviceView]] = {}
    for view in candidates(views):
        visibility = declared.of(view.device)
        reason = _refusal(view, criteria, visibility)
        if reason:
            refusals.append(Refusal(view.device.name, reason))
        else:
            fit.setdefault(view.device.vendor, []).append(view)
    for vendor in sorted(fit, key=lambda name: -len(fit[name])):
        chosen = sorted(fit[vendor], key=_preference)[: criteria.count]
        visibility = declared.of(chosen[0].device)
        if len(chosen) == criteria.count and visibility is not None:
            return Pick(tuple(chosen), visibility.variable, _value(chosen, visibility))
    if not views:
        raise UnmetError(
            f"{criteria.count} requested, no device found; `accelwatch doctor` says why"
        )
    most = max(map(len, fit.values()), default=0)
    reasons = "".join(f"\n  {refusal.device}: {refusal.reason}" for refusal in refusals)
    raise UnmetError(f"{criteria.count} requested, {most} of one vendor qualify{reasons}")


def candidates(views: Iterable[DeviceView]) -> list[DeviceView]:
    """What can be given to a job: whole devices, or the MIG instances of a device cut into them."""
    listed = list(views)
    cut = {view.device.id for view in listed if view.device.partition_mode == "enabled"}
    return [
        view
        for view in listed
        if (view.device.parent_id in cut if view.device.parent_id else view.device.id not in cut)
    ]


def _preference(view: DeviceView) -> tuple[float, float, int]:
    busy = view.reading.values.get(("utilization_ratio",), 1.0)
    return (-(free_memory(view.reading) or 0), busy, view.device.index)


def _refusal(view: DeviceView, criteria: Criteria, visibility: Visibility | None) -> str:
    device = view.device
    if visibility is None:
        return f"no visibility variable is known for {device.vendor}"
    if criteria.vendor is not None and device.vendor != criteria.vendor:
        return f"is of {device.vendor}"
    if view.state is not DeviceState.OK:
        return f"is {view.state}"
    if view.health is not Health.OK:
        return f"health is {view.health}: {'; '.join(view.health_reasons) or 'no reason given'}"
    return (
        _name_refusal(view, visibility)
        or _memory_refusal(view, criteria)
        or _load_refusal(view, criteria)
    )


def _name_refusal(view: DeviceView, visibility: Visibility) -> str:
    if visibility.entry_of(view.device) is not None:
        return ""
    by_uuid, device = visibility.uuid_pattern is not None, view.device
    what, reported = ("uuid", device.uuid) if by_uuid else ("PCI address", device.pci_bus_id)
    if reported is None:
        return f"has no {what} by which a job could be given it"
    return f"its {what} {reported[:80]!a} cannot be used in {visibility.variable}"


def _memory_refusal(view: DeviceView, criteria: Criteria) -> str:
    if criteria.free_memory_bytes is None:
        return ""
    free = free_memory(view.reading)
    if free is None:
        return "free memory is unknown"
    if free < criteria.free_memory_bytes:
        has, needed = size(free), size(criteria.free_memory_bytes)
        if has == needed:  # after rounding
            has, needed = f"{free} bytes", f"{criteria.free_memory_bytes} bytes"
        return f"{has} free, {needed} requested"
    return ""


def _load_refusal(view: DeviceView, criteria: Criteria) -> str:
    if criteria.max_utilization_ratio is not None:
        busy = view.reading.values.get(("utilization_ratio",))
        if busy is None:
            return "utilization is unknown"
        if busy > criteria.max_utilization_ratio:
            return f"utilization is {busy:.2f}"
    if criteria.unused:
        if view.reading.processes is None:
            return "its processes are unknown"
        if view.reading.processes:
            return f"{len(view.reading.processes)} processes use it"
    if criteria.condition is not None:
        truth = criteria.condition.evaluate(lookup(view))
        if truth is not True:
            return "the filter is " + ("false" if truth is False else "unknown")
    return ""


def _value(views: Sequence[DeviceView], visibility: Visibility) -> str:
    return ",".join(visibility.entry_of(view.device) or "" for view in views)
