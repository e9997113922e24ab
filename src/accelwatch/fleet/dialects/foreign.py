"""A target's scrapes as devices of ours, whatever exporter wrote them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.exposition import ExpositionReader, Key, Limits
from accelwatch.fleet.dialects.host import HostPlan
from accelwatch.fleet.dialects.merge import merge
from accelwatch.fleet.dialects.ours import OURS, OurPlan
from accelwatch.fleet.dialects.precedence import PRECEDENCE
from accelwatch.fleet.dialects.recognise import families, prefix_of, recognise
from accelwatch.fleet.dialects.remembered import Remembered
from accelwatch.fleet.dialects.views import Plan
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
    dialects: tuple[str, ...]
    """Names of the dialects that were recognised, ours first; empty when none was."""
    rejected: Counter[str]
    """Lines and series not used, by reason: those of `Scrape.rejected`; `unknown` (no table has it),
    `no_device` (it names none, or there are too many), `partition` (a part that repeats the whole),
    `repeated` (a second series for the same value), `blank`, `not_finite`, `implausible`."""
    by_dialect: dict[str, tuple[DeviceView, ...]] = {}
    node: DeviceView | None = None
    """The host itself, where our own agent tells of it, else the first of the others that does."""


class ForeignReader:
    """Reads one target again and again; what its series mean is worked out when they change."""

    def __init__(
        self, limits: Limits | None = None, precedence: Sequence[str] = PRECEDENCE
    ) -> None:
        self._exposition = ExpositionReader(limits)
        self._precedence = tuple(precedence)
        self._keys: tuple[Key, ...] | None = None
        self._plans: tuple[Plan | OurPlan, ...] = ()
        self._hosts: tuple[HostPlan, ...] = ()
        self._memory = Remembered()
        self._rejected: Counter[str] = Counter()

    def read(self, body: str | bytes, now: float) -> Foreign:
        """The devices of an exposition; `now` in Unix seconds. Never raises for what is in the body."""
        scrape = self._exposition.read(body)
        if scrape.keys is not self._keys:
            self._plan(scrape.keys)
        return self._foreign(scrape.values, scrape.rejected, now)

    def read_samples(self, samples: Iterable[TextSample], now: float) -> Foreign:
        """The devices of samples that came by another way than text."""
        listed = list(samples)
        keys = tuple(
            Key(sample.name, tuple(sample.labels), tuple(sample.labels.values()))
            for sample in listed
        )
        if keys != self._keys:
            self._plan(keys)
        return self._foreign([sample.value for sample in listed], Counter(), now)

    def read_keys(self, keys: tuple[Key, ...], values: Sequence[Number], now: float) -> Foreign:
        """The devices of samples whose keys are the same object as before while they are the same."""
        if keys is not self._keys:
            self._plan(keys)
        return self._foreign(values, Counter(), now)

    def _plan(self, keys: tuple[Key, ...]) -> None:
        by_family = families(keys)
        plans: list[Plan | OurPlan] = []
        hosts: list[HostPlan] = []
        for dialect in recognise(by_family):
            if dialect is OURS:
                plans.append(OurPlan(keys))
                continue
            prefix = prefix_of(dialect, by_family) or ""
            plans.append(Plan(dialect, prefix, keys, self._memory))
            if dialect.host:
                hosts.append(HostPlan(dialect, prefix, keys, self._memory.times))
        all_plans = (*plans, *hosts)
        mapped = frozenset().union(*(plan.mapped for plan in all_plans))
        self._rejected = Counter(unknown=len(keys) - len(mapped))
        for plan in all_plans:
            self._rejected.update(plan.rejected)
            plan.mapped = frozenset()  # counted by now, and more memory than the rest of a plan
        self._keys, self._plans, self._hosts = keys, tuple(plans), tuple(hosts)

    def _foreign(self, values: Sequence[Number], rejected: Counter[str], now: float) -> Foreign:
        counted = self._rejected + rejected
        by_dialect: dict[str, tuple[DeviceView, ...]] = {}
        node = None
        for plan in self._plans:
            by_dialect[plan.dialect.name] = plan.views(values, now, counted)
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
        )


def read_devices(source: str | bytes | Iterable[TextSample], now: float) -> Foreign:
    """One scrape or one set of samples, read once; a follower keeps a `ForeignReader` a target."""
    reader = ForeignReader()
    if isinstance(source, str | bytes):
        return reader.read(source, now)
    return reader.read_samples(source, now)
