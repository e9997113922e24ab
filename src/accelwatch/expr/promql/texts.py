"""Texts of a device as conditions on labels: who it is, where it is, to whom it is given, how it is."""

from collections.abc import Mapping, Sequence

from accelwatch.expr.promql.place import DEVICE, JOB, NODE, RACK, Place
from accelwatch.expr.promql.query import PromqlError, Query, Truth, called, joined, without
from accelwatch.expr.promql.states import standing
from accelwatch.expr.promql.wanted import Wanted
from accelwatch.expr.vocabulary.rule_names import LABEL_PREFIX
from accelwatch.schema.metrics import by_key

_DIRECT = {"vendor": "vendor", "device": "device", "name": "device", "uuid": "uuid"}
_FAMILIES: Mapping[str, tuple[str, str]] = {
    **{name: ("device_info", name) for name in ("kind", "model", "architecture", "pci_bus_id")},
    "parent_id": ("device_info", "parent"),
    **{
        name: ("device_inventory_info", name)
        for name in ("serial", "part_number", "firmware_version", "vbios_version")
    },
    "job": ("job_allocation_info", "job_id"),
    **{name: ("job_allocation_info", name) for name in ("user", "account", "queue", "scheduler")},
    **{name: ("kubernetes_allocation_info", name) for name in ("namespace", "pod", "container")},
}
"""Where else a text is: the family and its label."""
_OWNED = ("job_allocation_info", "kubernetes_allocation_info")


def direct_label(name: str, place: Place) -> str:
    """The label of every series of a device that has the text; empty where another family has it."""
    if name in ("node", "host"):
        return place.assumed.node_label
    if name.startswith(LABEL_PREFIX):
        label = name.removeprefix(LABEL_PREFIX)
        if not (label.isascii() and label.replace("_", "a").isalnum() and not label[0].isdigit()):
            raise PromqlError(f"{label!r} cannot be a label in Prometheus")
        return label
    return _DIRECT.get(name, "")


def compared(name: str, wanted: Wanted, place: Place) -> Truth:
    """Whether a text fits. Raises PromqlError."""
    if name in ("state", "health"):
        return standing(name, wanted, place)
    label = direct_label(name, place) or _FAMILIES.get(name, ("", name))[1]
    known = f'{label}!=""'
    return Truth(
        _where(name, (wanted.matcher(label, fits=True),), place),
        _where(name, (wanted.matcher(label, fits=False), known), place),
    )


def present(name: str, place: Place) -> Truth:
    """Whether there is a text. Raises PromqlError."""
    if name in ("state", "health"):
        return Truth(place.everybody, None)
    label = direct_label(name, place)
    if label and place.scope != JOB:
        there, gone = f'{label}!=""', f'{label}=""'
        return Truth(_where(name, (there,), place), _where(name, (gone,), place))
    label = label or _FAMILIES.get(name, ("", name))[1]
    told = _where(name, (f'{label}!=""',), place)
    return Truth(told, without(place.everybody, told))


def _where(name: str, matchers: Sequence[str], place: Place) -> Query:
    """Those whose text fits matchers."""
    if direct_label(name, place):
        if place.scope in (DEVICE, NODE):
            family = "device_up" if place.scope == DEVICE else "exporter_series"
            return Query(place.select(family, *matchers))
        if place.scope == RACK:
            members = place.select("device_up", 'rack!=""', *matchers)
            return called("group by (rack) ", members)
    if name == "driver_version" and place.scope == DEVICE:
        return _of_driver(matchers, place)
    if name not in _FAMILIES:
        raise PromqlError(f"agents do not expose {name}")
    key = _FAMILIES[name][0]
    fixed = ('partition=""',) if key in _OWNED else ()
    selected = place.select(key, *fixed, *matchers)
    if place.scope == JOB and key == "job_allocation_info":
        return called("group by (scheduler, job_id) ", selected)
    if place.scope != DEVICE:
        raise PromqlError(f"agents do not expose {name} of a {place.scope}")
    return place.stripped(Query(selected), by_key()[key].labels)


def _of_driver(matchers: Sequence[str], place: Place) -> Query:
    told = ('component="driver"', *(one.removeprefix("driver_") for one in matchers))
    family = Query(f"accel_driver_info{{{','.join(told)}}}")
    beside = "ignoring (device, uuid, component, version)"
    return joined(place.everybody, "and", family, beside)
