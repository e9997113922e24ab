"""How the pages of one target are read: which exporters wrote them, and what their samples are."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from accelwatch.exposition import Key
from accelwatch.fleet.dialects.base.table import Dialect
from accelwatch.fleet.dialects.cards import card_of
from accelwatch.fleet.dialects.claims import listing_of
from accelwatch.fleet.dialects.ours.page import OURS, OurPlan
from accelwatch.fleet.dialects.plans.arrangement import Arrangement, arranged
from accelwatch.fleet.dialects.plans.cores import by_device
from accelwatch.fleet.dialects.plans.family_names import cached_names
from accelwatch.fleet.dialects.plans.host import HostLayout, host_layout
from accelwatch.fleet.dialects.plans.identity import DeviceIndex
from accelwatch.fleet.dialects.plans.plan import met
from accelwatch.fleet.dialects.recognise import families, prefix_of, recognise
from accelwatch.fleet.listing import Listing
from accelwatch.schema.device import Device


class DialectPlan(NamedTuple):
    """One exporter's samples and devices."""

    dialect: Dialect
    arrangement: Arrangement
    # By number.
    devices: Sequence[Device]
    # Of each device what the exporter writes instead of a model when it is lost; mostly nothing.
    broken: Sequence[str]
    # By id of a device, why it does not go by its uuid.
    doubts: dict[str, str]
    # Of each device the PCI function that it is behind; empty where it is unknown.
    cards: Sequence[str]


class PagePlan(NamedTuple):
    """All of a page."""

    dialects: tuple[DialectPlan, ...]
    hosts: tuple[HostLayout, ...]
    # Series that are not used whatever their numbers are, by reason.
    rejected: Counter[str]
    # Where our own agent speaks.
    ours: OurPlan | None = None
    # Whether devices that no pod holds are listed, where the page shows it.
    listing: Listing | None = None


class Exporter(NamedTuple):
    """A dialect that speaks on a page."""

    dialect: Dialect
    arrangement: Arrangement
    device_index: DeviceIndex


class PageOutline(NamedTuple):
    """A page while it is not yet said who its devices are."""

    exporters: tuple[Exporter, ...]
    hosts: tuple[HostLayout, ...]
    rejected: Counter[str]
    ours: OurPlan | None
    listing: Listing | None


def plan_of(keys: Sequence[Key]) -> PagePlan:
    """The plan of a page with these keys."""
    outline = outline_of(keys)
    dialects = [
        DialectPlan(
            dialect,
            arrangement,
            device_index.devices(),
            [facts.get("broken", "") for facts in device_index.facts],
            device_index.doubts(),
            [card_of(facts) for facts in device_index.facts],
        )
        for dialect, arrangement, device_index in outline.exporters
    ]
    return PagePlan(tuple(dialects), outline.hosts, outline.rejected, outline.ours, outline.listing)


def outline_of(keys: Sequence[Key]) -> PageOutline:
    """Who speaks on a page with these keys, and what its samples are."""
    by_family = families(keys)
    exporters: list[Exporter] = []
    hosts: list[HostLayout] = []
    ours: OurPlan | None = None
    listing: Listing | None = None
    for speaking in recognise(by_family):
        if speaking is OURS:
            ours = OurPlan(keys)
            continue
        prefix = prefix_of(speaking, by_family) or ""
        dialect, own_keys = by_device(speaking, keys)
        device_index = met(dialect, cached_names(dialect, prefix), own_keys)
        exporters.append(
            Exporter(dialect, arranged(dialect, prefix, own_keys, device_index), device_index)
        )
        listing = listing or listing_of(dialect, keys)
        if dialect.host:
            hosts.append(host_layout(dialect, prefix, keys))
    spoken: list[Arrangement | HostLayout | OurPlan] = [
        exporter.arrangement for exporter in exporters
    ]
    spoken += hosts if ours is None else [*hosts, ours]
    mapped = frozenset[int]().union(*(each.mapped for each in spoken))
    rejected = Counter(unknown=len(keys) - len(mapped))
    for each in spoken:
        rejected.update(each.rejected)
    if ours is not None:
        ours.mapped = frozenset()  # counted by now, and more memory than the rest of it
    return PageOutline(tuple(exporters), tuple(hosts), rejected, ours, listing)
