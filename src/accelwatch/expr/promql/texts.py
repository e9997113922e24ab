"""Texts of a device as conditions on labels: who it is, where it is, to whom it is given, how it is."""

from collections.abc import Mapping, Sequence

from accelwatch.expr.promql.query import PromqlError, Query, Truth, called, joined, without
from accelwatch.expr.promql.query_context import DEVICE, JOB, NODE, RACK, QueryContext
from accelwatch.expr.promql.states import state_condition
from accelwatch.expr.promql.text_match import TextMatch
from accelwatch.expr.vocabulary.rule_names import LABEL_PREFIX
from accelwatch.schema.catalogue.lookup import by_key

_DIRECT = {"vendor": "vendor", "device": "device", "name": "device", "uuid": "uuid"}
# Where else a text is: the family and its label.
_FAMILIES: Mapping[str, tuple[str, str]] = {
    **{name: ("device_info", name) for name in ("kind", "model", "architecture", "pci_bus_id")},
    "parent_id": ("device_info", "parent"),
    **{
        name: ("device_inventory_info", name)
        for name in ("serial", "part_number", "firmware_version", "vbios_version")
    },
    "job": ("job_allocation_info", "job_id"),
    **{
        name: ("job_allocation_info", name)
        for name in ("user", "account", "queue", "scheduler", "job_name")
    },
    **{name: ("kubernetes_allocation_info", name) for name in ("namespace", "pod", "container")},
}
_OWNED = ("job_allocation_info", "kubernetes_allocation_info")


def direct_label(name: str, context: QueryContext) -> str:
    """The label of every series of a device that has the text; empty where another family has it."""
    if name in ("node", "host"):
        return context.assumed.node_label
    if name.startswith(LABEL_PREFIX):
        label = name.removeprefix(LABEL_PREFIX)
        if not (label.isascii() and label.replace("_", "a").isalnum() and not label[0].isdigit()):
            raise PromqlError(f"{label!r} cannot be a label in Prometheus")
        return label
    return _DIRECT.get(name, "")


def compared(name: str, text_match: TextMatch, context: QueryContext) -> Truth:
    """Whether a text fits. Raises PromqlError."""
    if name in ("state", "health"):
        return state_condition(name, text_match, context)
    label = direct_label(name, context) or _FAMILIES.get(name, ("", name))[1]
    nonempty = f'{label}!=""'
    return Truth(
        _where(name, (text_match.matcher(label, fits=True),), context),
        _where(name, (text_match.matcher(label, fits=False), nonempty), context),
    )


def present(name: str, context: QueryContext) -> Truth:
    """Whether there is a text. Raises PromqlError."""
    if name in ("state", "health"):
        return Truth(context.everybody, None)
    label = direct_label(name, context)
    if label and context.scope != JOB:
        has_label, lacks_label = f'{label}!=""', f'{label}=""'
        return Truth(_where(name, (has_label,), context), _where(name, (lacks_label,), context))
    label = label or _FAMILIES.get(name, ("", name))[1]
    query = _where(name, (f'{label}!=""',), context)
    return Truth(query, without(context.everybody, query))


def _where(name: str, matchers: Sequence[str], context: QueryContext) -> Query:
    """Those whose text fits matchers."""
    if direct_label(name, context):
        if context.scope in (DEVICE, NODE):
            family = "device_up" if context.scope == DEVICE else "exporter_series"
            return Query(context.select(family, *matchers))
        if context.scope == RACK:
            members = context.select("device_up", 'rack!=""', *matchers)
            return called("group by (rack) ", members)
    if name == "driver_version" and context.scope == DEVICE:
        return _of_driver(matchers, context)
    if name not in _FAMILIES:
        raise PromqlError(f"agents do not expose {name}")
    key = _FAMILIES[name][0]
    fixed = ('partition=""',) if key in _OWNED else ()
    selected = context.select(key, *fixed, *matchers)
    if context.scope == JOB and key == "job_allocation_info":
        return called("group by (scheduler, job_id) ", selected)
    if context.scope != DEVICE:
        raise PromqlError(f"agents do not expose {name} of a {context.scope}")
    return context.stripped(Query(selected), by_key()[key].labels)


def _of_driver(matchers: Sequence[str], context: QueryContext) -> Query:
    driver_matchers = (
        'component="driver"',
        *(matcher.removeprefix("driver_") for matcher in matchers),
    )
    family = Query(f"accel_driver_info{{{','.join(driver_matchers)}}}")
    beside = "ignoring (device, uuid, component, version)"
    return joined(context.everybody, "and", family, beside)
