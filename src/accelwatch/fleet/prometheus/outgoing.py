"""What a node gives to others: the samples of an agent's exposition, and the labels that name it."""

from collections.abc import Mapping

from accelwatch.fleet.api.summaries import snapshot_of
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.node import Node
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Metric, Series
from accelwatch.schema.reading import Number
from accelwatch_prometheus.families import device_samples, node_samples, owner_of
from accelwatch_prometheus.selection import selected

NODE = "node"
_VENDOR = 'vendor="'

Samples = list[tuple[Series, Number]]


class Owned:
    """The samples of one device, of one vendor's devices on a node, or of the node."""

    __slots__ = ("labels", "samples", "text")

    def __init__(self, text: str, labels: Mapping[str, str]) -> None:
        self.text = text
        """Its identity labels as the text format writes them."""
        self.labels = labels
        self.samples: Samples = []


class Outgoing:
    """Chooses families by profile and groups, as an agent's exposition does."""

    def __init__(self, profile: str, groups: frozenset[str]) -> None:
        self.rows: dict[str, Metric] = {row.key: row for row in selected(profile, groups)}

    def of(self, fleet: Fleet, node: Node) -> list[Owned]:
        """Everything a node gives now, by owner."""
        snapshot = snapshot_of(fleet, node)
        owners = {owner_of(view.device): view.device for view in snapshot.devices}
        found: dict[str, Owned] = {}
        rows = self.rows
        for samples in (*device_samples(snapshot, _all), list(node_samples(snapshot))):
            for text, series, value in samples:
                if series[0] in rows:
                    owned = found.get(text)
                    if owned is None:
                        owned = found[text] = Owned(text, _labels(text, owners))
                    owned.samples.append((series, value))
        return list(found.values())


def _all(_device: Device) -> bool:
    return True


def _labels(text: str, owners: Mapping[str, Device]) -> dict[str, str]:
    """The labels behind an owner's text: a device's three, or a vendor, or none."""
    device = owners.get(text)
    if device is not None:
        return {"vendor": device.vendor, "device": device.name, "uuid": device.label_id()}
    return {"vendor": text.removeprefix(_VENDOR)[:-1]} if text.startswith(_VENDOR) else {}


def node_labels(node: Node, standing: Mapping[str, str]) -> dict[str, str]:
    """The labels of a node's series: what is always added, its targets' labels, its name."""
    return {**standing, **node.labels, NODE: node.name}
