"""What devices of an archive are called, and what they have in common: node, model, job, stage."""

from collections.abc import Callable

import numpy as np

from accelwatch.archive.history.reading.samples import Entity
from accelwatch.fleet.backtest.calendar import Jobs, Occupant
from accelwatch.fleet.backtest.context.device_index import DeviceIndex
from accelwatch.fleet.rules.columns.columns import Texts, factored

_TextOf = Callable[[Entity, Occupant | None], str | None]


def _vendor(device: Entity, _owner: Occupant | None) -> str | None:
    return device.device.partition(":")[0] or None


def _of_model(group: str | None, device: Entity) -> str | None:
    return None if group is None else f"{group}/{_vendor(device, None)} {device.model}"


_FIELDS: dict[str, _TextOf] = {
    "id": lambda device, _: device.device,
    "uuid": lambda device, _: device.device.partition(":")[2] or None,
    "device": lambda device, _: device.device,
    "name": lambda device, _: device.device,
    "vendor": _vendor,
    "model": lambda device, _: device.model or None,
    "node": lambda device, _: device.node,
    "host": lambda device, _: device.node,
    "kind": lambda _device, _owner: "gpu",
}
_OWNED: dict[str, _TextOf] = {
    "job": lambda _, owner: None if owner is None else owner.job,
    "user": lambda _, owner: None if owner is None else owner.user or None,
}
_GROUPS: dict[str, _TextOf] = {
    "node": _FIELDS["node"],
    "model": lambda device, _: f"{_vendor(device, None)} {device.model}" if device.model else None,
    "job": _OWNED["job"],
    "user": _OWNED["user"],
    "stage": lambda _, owner: f"{owner.job}/{owner.stage}" if owner and owner.stage else None,
}
_GROUPS |= {
    "job_model": lambda device, owner: _of_model(_GROUPS["job"](device, owner), device),
    "stage_model": lambda device, owner: _of_model(_GROUPS["stage"](device, owner), device),
}
_OF_OWNER = frozenset({"job", "user", "stage", "job_model", "stage_model"})


class DeviceGroups:
    """Texts and groups by row, worked out again only when devices or jobs have changed."""

    def __init__(self, device_index: DeviceIndex, jobs: Jobs) -> None:
        self._device_index, self._jobs = device_index, jobs
        self._stamp = -1, -1, 0
        self._owners: list[Occupant | None] = []
        self._texts: dict[str, Texts] = {}
        self._groups: dict[str, Texts] = {}

    def refresh(self, now: float) -> None:
        """Whoever runs now; Unix seconds."""
        self._jobs.advance(now)
        stamp = self._device_index.shape, self._jobs.version, self._device_index.size
        before, self._stamp = self._stamp, stamp
        if before == stamp:
            return
        self._owners = [
            self._jobs.of(device.node, device.device) for device in self._device_index.devices
        ]
        if before[::2] != stamp[::2]:
            self._texts, self._groups = {}, {}
        for key in _OF_OWNER:
            self._texts.pop(key, None)
            self._groups.pop(key, None)
        self._texts.pop("labels.stage", None)

    def text(self, key: str) -> Texts:
        """A field, an owner's name, or the label `stage`; of anything else nothing is known."""
        return self._cached(self._texts, key, _TEXTS.get(key))

    def by(self, key: str) -> Texts:
        """What a row is grouped by: its code is its group."""
        return self._cached(self._groups, key, _GROUPS.get(key))

    def _cached(self, kept: dict[str, Texts], key: str, text_of: _TextOf | None) -> Texts:
        texts = kept.get(key)
        if texts is None:
            texts = kept[key] = self._factored_texts(text_of)
        return texts

    def _factored_texts(self, text_of: _TextOf | None) -> Texts:
        size, device_index = self._device_index.size, self._device_index
        texts: list[str | None] = [None] * size
        if text_of is not None:
            for row, device in enumerate(device_index.devices):
                if device_index.here[row]:
                    texts[row] = text_of(device, self._owners[row])
        result = factored(texts)
        return Texts(np.asarray(result.codes, dtype=np.intp), result.values)

    def owner(self, row: int) -> Occupant | None:
        """Whose the device in a row is."""
        return self._owners[row] if row < len(self._owners) else None

    def shared_jobs(self) -> dict[int, tuple[str, ...]]:
        """The jobs of each row that several share, sorted."""
        devices, here = self._device_index.devices, self._device_index.here
        jobs = {
            row: self._jobs.names(device.node, device.device)
            for row, device in enumerate(devices)
            if here[row]
        }
        return {row: names for row, names in jobs.items() if len(names) > 1}

    def nodes_of(self, job: str) -> tuple[str, ...]:
        """The nodes of a running job."""
        return tuple(sorted(self._jobs.nodes.get(job, {})))


_TEXTS: dict[str, _TextOf] = {
    **_FIELDS,
    **_OWNED,
    "labels.stage": lambda _, owner: None if owner is None else owner.stage or None,
}
