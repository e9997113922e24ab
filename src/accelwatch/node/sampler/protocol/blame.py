"""Whose fault a dead collector was: the calls that were out, the threads that were inside a driver, and
the thread that a crash report names.

What kills the collector is held out, ever longer: the device, where one alone is to blame; the others go
on.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from accelwatch.base.backoff import Backoff
from accelwatch.node.store.reports import Called, Component

# How Python's faulthandler names the thread that got a fatal signal.
_CURRENT = re.compile(rb"^Current thread 0x([0-9a-f]+) ", re.MULTILINE)

QUARANTINE_FIRST_S = 5.0
QUARANTINE_LIMIT_S = 300.0
# Crashes that cost a whole backend nothing but the restart; a device that is known costs its row.
FREE_CRASHES = 1
# After this long without a crash the crashes of a part are forgotten.
CALM_S = 60.0
# What was let in more recently than this is suspected before what ran well.
_FRESH_S = 10.0


def suspects_of(
    calls: Sequence[Called],
    crash_report: bytes,
    inside: frozenset[int] = frozenset(),
    *,
    killed: bool = False,
) -> tuple[Called, ...]:
    """Of the calls that were out: whose thread the report names; else who was inside a driver; else all.

    An event source waits inside its driver all the time, so it is suspected last, and not of a kill,
    which came from outside (`killed`).
    """
    named = _CURRENT.search(crash_report)
    if named is not None:
        thread = int(named[1], 16)
        exact = tuple(called for called in calls if called.thread == thread)
        if exact:
            return exact
    made = tuple(called for called in calls if called.action != "events")
    within = tuple(called for called in made if called.thread in inside)
    waiting = tuple(called for called in calls if called.action == "events")
    last = () if killed or named is not None else waiting
    return within or made or last


def component_of(called: Called) -> Component:
    """What a call would be held out as."""
    return Component(called.backend, called.slot, events=called.action == "events")


def merged(components: Iterable[Component]) -> tuple[Component, ...]:
    """One part a backend: the suspect, or the whole backend where there are several."""
    by_backend: dict[str, set[Component]] = {}
    for component in components:
        by_backend.setdefault(component.backend, set()).add(component)
    return tuple(
        next(iter(mine)) if len(mine) == 1 else Component(name)
        for name, mine in sorted(by_backend.items())
    )


def is_backend(component: Component) -> bool:
    """Whether this is a backend as a whole."""
    return not component.slot and not component.events


class Quarantine:
    """What may not run now. Times are moments of the monotonic clock."""

    def __init__(self) -> None:
        self._backoffs: dict[Component, Backoff] = {}
        self._crashed_at: dict[Component, float] = {}
        self._admitted_at: dict[Component, float] = {}

    def admitted(self, components: Iterable[Component], now: float) -> None:
        """These have been started."""
        self._admitted_at.update(dict.fromkeys(components, now))

    def crashed(self, suspects: Iterable[Component], now: float) -> Mapping[Component, float]:
        """Note a crash; returns the pause in seconds for each part that is held out now.

        Of several suspects, those that had just been let in are blamed before those that ran well.
        """
        components = sorted(set(suspects))
        fresh = [
            component for component in components if now - self._since(component, now) < _FRESH_S
        ]
        pauses: dict[Component, float] = {}
        for index, component in enumerate(merged(fresh or components)):
            pause = self._failed(component, now)
            if pause:
                self._backoffs[component].until += index * _FRESH_S
                pauses[component] = self._backoffs[component].until - now
        return pauses

    def quarantined(self, now: float) -> frozenset[Component]:
        """What may not run now."""
        return frozenset(component for component, b in self._backoffs.items() if not b.ready(now))

    def on_trial(self, now: float) -> frozenset[Component]:
        """What has crashed before, is not forgiven, and may run now."""
        return frozenset(component for component, b in self._backoffs.items() if b.ready(now))

    def forgive(self, now: float) -> None:
        """Forget the crashes of what has run well since for long enough."""
        for component, at in list(self._crashed_at.items()):
            backoff = self._backoffs[component]
            if now - max(at, backoff.until) > CALM_S:
                del self._crashed_at[component], self._backoffs[component]
                if not is_backend(component):
                    self._admitted_at.pop(component, None)

    def _since(self, component: Component, now: float) -> float:
        """When the part was started: by itself after it was held out, or with its backend."""
        alone = self._admitted_at.get(component)
        return self._admitted_at.get(Component(component.backend), now) if alone is None else alone

    def _failed(self, component: Component, now: float) -> float:
        """Note a crash of one part; several bad devices share the trials that one would have."""
        free = FREE_CRASHES if is_backend(component) else 0
        backoff = self._backoffs.setdefault(
            component, Backoff(QUARANTINE_FIRST_S, QUARANTINE_LIMIT_S, free=free)
        )
        self._crashed_at[component] = now
        mine = [other for other in self._backoffs if other.backend == component.backend]
        bad_devices = sum(not is_backend(other) for other in mine)
        pause = min(backoff.failed(now) * max(bad_devices, 1), QUARANTINE_LIMIT_S)
        backoff.until = now + pause
        return pause
