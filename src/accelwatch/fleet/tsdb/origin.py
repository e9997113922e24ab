"""Where a stored sample comes from: its scrape target, its node, and the labels its exporter wrote.

A server adds the target's labels to every sample and renames the exporter's own where both have one
(`pod` becomes `exported_pod`). `up` carries exactly the target's labels, so this can be undone.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from accelwatch.exposition import Key
from accelwatch.exposition.interning import same
from accelwatch.fleet.tsdb.query import quoted
from accelwatch.fleet.tsdb.settings import Store
from accelwatch.web.sockets.listeners import is_loopback_host

NAME = "__name__"
_TRANSPORT = ("job", "instance")
_EXPORTED = "exported_"


class Origin(NamedTuple):
    """A target of the store and a node that it reports; a hub's federation reports many."""

    # Values of job, instance, cluster and the replica labels; empty where there is none.
    transport: tuple[str, ...]
    # Empty while no label names it.
    node: str


class Scraped(msgspec.Struct, frozen=True, kw_only=True):
    """What `up` says of a target."""

    labels: dict[str, str]
    up: bool


class ResolvedSeries(NamedTuple):
    """One series: where it is from, what its exporter wrote, and labels kept with the node."""

    origin: Origin
    key: Key
    labels: dict[str, str]
    # The label that named the node; empty when none did.
    node_label: str


class SeriesResolver:
    """Resolves series to nodes by the settings and by the labels of `up`."""

    def __init__(self, settings: Store) -> None:
        self._settings = settings
        cluster = (settings.cluster_label,) if settings.cluster_label else ()
        self._transport = (*_TRANSPORT, *cluster, *settings.replica_labels)
        self.scraped: dict[tuple[str, ...], Scraped] = {}

    def transport(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """The labels that distinguish targets of the store."""
        return tuple(labels.get(name, "") for name in self._transport)

    def node_of(self, labels: Mapping[str, str]) -> tuple[str, str]:
        """A node's name and the label that has it; two empty texts when none does."""
        for name in self._settings.node_labels:
            if value := labels.get(name, ""):
                return self._prefix(labels.get(self._settings.cluster_label, "")) + value, name
        return "", ""

    def _prefix(self, cluster: str) -> str:
        """What stands before the name of a node of a cluster."""
        return f"{cluster}/" if self._settings.cluster_in_name and cluster else ""

    def _prefix_of(self, transport: tuple[str, ...]) -> str:
        return self._prefix(transport[2]) if self._settings.cluster_label else ""

    def by_instance(self, transport: tuple[str, ...]) -> str:
        """The node that `instance` names, where that is configured; with its port on loopback."""
        instance = transport[1]
        if not self._settings.instance_as_node or not instance:
            return ""
        host, colon, port = instance.rpartition(":")
        bare = host[1:-1] if host.startswith("[") else host
        is_host = ":" not in host or bare != host
        if colon and port.isdecimal() and is_host and not is_loopback_host(bare):
            instance = bare
        return self._prefix_of(transport) + instance

    def resolve(self, labels: dict[str, str]) -> ResolvedSeries:
        """Where a series belongs; consumes the labels."""
        transport = self.transport(labels)
        node, label = self.node_of(labels)
        kept = {
            name: labels[name] for name in self._settings.labels if name in labels and name != label
        }
        scraped = self.scraped.get(transport)
        family = labels.pop(NAME, "")
        if scraped is not None:
            _undo(labels, scraped.labels)
            added = {**scraped.labels, **kept}
            kept = {name: value for name, value in added.items() if name not in (label, NAME)}
        for name in (*_TRANSPORT, *self._settings.replica_labels):
            kept.pop(name, None)
        return ResolvedSeries(Origin(transport, node), _key(family, labels), kept, label)

    def matchers(self, origin: Origin, node_label: str) -> str:
        """Matchers that select the samples of an origin and no others."""
        terms = [f"{name}={quoted(v)}" for name, v in zip(self._transport, origin[0], strict=True)]
        if node_label:
            node = origin.node.removeprefix(self._prefix_of(origin.transport))
            terms.append(f"{node_label}={quoted(node)}")
        if extra := self._settings.matchers.strip().rstrip(","):
            terms.append(extra)
        return ",".join(terms)


def _undo(labels: dict[str, str], added: Mapping[str, str]) -> None:
    """Remove a target's labels, and give the exporter's own their names again."""
    for name, value in added.items():
        exporter = labels.pop(_EXPORTED + name, None)
        if exporter is not None:
            labels[name] = exporter
        elif labels.get(name) == value:
            del labels[name]


def _key(family: str, labels: Mapping[str, str]) -> Key:
    return Key(
        same(family),
        tuple(same(name) for name in labels),
        tuple(same(value) for value in labels.values()),
    )


def labels_of(raw: bytes) -> dict[str, str]:
    """A series' labels. Raises msgspec.DecodeError."""
    return _decode(raw)


_decode = msgspec.json.Decoder(dict[str, str]).decode
