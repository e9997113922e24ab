"""The names that a rule may use: those of a device, of its host, its owners, and labels of its node."""

from collections.abc import Mapping
from functools import cache

import msgspec

from accelwatch.expr.vocabulary.detector_names import DETECTOR, DETECTOR_FIELDS, SUBJECTS
from accelwatch.expr.vocabulary.names import NameTable, Type, device_names
from accelwatch.schema.catalogue.lookup import by_key, catalogue
from accelwatch.schema.metrics import Kind, Metric, Scope, Series
from accelwatch.schema.snapshot import OWNER_NAMES
from accelwatch.schema.status.device_status import WORST_FIRST

# The name by which a lookup gives what is wrong with a device, in words.
HEALTH_REASON = "health_reason"
# The name by which a hub's lookup gives how a node differs from the many alike, in words.
ODD = "odd"
# A lookup gives the label `rack` of a node as `labels.rack`.
LABEL_PREFIX = "labels."


def rule_names(base: NameTable | None = None) -> NameTable:
    """The names of `base` (by default those of a device) and what only rules may read.

    A hub gives the names of its fleet as `base`, so that states of nodes are known words.
    """
    table = device_names() if base is None else base
    hosts = {row.key: row for row in catalogue() if _of_host(row)}
    more = dict.fromkeys((*OWNER_NAMES, "node", "node_state", HEALTH_REASON, ODD), Type.STRING)
    values: Mapping[str, tuple[str, ...]] = {"state": WORST_FIRST}
    findings = {f"{DETECTOR}.subject": SUBJECTS}
    return msgspec.structs.replace(
        table,
        identity={**{n: t for n, t in more.items() if n not in table.rows}, **table.identity},
        rows={**table.rows, **hosts},
        values={**table.values, **findings, **(values if base is None else {})},
        elsewhere=table.elsewhere - hosts.keys(),
        labelled=True,
        dotted={name: field.type for name, field in DETECTOR_FIELDS.items()},
    )


def of_host(series: Series) -> bool:
    """Whether a series comes from the host or from our own process there, not from a device."""
    return series[0] in _keys_of_hosts()


# The catalogue is constant, so the result is never invalid.
@cache
def _keys_of_hosts() -> frozenset[str]:
    return frozenset(key for key, row in by_key().items() if row.scope is Scope.NODE)


def _of_host(row: Metric) -> bool:
    return row.scope is Scope.NODE and row.kind in (Kind.GAUGE, Kind.COUNTER, Kind.STATE)
