"""A target's scrapes as devices of ours, whatever exporter wrote them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.exposition import ExpositionReader, Key, Limits, PageSeries
from accelwatch.fleet.dialects.alike import shared_plan
from accelwatch.fleet.dialects.base.precedence import PRECEDENCE
from accelwatch.fleet.dialects.base.remembered import Remembered
from accelwatch.fleet.dialects.merge import merge
from accelwatch.fleet.dialects.ours.page import OurPlan
from accelwatch.fleet.dialects.page_plan import PagePlan, plan_of
from accelwatch.fleet.dialects.plans.host import HostPlan
from accelwatch.fleet.dialects.views import Plan
from accelwatch.fleet.listing import Listing
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView


class TextSample(NamedTuple):
    """A sample that did not come as text, such as one of a Prometheus query's answer."""

    name: str
    labels: Mapping[str, str]
    value: Number


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """What one scrape says. `devices` has each device once, `by_dialect` each exporter's own view."""

    devices: tuple[DeviceView, ...]
    # Names of the dialects that were recognised, ours first; empty when none was.
    dialects: tuple[str, ...]
    # Lines and series not used, by reason: those of `Scrape.rejected`; `unknown` (no table has it),
    # `no_device` (it names none, or there are too many), `partition` (a part that repeats the whole),
    # `repeated` (a second series for the same value), `blank`, `not_finite`, `implausible`.
    rejected: Counter[str]
    by_dialect: dict[str, tuple[DeviceView, ...]] = {}
    # The host itself, where our own agent reports it, else by the first of the others that does.
    node: DeviceView | None = None
    # Whether devices that no pod holds are listed, where the page shows it.
    listing: Listing | None = None


class ForeignReader:
    """Reads one target again and again; what its series mean is worked out when they change."""

    def __init__(
        self, limits: Limits | None = None, precedence: Sequence[str] = PRECEDENCE
    ) -> None:
        self._exposition = ExpositionReader(limits)
        self._precedence = tuple(precedence)
        self._series: PageSeries | None = None
        # What the plans are for: of pages, or of samples that came by another way.
        self._keys: tuple[Key, ...] | None = None
        self._plans: tuple[Plan | OurPlan, ...] = ()
        self._hosts: tuple[HostPlan, ...] = ()
        self._memory = Remembered()
        self._rejected: Counter[str] = Counter()
        self._listing: Listing | None = None

    def read(self, body: str | bytes, now: float) -> Foreign:
        """The devices of an exposition; `now` in Unix seconds. Never raises for what is in the body."""
        scrape = self._exposition.read(body)
        if scrape.series is not self._series:
            self._adopt(shared_plan(scrape.series) or plan_of(scrape.keys))
            self._series = scrape.series
        return self._foreign(scrape.values, scrape.rejected, now)

    def read_samples(self, samples: Iterable[TextSample], now: float) -> Foreign:
        """The devices of samples that came by another way than text."""
        listed = list(samples)
        keys = tuple(
            Key(sample.name, tuple(sample.labels), tuple(sample.labels.values()))
            for sample in listed
        )
        if keys != self._keys:
            self._adopt(plan_of(keys))
            self._keys = keys
        return self._foreign([sample.value for sample in listed], Counter(), now)

    def read_keys(self, keys: tuple[Key, ...], values: Sequence[Number], now: float) -> Foreign:
        """The devices of samples whose keys are the same object as before while they are the same."""
        if keys is not self._keys:
            self._adopt(plan_of(keys))
            self._keys = keys
        return self._foreign(values, Counter(), now)

    def _adopt(self, plan: PagePlan) -> None:
        self._rejected, self._listing = plan.rejected, plan.listing
        plans = [Plan(dialect, self._memory) for dialect in plan.dialects]
        self._plans = (plan.ours, *plans) if plan.ours is not None else tuple(plans)
        self._hosts = tuple([HostPlan(layout, self._memory.times) for layout in plan.hosts])

    def _foreign(self, values: Sequence[Number], rejected: Counter[str], now: float) -> Foreign:
        counted = self._rejected + rejected
        by_dialect: dict[str, tuple[DeviceView, ...]] = {}
        node = None
        for plan in self._plans:
            name = plan.dialect.name
            views = plan.views(values, now, counted)
            by_dialect[name] = self._memory.since(name, views, now)
            if isinstance(plan, OurPlan):
                node = plan.node(values, now)
        for host in self._hosts:
            node = node or host.view(values, now, counted)
        only = next(iter(by_dialect.values())) if len(by_dialect) == 1 else None
        return Foreign(
            devices=merge(by_dialect, self._precedence) if only is None else only,
            dialects=tuple(by_dialect),
            rejected=counted,
            by_dialect=by_dialect,
            node=node,
            listing=self._listing,
        )


def read_devices(source: str | bytes | Iterable[TextSample], now: float) -> Foreign:
    """One scrape or one set of samples, read once; a follower keeps a `ForeignReader` a target."""
    reader = ForeignReader()
    if isinstance(source, str | bytes):
        return reader.read(source, now)
    return reader.read_samples(source, now)
