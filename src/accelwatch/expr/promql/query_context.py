"""For whom a query has a series: devices, nodes, jobs or racks; and how it gets from one to another.

All vectors about devices have the same labels, those of the target and `vendor`, `device`, `uuid`; all
about nodes have those of the target. So whatever is joined needs no list of labels.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from accelwatch.expr.checking.tree import Span
from accelwatch.expr.promql.query import PromqlError, Query, Truth, called, joined
from accelwatch.schema.catalogue.lookup import by_key

DEVICE, NODE, JOB, RACK = "device", "node", "job", "rack"
DEVICE_LABELS = ("vendor", "device", "uuid")
_OF_JOB = frozenset({"job", "stage", "job_model", "stage_model"})
_OF_DEVICE = ", ".join(DEVICE_LABELS)
_ALLOCATION = "job_allocation_info"
_ALLOCATION_LABELS = tuple(label for label in by_key()[_ALLOCATION].labels if label != "partition")
# The labels that devices of a group have in common; a node is known by those of its target.
_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        JOB: ("scheduler", "job_id"),
        RACK: ("rack",),
        "model": ("vendor", "model"),
        "stage": ("scheduler", "job_id", "stage"),
        "job_model": ("scheduler", "job_id", "vendor", "model"),
        "stage_model": ("scheduler", "job_id", "stage", "vendor", "model"),
    }
)
# What selects the members of a group among all devices.
_MEMBER_MATCHERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"rack": ('rack!=""',), "stage": ('stage!=""',), "stage_model": ('stage!=""',)}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """What is known of the Prometheus that evaluates."""

    # How often it scrapes.
    scrape_s: float = 60.0
    # The label of targets that is the name of the node.
    node_label: str = "instance"


@dataclass(slots=True)
class Remarks:
    """What a reader should know of a rule, in order."""

    # Of the part that is being said.
    text: str = ""
    notes: dict[str, None] = field(default_factory=dict)

    # What was left out, in order.
    lefts: list[str] = field(default_factory=list)

    def left_out(self, span: Span, reason: PromqlError) -> None:
        """A part that is not known in Prometheus."""
        fragment = self.text[slice(*span)]
        self.lefts.append(f"left out, as if it were not known: {fragment} ({reason})")
        self.notes[self.lefts[-1]] = None

    def require_complete(self, evaluate: Callable[[], Truth]) -> Truth:
        """A condition that is counted: what is left out of it changes the number. Raises PromqlError."""
        before = len(self.lefts)
        truth = evaluate()
        if len(self.lefts) > before:
            raise PromqlError(self.lefts[-1])
        return truth


@dataclass(frozen=True, slots=True)
class QueryContext:
    """For whom a part is written; every selector gets `matchers`."""

    scope: str
    assumed: Assumed
    matchers: tuple[str, ...] = ()
    remarks: Remarks = field(default_factory=Remarks, compare=False)

    def select(self, key: str, *matchers: str) -> str:
        """The series of a family of the catalogue."""
        inner = ",".join((*matchers, *self.matchers))
        row = by_key()[key]
        if row.group:
            self.note(f"agents report {row.family} with the opt-in group {row.group}")
        return f"{row.family}{{{inner}}}" if inner else row.family

    def note(self, text: str) -> None:
        """Remember what a reader should know."""
        self.remarks.notes[text] = None

    @property
    def everybody(self) -> Query:
        """A series for each entity that there is, of whatever value."""
        match self.scope:
            case "device":
                return Query(self.select("device_up"))
            case "node":
                return Query(self.select("exporter_series"))
            case "job":
                members = self.select(_ALLOCATION, 'partition=""')
            case _:
                members = self.select("device_up", 'rack!=""')
        return called(f"group by ({', '.join(_KEYS[self.scope])}) ", members)

    def stripped(self, query: Query, labels: tuple[str, ...]) -> Query:
        """The vector without labels that its entities do not have."""
        return called(f"max without ({', '.join(labels)}) ", query.text) if labels else query


@dataclass(frozen=True, slots=True)
class Group:
    """Devices that belong together."""

    by: str
    # The context of the part that reads the group.
    context: QueryContext

    @property
    def members(self) -> QueryContext:
        """The context of the parts that are evaluated for every member."""
        matchers = _MEMBER_MATCHERS.get(self.by, ())
        context = self.context
        return QueryContext(DEVICE, context.assumed, matchers, context.remarks)

    def folded(self, aggregation: str, query: Query, *, numbers: bool = False) -> Query:
        """An aggregation over the members, given a vector of devices; its labels are the group's."""
        function, _, parameter = aggregation.partition(" ")
        before = (parameter,) if parameter else ()
        if self.by == NODE:
            return called(f"{function} without ({_OF_DEVICE}) ", *before, query.text)
        extra, info = self._membership(self.members)
        if info is not None:
            ignoring = f"ignoring ({', '.join(extra)})"
            if numbers:
                query = joined(info, "*", query, f"{ignoring} group_left ()")
            else:
                query = joined(info, "and", query, ignoring)
        return called(f"{function} by ({', '.join(_KEYS[self.by])}) ", *before, query.text)

    @property
    def everybody(self) -> Query:
        """How many members there are."""
        info = self._membership(self.members)[1]
        if info is not None:
            return called(f"count by ({', '.join(_KEYS[self.by])}) ", info.text)
        return self.folded("count", self.members.everybody)

    def _membership(self, context: QueryContext) -> tuple[tuple[str, ...], Query | None]:
        """Labels beyond those of a device, and the series that have them; None where all do."""
        described = by_key()["device_info"].labels
        if self.by == "model":
            return described, Query(context.select("device_info", 'model!=""'))
        if self.by in _OF_JOB:
            context.note("a device has the job that its agent reports (accel_job_allocation_info)")
            allocated = Query(context.select(_ALLOCATION, 'partition=""'))
            if "model" not in _KEYS[self.by]:
                return _ALLOCATION_LABELS, allocated
            apart = f"ignoring ({', '.join((*_ALLOCATION_LABELS, *described))}) group_left (model)"
            models = Query(context.select("device_info"))
            return (*_ALLOCATION_LABELS, "model"), joined(allocated, "*", models, apart)
        return (), None

    def number(self, query: Query) -> Query:
        """A number of the group, for each entity of the context."""
        if self.context.scope == self.by:
            return query
        extra, info = self._member_info()
        if info is None:
            nothing = joined(self.context.everybody, "*", Query("0", scalar=0))
            return joined(nothing, "+", query, f"{self._matching} group_left ()")
        selected = joined(info, "*", query, f"on ({', '.join(_KEYS[self.by])}) group_left ()")
        return self.context.stripped(selected, extra)

    def set(self, query: Query | None) -> Query | None:
        """A condition of the group, for each entity of the context."""
        if query is None or self.context.scope == self.by:
            return query
        extra, info = self._member_info()
        if info is None:
            return joined(self.context.everybody, "and", query, self._matching)
        selected = joined(info, "and", query, f"on ({', '.join(_KEYS[self.by])})")
        return self.context.stripped(selected, extra)

    def _member_info(self) -> tuple[tuple[str, ...], Query | None]:
        if self.context.scope != DEVICE:
            raise PromqlError(f"a {self.context.scope} cannot be grouped by {self.by}")
        return self._membership(self.context)

    @property
    def _matching(self) -> str:
        return (
            f"ignoring ({_OF_DEVICE})" if self.by == NODE else f"on ({', '.join(_KEYS[self.by])})"
        )


def of_node(context: QueryContext, query: Query) -> Query:
    """A number of the host, in the context's scope."""
    return Group(NODE, context).number(query)
