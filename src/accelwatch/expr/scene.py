"""One node at one moment as rules see it: its devices, what was kept of them, and the groups within it.

Here the scalar code is evaluated where there is no hub. What reaches beyond the node (job, rack, stage)
is not known here, so that rules about it say nothing.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.environment import Group
from accelwatch.expr.event_history import EventHistory
from accelwatch.expr.needs import Needs, WindowNeed
from accelwatch.expr.past import Past
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Lookup, Missing, Value, number
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series

# The node itself, among the ids of its devices.
HOST = ""

# By what the devices of a scene are grouped.
GROUPS_OF_A_NODE = frozenset({"node", "model"})

# Whether a rule is firing for a device.
Firing = Callable[[str, str], bool | None]
# Why a device has no current value of something.
Absence = Callable[[str, Key], str]
# The environment of a device of a scene.
MakeDevice = Callable[["Scene", str], "Device"]


class RuleHistory:
    """What a set of rules needs of the past of some devices; bounded by its windows."""

    def __init__(self, needs: Needs, interval_s: float) -> None:
        """`interval_s` is how often samples are taken."""
        self.interval_s = interval_s
        self.events = EventHistory(needs.events)
        self._windows: dict[Series, list[WindowNeed]] = {}
        for need in needs.windows:
            self._windows.setdefault(need.series, []).append(need)
        items = self._windows.items()
        # Series that have windows: those of the host, and those of devices.
        self._of = {
            whose: [(series, some) for series, some in items if of_host(series) is whose]
            for whose in (True, False)
        }
        self._pasts: dict[tuple[str, Series], Past] = {}

    def sample(self, at: float, device: str, lookup: Lookup) -> None:
        """The values of a device, or of `HOST`, at a moment (monotonic seconds)."""
        for series, windows in self._of[device == HOST]:
            value = number(lookup(series))
            if value is not None:
                past = self._pasts.get((device, series))
                if past is None:
                    past = self._pasts[device, series] = Past(windows)
                past.add(at, float(value), self.interval_s)

    def forget(self, device: str) -> None:
        """Another device stands there from now on, or none."""
        self.events.forget(device)
        for key in [entry for entry in self._pasts if entry[0] == device]:
            del self._pasts[key]

    def adopt(self, before: "RuleHistory") -> None:
        """Go on with what another has kept of series of which the same windows are needed."""
        same = {
            series
            for series, windows in self._windows.items()
            if set(windows) == set(before._windows.get(series, ()))
        }
        if self.interval_s == before.interval_s:
            self._pasts.update({key: past for key, past in before._pasts.items() if key[1] in same})

    def past(self, device: str, series: Series) -> Past | None:
        """What was kept of a series; None where there never was a value."""
        return self._pasts.get((HOST if of_host(series) else device, series))


def _nothing(_key: Key) -> Missing:
    return MISSING


def _unsaid(_device: str, _key: Key) -> str:
    return ""


class Scene:
    """The devices of a node at one moment."""

    def __init__(
        self,
        history: RuleHistory,
        lookups: Mapping[str, Lookup],
        *,
        at: float,
        now: float,
        firing: Firing | None = None,
        listened: bool = True,
        absence: Absence = _unsaid,
        make_device: MakeDevice | None = None,
    ) -> None:
        """`lookups` are by device id, that of `HOST` among them; `at` is monotonic, `now` Unix time.

        `make_device` is for environments that know more than a `Device`.

        Where nobody has `listened` before now, an event that was not heard may have been all the same.
        """
        self.history = history
        self.lookups = lookups
        self.at = at
        self.now = now
        self.firing = firing
        self.listened = listened
        self.absence = absence
        self._make_device: MakeDevice = make_device or Device
        self.members = tuple(self.device(device) for device in lookups if device != HOST)
        self._windows: dict[tuple[object, ...], float | None] = {}
        self._groups: dict[tuple[object, ...], Group] = {}
        self._group_of: dict[tuple[str, str], Group | None] = {}

    def device(self, device: str) -> "Device":
        """The environment of a device, or of `HOST`."""
        return self._make_device(self, device)

    def close(self) -> None:
        """Nobody will ask any more: with its devices it is a circle, which would wait to be collected
        and keep all that was read at its moment."""
        self.members = ()
        self._groups.clear()
        self._group_of.clear()

    def window(
        self, device: str, kind: str, series: Series, seconds: int, quantile: float | None
    ) -> float | None:
        """A window over what was kept, worked out once."""
        key = device, kind, series, seconds, quantile
        if key not in self._windows:
            need = WindowNeed(kind, series, seconds, quantile)
            past = self.history.past(device, series)
            value = None if past is None else past.window(self.at, need, self.history.interval_s)
            self._windows[key] = value
        return self._windows[key]

    def group(self, of: "Device", by: str) -> Group | None:
        """The devices of the node, or those of them of the same model; the node itself is none."""
        key = of.id, by
        if key not in self._group_of:
            self._group_of[key] = self._build_group(of, by)
        return self._group_of[key]

    def _build_group(self, of: "Device", by: str) -> Group | None:
        if by not in GROUPS_OF_A_NODE or (by == "model" and of.id == HOST):
            return None
        key = (by,) if by == "node" else (by, *of.kind)
        if key not in self._groups:
            same = [member for member in self.members if by == "node" or member.kind == of.kind]
            self._groups[key] = Group(tuple(same), -1)
        group = self._groups[key]
        if of.id == HOST:
            return group
        members = group.members
        return replace(group, own=members.index(of)) if of in members else None


class Device:
    """A device of a scene: the environment in which the scalar code of a rule runs."""

    def __init__(self, scene: Scene, device: str) -> None:
        self._scene = scene
        self._device = device
        self._lookup = scene.lookups.get(device, _nothing)
        self._of_host = scene.lookups.get(HOST, _nothing)

    @property
    def id(self) -> str:
        """Of the device; `HOST` for the node itself."""
        return self._device

    @property
    def now(self) -> float:
        """Unix seconds."""
        return self._scene.now

    def lookup(self, key: Key) -> Value | Missing:
        """A current value."""
        if isinstance(key, tuple) and of_host(key):
            return self._of_host(key)
        return self._lookup(key)

    def window(
        self,
        kind: str,
        key: Series,
        seconds: int,
        quantile: float | None,
        *,
        of_job: bool = False,  # noqa: ARG002 - what belongs to a job is not known here
    ) -> float | None:
        """A window over what was kept."""
        return self._scene.window(self._device, kind, key, seconds, quantile)

    def coverage(
        self,
        key: Series,
        seconds: int,
        *,
        of_job: bool = False,  # noqa: ARG002 - as above
    ) -> float | None:
        """Share of the samples of a window that there are; None where there never was one."""
        history = self._scene.history
        past = history.past(self._device, key)
        return None if past is None else past.coverage(self._scene.at, seconds, history.interval_s)

    def last(self, pattern: EventPattern) -> float | None:
        """When an event was heard last."""
        last = self._scene.history.events.last(self._device, pattern)
        return None if last == -math.inf and not self._scene.listened else last

    def latest(self, pattern: EventPattern) -> ErrorEvent | None:
        """The event that was heard last."""
        return self._scene.history.events.latest(self._device, pattern)

    def occurrences(self, pattern: EventPattern, seconds: int) -> int | None:
        """How many were heard lately."""
        if not self._scene.listened:
            return None
        events = self._scene.history.events
        return events.occurrences(self._device, pattern, self.now - seconds)

    def group(self, by: str) -> Group | None:
        """The devices of the node, or those of them of the same model."""
        return self._scene.group(self, by)

    def absence(self, key: Key) -> str:
        """Why there is no current value."""
        whose = HOST if isinstance(key, tuple) and of_host(key) else self._device
        return self._scene.absence(whose, key)

    def firing(self, rule: str) -> bool | None:
        """Whether another rule is firing."""
        is_firing = self._scene.firing
        return None if is_firing is None else is_firing(rule, self._device)

    @property
    def kind(self) -> tuple[Value | Missing, Value | Missing]:
        """Vendor and model."""
        return self.lookup("vendor"), self.lookup("model")
