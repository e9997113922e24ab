"""What a node gives to others: the samples of an agent's exposition, and the labels that name it."""

import socket
from collections.abc import Iterator, Mapping

from accelwatch.exposition.families import device_samples, node_samples, owner_of
from accelwatch.exposition.selection import selected
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import Node, speaks_for
from accelwatch.fleet.state.nodes.source import OURS, TargetSource
from accelwatch.fleet.state.snapshots import snapshot_of
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Kind, Metric, MetricSource, Scope, Series, Tier
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import BackendState, Snapshot

NODE = "node"
# The label `job` of a node whose target says none: the job of the shipped scrape configuration.
JOB = "accelwatch"
# The label `job` of what a hub writes about itself.
HUB_JOB = "accelwatch-hub"
# Alerts on a silent node and tables of targets read `up` of a node, whoever scrapes it.
UP = Metric(
    "up",
    Kind.GAUGE,
    Tier.MINIMAL,
    "",
    "Whether the node answers, as a server that scrapes it would say.",
    scope=Scope.NODE,
    source=MetricSource.SELF,
    prefix="",
)
_VENDOR = 'vendor="'

Samples = list[tuple[Series, Number]]


class Owned:
    """The samples of one device, of one vendor's devices on a node, or of the node."""

    __slots__ = ("labels", "samples", "text")

    def __init__(self, text: str, labels: Mapping[str, str]) -> None:
        # Its identity labels as the text format writes them.
        self.text = text
        self.labels = labels
        self.samples: Samples = []


class Outgoing:
    """Chooses families by profile and groups, as an agent's exposition does."""

    def __init__(self, profile: str, groups: frozenset[str]) -> None:
        self.rows: dict[str, Metric] = {row.key: row for row in (UP, *selected(profile, groups))}

    def of(self, fleet: Fleet, node: Node) -> list[Owned]:
        """Everything a node gives now, by owner; of one that does not answer only that."""
        if not speaks_for(fleet.state_of(node)):
            return _silent(node)
        snapshot = snapshot_of(fleet, node)
        owners = {owner_of(view.device): view.device for view in snapshot.devices}
        by_owner: dict[str, Owned] = {}
        rows = self.rows
        about_node = [*node_samples(snapshot), *_answering(snapshot)]
        for samples in (*device_samples(snapshot, _all), about_node):
            for text, series, value in samples:
                if series[0] in rows:
                    owned = by_owner.get(text)
                    if owned is None:
                        owned = by_owner[text] = Owned(text, _labels(text, owners))
                    owned.samples.append((series, value))
        return list(by_owner.values())


def _all(_device: Device) -> bool:
    return True


def _labels(text: str, owners: Mapping[str, Device]) -> dict[str, str]:
    """The labels behind an owner's text: a device's three, or a vendor, or none."""
    device = owners.get(text)
    if device is not None:
        return {"vendor": device.vendor, "device": device.name, "uuid": device.label_id()}
    return {"vendor": text.removeprefix(_VENDOR)[:-1]} if text.startswith(_VENDOR) else {}


def _silent(node: Node) -> list[Owned]:
    """That a node does not answer; nothing of one that has only just been polled."""
    was_polled = any(source.fault is not None for source in node.sources.values())
    if node.best is None and not was_polled:
        return []
    silent = Owned("", {})
    silent.samples.append(((UP.key,), 0))
    return [silent]


def _answering(snapshot: Snapshot) -> Iterator[tuple[str, Series, Number]]:
    """That a node answers, and which of its collectors work: a stream has states, not their series."""
    yield "", (UP.key,), 1
    for backend in snapshot.backends:
        if backend.state is not BackendState.ABSENT:
            yield "", ("collector_up", backend.name), int(backend.state is BackendState.OK)


def node_labels(node: Node, static_labels: Mapping[str, str]) -> dict[str, str]:
    """The labels of a node's series: what is always added, its targets' labels, its name.

    `job` and `instance` are what a server that scrapes the node would give, so that rules and
    dashboards join and select alike whether the samples came by a scrape or through a hub.
    """
    return {**_scraped_as(node), **static_labels, **node.labels, NODE: node.name}


def _scraped_as(node: Node) -> dict[str, str]:
    """`job` and `instance` of the target that a node is known by, always the same one."""
    sources = sorted(node.sources.values(), key=_rank)
    if not sources:
        return {"job": JOB, "instance": node.name}
    target = sources[0].target
    return {"job": target.job or JOB, "instance": target.instance or target.address}


def _rank(source: TargetSource) -> tuple[bool, str]:
    """Our own agents first: the order must not follow which of them was read last."""
    return source.dialect != OURS, source.target.key


def hub_labels(static_labels: Mapping[str, str]) -> dict[str, str]:
    """The labels of what a hub writes about itself."""
    return {"job": HUB_JOB, "instance": socket.gethostname(), **static_labels}
