"""Whose fault a dead collector was: the calls that were out, and the thread that a crash report names.

A backend that keeps killing the collector is held out, ever longer; the others go on.
"""

import re
from collections.abc import Iterable, Mapping

from accelwatch.sampler.schedule import Backoff
from accelwatch.store.reports import Called, Report, Returned

_CURRENT = re.compile(rb"^Current thread 0x([0-9a-f]+) ", re.MULTILINE)
"""How Python's faulthandler names the thread that got a fatal signal."""

HOLD_FIRST_S = 5.0
HOLD_LIMIT_S = 300.0
FREE_CRASHES = 1
"""Crashes that cost a backend nothing but the restart."""
CALM_S = 60.0
"""After this long without a crash a backend's crashes are forgotten."""
_FRESH_S = 10.0
"""A backend that was let in more recently than this is suspected before those that ran well."""


class CallsOut:
    """The calls that have begun and not come back, as the collector announced them."""

    def __init__(self) -> None:
        self._out: dict[int, Called] = {}
        self._listening: dict[str, Called] = {}

    def note(self, report: Report) -> None:
        """Follow the stream."""
        if isinstance(report, Called):
            if report.action == "events":
                self._listening[report.backend] = report
            else:
                self._out[report.call] = report
        elif isinstance(report, Returned):
            self._out.pop(report.call, None)

    def suspects(self, crash_report: bytes) -> tuple[Called, ...]:
        """The call that crashed, when the report names its thread; else every call that was out."""
        named = _CURRENT.search(crash_report)
        everything = (*self._out.values(), *self._listening.values())
        if named is not None:
            thread = int(named[1], 16)
            exact = tuple(called for called in everything if called.thread == thread)
            if exact:
                return exact
        return tuple(self._out.values())


def backends_of(calls: Iterable[Called]) -> tuple[str, ...]:
    """Names of the backends, each once."""
    return tuple(sorted({called.backend for called in calls}))


class HoldOut:
    """Which backends may not run now. Times are moments of the monotonic clock."""

    def __init__(self) -> None:
        self._backoffs: dict[str, Backoff] = {}
        self._crashed_at: dict[str, float] = {}
        self._admitted_at: dict[str, float] = {}

    def admitted(self, backends: Iterable[str], now: float) -> None:
        """These backends have been started."""
        self._admitted_at.update(dict.fromkeys(backends, now))

    def crashed(self, suspects: Iterable[str], now: float) -> Mapping[str, float]:
        """Note a crash; returns the pause in seconds for each backend that is held out now.

        Of several suspects, those that had just been let in are blamed before those that ran well.
        """
        names = sorted(set(suspects))
        fresh = [n for n in names if now - self._admitted_at.get(n, now) < _FRESH_S]
        pauses: dict[str, float] = {}
        for place, name in enumerate(fresh or names):
            backoff = self._backoffs.setdefault(
                name, Backoff(HOLD_FIRST_S, HOLD_LIMIT_S, free=FREE_CRASHES)
            )
            self._crashed_at[name] = now
            pause = backoff.failed(now)
            if pause:
                backoff.until += place * _FRESH_S
                pauses[name] = backoff.until - now
        return pauses

    def held(self, now: float) -> frozenset[str]:
        """Backends that may not run now."""
        return frozenset(name for name, b in self._backoffs.items() if not b.ready(now))

    def forgive(self, now: float) -> None:
        """Forget the crashes of backends that have run well since for long enough."""
        for name, at in list(self._crashed_at.items()):
            backoff = self._backoffs[name]
            if now - max(at, backoff.until) > CALM_S:
                del self._crashed_at[name], self._backoffs[name]
