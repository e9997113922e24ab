"""One node at one moment as rules see it: its devices, what was kept of them, and the groups within it.

Here the scalar code is evaluated where there is no hub. What reaches beyond the node (job, rack, stage)
is not known here, so that rules about it say nothing.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.environment import Group
from accelwatch.expr.needs import WindowNeed
from accelwatch.expr.rule_history import HOST, RuleHistory
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Lookup, Missing, Value
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series

# By what the devices of a node are grouped.
GROUPS_OF_A_NODE = frozenset({"node", "model"})

# Whether a rule is firing for a device.
Firing = Callable[[str, str], bool | None]
# Why a device has no current value of something.
Absence = Callable[[str, Key], str]
# The environment of a device.
MakeDevice = Callable[["EvaluationContext", str], "Device"]


def _nothing(_key: Key) -> Missing:
    return MISSING


def _unsaid(_device: str, _key: Key) -> str:
    return ""


class EvaluationContext:
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

        Where nobody has `listened` before now, events may have happened that were not received.
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
        """Free it: with its devices it is a circle, which would wait for the garbage collector
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
            kept = self.history.series_history(device, series)
            value = None if kept is None else kept.window(self.at, need, self.history.interval_s)
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
    """A device of a node: the environment in which the scalar code of a rule runs."""

    def __init__(self, context: EvaluationContext, device: str) -> None:
        self._context = context
        self._device = device
        self._lookup = context.lookups.get(device, _nothing)
        self._of_host = context.lookups.get(HOST, _nothing)

    @property
    def id(self) -> str:
        """Of the device; `HOST` for the node itself."""
        return self._device

    @property
    def now(self) -> float:
        """Unix seconds."""
        return self._context.now

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
        return self._context.window(self._device, kind, key, seconds, quantile)

    def coverage(
        self,
        key: Series,
        seconds: int,
        *,
        of_job: bool = False,  # noqa: ARG002 - as above
    ) -> float | None:
        """Share of the samples of a window that there are; None where there never was one."""
        history = self._context.history
        kept = history.series_history(self._device, key)
        return (
            None if kept is None else kept.coverage(self._context.at, seconds, history.interval_s)
        )

    def last(self, pattern: EventPattern) -> float | None:
        """When an event was last received."""
        last = self._context.history.events.last(self._device, pattern)
        return None if last == -math.inf and not self._context.listened else last

    def latest(self, pattern: EventPattern) -> ErrorEvent | None:
        """The event that was received last."""
        return self._context.history.events.latest(self._device, pattern)

    def occurrences(self, pattern: EventPattern, seconds: int) -> int | None:
        """How many were received lately."""
        if not self._context.listened:
            return None
        events = self._context.history.events
        return events.occurrences(self._device, pattern, self.now - seconds)

    def group(self, by: str) -> Group | None:
        """The devices of the node, or those of them of the same model."""
        return self._context.group(self, by)

    def absence(self, key: Key) -> str:
        """Why there is no current value."""
        whose = HOST if isinstance(key, tuple) and of_host(key) else self._device
        return self._context.absence(whose, key)

    def firing(self, rule: str) -> bool | None:
        """Whether another rule is firing."""
        is_firing = self._context.firing
        return None if is_firing is None else is_firing(rule, self._device)

    @property
    def kind(self) -> tuple[Value | Missing, Value | Missing]:
        """Vendor and model."""
        return self.lookup("vendor"), self.lookup("model")
