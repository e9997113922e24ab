"""The samples of a node by owner: a device, the devices of a vendor, or the node itself."""

from collections.abc import Iterable, Mapping

import msgspec

from accelwatch.exposition.families import Sample, device_samples, node_samples, owner_of
from accelwatch.exposition.selection import selected
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Metric, Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import Snapshot

_VENDOR = 'vendor="'


class OwnerSamples(msgspec.Struct, kw_only=True):
    """What one owner has."""

    # Its identity labels as the text format writes them; none for the node.
    text: str
    device: Device | None = None
    vendor: str = ""
    samples: list[tuple[Metric, Series, Number]] = []


class Chosen:
    """Chooses families by profile and groups, as the agent's exposition does."""

    def __init__(self, profile: str, groups: frozenset[str]) -> None:
        self._rows = {row.key: row for row in selected(profile, groups)}

    def of(self, snapshot: Snapshot, own: Mapping[Series, Number]) -> list[OwnerSamples]:
        """Everything that a node gives now; `own` is what we say about ourselves."""
        devices = {
            owner_of(view.device): view.device
            for view in reversed(snapshot.devices)
            if view.device.parent_id is None
        }
        owners: dict[str, OwnerSamples] = {}
        ours: Iterable[Sample] = (("", series, value) for series, value in own.items())
        for samples in (*device_samples(snapshot, _all), node_samples(snapshot), ours):
            for text, series, value in samples:
                row = self._rows.get(series[0])
                if row is None:
                    continue
                if text not in owners:
                    owners[text] = _owner(text, devices)
                owners[text].samples.append((row, series, value))
        return list(owners.values())


def ourselves(own: Mapping[Series, Number]) -> list[OwnerSamples]:
    """What a hub says about itself, whole."""
    rows = by_key()
    return [OwnerSamples(text="", samples=[(rows[key[0]], key, own[key]) for key in own])]


def _all(_device: Device) -> bool:
    return True


def _owner(text: str, devices: Mapping[str, Device]) -> OwnerSamples:
    vendor = text.removeprefix(_VENDOR)[:-1] if text.startswith(_VENDOR) else ""
    device = devices.get(text)
    return OwnerSamples(text=text, device=device, vendor="" if device else vendor)
