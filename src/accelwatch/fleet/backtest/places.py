"""What devices of an archive are called, and what they have in common: node, model, job, stage."""

from collections.abc import Callable

import numpy as np

from accelwatch.archive.history.samples import Entity
from accelwatch.fleet.backtest.calendar import Jobs, Occupant
from accelwatch.fleet.backtest.roster import Roster
from accelwatch.fleet.rules.columns import Texts, factored

_Says = Callable[[Entity, Occupant | None], str | None]


def _vendor(device: Entity, _owner: Occupant | None) -> str | None:
    return device.device.partition(":")[0] or None


def _of_model(group: str | None, device: Entity) -> str | None:
    return None if group is None else f"{group}/{_vendor(device, None)} {device.model}"


_FIELDS: dict[str, _Says] = {
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
_OWNED: dict[str, _Says] = {
    "job": lambda _, owner: None if owner is None else owner.job,
    "user": lambda _, owner: None if owner is None else owner.user or None,
}
_GROUPS: dict[str, _Says] = {
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


class Places:
    """Texts and groups by row, worked out again only when devices or jobs have changed."""

    def __init__(self, roster: Roster, jobs: Jobs) -> None:
        self._roster, self._jobs = roster, jobs
        self._stamp = -1, -1, 0
        self._owners: list[Occupant | None] = []
        self._texts: dict[str, Texts] = {}
        self._groups: dict[str, Texts] = {}

    def bring(self, now: float) -> None:
        """Whoever runs now; Unix seconds."""
        self._jobs.advance(now)
        stamp = self._roster.shape, self._jobs.version, self._roster.size
        before, self._stamp = self._stamp, stamp
        if before == stamp:
            return
        self._owners = [self._jobs.of(one.node, one.device) for one in self._roster.devices]
        if before[::2] != stamp[::2]:
            self._texts, self._groups = {}, {}
        for key in _OF_OWNER:
            self._texts.pop(key, None)
            self._groups.pop(key, None)
        self._texts.pop("labels.stage", None)

    def text(self, key: str) -> Texts:
        """A field, an owner's name, or the label `stage`; of anything else nothing is known."""
        return self._kept(self._texts, key, _TEXTS.get(key))

    def by(self, key: str) -> Texts:
        """What a row is grouped by: its code is its group."""
        return self._kept(self._groups, key, _GROUPS.get(key))

    def _kept(self, kept: dict[str, Texts], key: str, says: _Says | None) -> Texts:
        found = kept.get(key)
        if found is None:
            found = kept[key] = self._said(says)
        return found

    def _said(self, says: _Says | None) -> Texts:
        size, roster = self._roster.size, self._roster
        said: list[str | None] = [None] * size
        if says is not None:
            for row, device in enumerate(roster.devices):
                if roster.here[row]:
                    said[row] = says(device, self._owners[row])
        found = factored(said)
        return Texts(np.asarray(found.codes, dtype=np.intp), found.words)

    def owner(self, row: int) -> Occupant | None:
        """Whose the device in a row is."""
        return self._owners[row] if row < len(self._owners) else None

    def nodes_of(self, job: str) -> tuple[str, ...]:
        """The nodes of a running job."""
        return tuple(sorted(self._jobs.nodes.get(job, {})))


_TEXTS: dict[str, _Says] = {
    **_FIELDS,
    **_OWNED,
    "labels.stage": lambda _, owner: None if owner is None else owner.stage or None,
}
